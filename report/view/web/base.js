// SPDX-License-Identifier: MIT
//
// base.js - shared by all parts of the page: elements, formatted numbers.
//
// Names come from the profiled program and are data: they enter the page through
// make() and textContent only, never as markup.
"use strict";

const hotpath = {
	views: [],	// in the order of the tabs, see page.js
};

// An element; attributes that are undefined, null or false are left out.
hotpath.make = (tag, parent, attributes, text) => {
	const element = document.createElement(tag);
	for (const [key, value] of Object.entries(attributes || {}))
		if (value !== undefined && value !== null && value !== false)
			element.setAttribute(key, value === true ? "" : value);
	if (text !== undefined)
		element.textContent = text;
	if (parent)
		parent.append(element);
	return element;
};

// The same in a drawing.
hotpath.draw = (tag, parent, attributes, text) => {
	const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [key, value] of Object.entries(attributes || {}))
		element.setAttribute(key, value);
	if (text !== undefined)
		element.textContent = text;
	if (parent)
		parent.append(element);
	return element;
};

// Only changes are written, so as not to disturb screen readers, selections and the browser.
hotpath.say = (element, text) => {
	if (element.textContent !== text)
		element.textContent = text;
};

// --- numbers ---

hotpath.scaled = (value, steps) => {
	let i = 0;
	while (i + 1 < steps.length && Math.abs(value) >= steps[i + 1][0])
		i++;
	const [unit, name, digits] = steps[i];
	return (value / unit).toFixed(digits) + " " + name;
};

const TIMES = [[1, "ns", 0], [1e3, "µs", 2], [1e6, "ms", 2], [1e9, "s", 2]];
const SIZES = [[1, "B", 0], [1e3, "KB", 1], [1e6, "MB", 1], [1e9, "GB", 2]];

const known = (format) => (value) => (value === null || value === undefined ? "–" : format(Number(value)));

hotpath.time = known((ns) => hotpath.scaled(Math.abs(ns) < 0.5 ? 0 : ns, TIMES));
hotpath.bytes = known((bytes) => hotpath.scaled(bytes, SIZES));
hotpath.count = known((count) => Math.round(count).toLocaleString("en-US"));
hotpath.percent = known((percent) => percent.toFixed(2) + "%");
hotpath.share = known((percent) => percent.toFixed(1) + "%");
hotpath.rate = known((perSecond) => (perSecond < 10 ? perSecond.toFixed(1) : hotpath.count(perSecond)) + "/s");

// In a readable length: 3:05, 1:02:03.
hotpath.lasting = known((ns) => {
	const all = Math.floor(ns / 1e9), two = (n) => String(n).padStart(2, "0");
	if (all < 60)
		return (ns / 1e9).toFixed(1) + " s";
	const hours = Math.floor(all / 3600), minutes = Math.floor(all / 60) % 60;
	return (hours ? hours + ":" + two(minutes) : String(minutes)) + ":" + two(all % 60);
});

// How a value of a column is written, and how it is ordered.
hotpath.units = {
	name: { text: (value) => (value === null || value === undefined || value === "" ? "not known" : String(value)) },
	text: { text: (value) => (value === null || value === undefined ? "–" : String(value)) },
	time: { text: hotpath.time, isNumber: true },
	bytes: { text: hotpath.bytes, isNumber: true },
	count: { text: hotpath.count, isNumber: true },
	percent: { text: hotpath.percent, isNumber: true },
	share: { text: hotpath.share, isNumber: true },
	rate: { text: hotpath.rate, isNumber: true },
};

// Announced to screen readers.
hotpath.announce = (text) => hotpath.say(document.getElementById("said"), text);

// The last parts of a path.
hotpath.place = (location) => {
	if (!location || !location.line)
		return "";
	return location.file.split("/").slice(-2).join("/") + ":" + location.line;
};
