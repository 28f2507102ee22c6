// SPDX-License-Identifier: MIT
//
// surface_page.js PAGE - what the scripts of a saved page make of its data, as text: each view with
// its captions, titles of columns and what is written in them.
//
// The document has only what the scripts need; anything beyond it fails here. Nothing is laid
// out, so all widths are 0.
"use strict";

const fs = require("fs");
const vm = require("vm");

const text = fs.readFileSync(process.argv[2], "utf-8");
const VOID = new Set(["meta", "link", "input", "br"]);

// --- a document ---

class Text {
	constructor(data) {
		this.data = data;
	}
	get textContent() {
		return this.data;
	}
}

// Only the selectors that the scripts use: tag, #id, .class, [attribute="value"], and one within
// another.
function fitsOne(element, selector) {
	for (const [, sign, name, attribute, value] of selector.matchAll(/([#.]?)([\w-]+)|\[([\w-]+)(?:=["']?([^"'\]]*)["']?)?\]/g)) {
		if (attribute !== undefined) {
			const has = element.getAttribute(attribute);
			if (has === null || (value !== undefined && has !== value))
				return false;
		} else if (sign === "#" ? element.id !== name : sign === "." ? !element.classList.contains(name) :
			element.tagName.toLowerCase() !== name) {
			return false;
		}
	}
	return true;
}

function fits(element, selector) {
	return selector.split(",").some((one) => {
		const parts = one.trim().split(/\s*>\s*|\s+/);
		if (!fitsOne(element, parts.pop()))
			return false;
		for (let above = element.parentNode; parts.length; above = above.parentNode) {
			if (!above)
				return false;
			if (fitsOne(above, parts[parts.length - 1]))
				parts.pop();
		}
		return true;
	});
}

class Element {
	constructor(tag) {
		this.tagName = tag.toUpperCase();
		this.attributes = new Map();
		this.childNodes = [];
		this.parentNode = null;
		this.style = { setProperty() {}, removeProperty() {} };
		this.value = "";
		this.clientWidth = this.clientHeight = this.offsetWidth = this.scrollTop = this.scrollLeft = 0;
		this.dataset = new Proxy({}, {
			get: (_, key) => this.getAttribute("data-" + key) ?? undefined,
			set: (_, key, value) => (this.setAttribute("data-" + key, value), true),
		});
		const words = () => (this.getAttribute("class") || "").split(/\s+/).filter(Boolean);
		this.classList = {
			contains: (word) => words().includes(word),
			add: (...more) => this.setAttribute("class", [...new Set([...words(), ...more])].join(" ")),
			remove: (...less) => this.setAttribute("class", words().filter((word) => !less.includes(word)).join(" ")),
			toggle: (word, is = !words().includes(word)) => (is ? this.classList.add(word) : this.classList.remove(word)),
		};
	}
	get id() { return this.getAttribute("id") || ""; }
	set id(value) { this.setAttribute("id", value); }
	get className() { return this.getAttribute("class") || ""; }
	set className(value) { this.setAttribute("class", value); }
	get hidden() { return this.attributes.has("hidden"); }
	set hidden(is) { is ? this.setAttribute("hidden", "") : this.attributes.delete("hidden"); }
	getAttribute(key) { return this.attributes.has(key) ? this.attributes.get(key) : null; }
	setAttribute(key, value) { this.attributes.set(key, String(value)); }
	removeAttribute(key) { this.attributes.delete(key); }
	hasAttribute(key) { return this.attributes.has(key); }
	get children() { return this.childNodes.filter((one) => one instanceof Element); }
	get cells() { return this.children; }
	get rows() { return this.querySelectorAll("tr"); }
	get firstChild() { return this.childNodes[0] || null; }
	get lastChild() { return this.childNodes[this.childNodes.length - 1] || null; }
	get firstElementChild() { return this.children[0] || null; }
	get nextSibling() { return this.parentNode?.childNodes[this.parentNode.childNodes.indexOf(this) + 1] || null; }
	get textContent() { return this.childNodes.map((one) => one.textContent).join(""); }
	set textContent(value) { this.replaceChildren(String(value)); }
	insertBefore(one, before) {
		one.remove?.();
		const at = before ? this.childNodes.indexOf(before) : this.childNodes.length;
		this.childNodes.splice(at, 0, one);
		one.parentNode = this;
		return one;
	}
	append(...list) {
		for (const one of list)
			this.insertBefore(one instanceof Element ? one : new Text(String(one)), null);
	}
	appendChild(one) { return this.insertBefore(one, null); }
	prepend(one) { this.insertBefore(one, this.firstChild); }
	before(one) { this.parentNode.insertBefore(one, this); }
	after(one) { this.parentNode.insertBefore(one, this.nextSibling); }
	replaceChildren(...list) {
		for (const one of [...this.childNodes])
			one.parentNode = null;
		this.childNodes = [];
		this.append(...list.filter((one) => one !== ""));
	}
	remove() {
		if (this.parentNode)
			this.parentNode.childNodes.splice(this.parentNode.childNodes.indexOf(this), 1);
		this.parentNode = null;
	}
	contains(one) { return one === this || this.children.some((child) => child.contains(one)); }
	querySelectorAll(selector) {
		return this.children.flatMap((one) => [...(fits(one, selector) ? [one] : []), ...one.querySelectorAll(selector)]);
	}
	querySelector(selector) { return this.querySelectorAll(selector)[0] || null; }
	closest(selector) { return fits(this, selector) ? this : this.parentNode?.closest?.(selector) || null; }
	getBoundingClientRect() { return { left: 0, top: 0, width: 0, height: 0, right: 0, bottom: 0 }; }
	getContext() {	// drawings are visible only in a browser
		return new Proxy({}, { get: (_, key) => (key === "measureText" ? () => ({ width: 0 }) : () => ({})), set: () => true });
	}
	addEventListener() {}
	removeEventListener() {}
	focus() {}
	scrollIntoView() {}
	setPointerCapture() {}
	showModal() {}
	close() {}
}

// Elements of the page in the file; scripts and styles are taken as a whole.
function parsed() {
	const root = new Element("html");
	const scripts = [];
	let at = root;
	const tags = /<(script|style)\b([^>]*)>([\s\S]*?)<\/\1>|<!--[\s\S]*?-->|<!DOCTYPE[^>]*>|<\/(\w+)>|<(\w+)((?:"[^"]*"|[^>"])*)>|([^<]+)/g;

	for (const [, raw, rawAttributes, inside, end, tag, attributes, words] of text.matchAll(tags)) {
		if (words !== undefined) {
			if (words.trim())
				at.append(words);
		} else if (end) {
			if (at.tagName.toLowerCase() === end)
				at = at.parentNode || at;
		} else if (raw || (tag && tag !== "html")) {
			const one = new Element(raw || tag);
			for (const [, key, value] of (rawAttributes ?? attributes).matchAll(/([\w-]+)(?:="([^"]*)")?/g))
				one.setAttribute(key, value ?? "");
			at.append(one);
			if (raw)
				one.append(inside);
			if (raw === "script" && one.getAttribute("type") !== "application/json")
				scripts.push(inside);
			if (!raw && !VOID.has(tag))
				at = one;
		}
	}
	return { root, scripts };
}

const { root, scripts } = parsed();
const listeners = {};
const document = {
	documentElement: root,
	body: root.querySelector("body"),
	head: root.querySelector("head"),
	hidden: false,
	title: "",
	activeElement: null,
	createElement: (tag) => new Element(tag),
	createElementNS: (_, tag) => new Element(tag),
	createTextNode: (data) => new Text(data),
	getElementById: (id) => root.querySelector("#" + id),
	querySelector: (selector) => root.querySelector(selector),
	querySelectorAll: (selector) => root.querySelectorAll(selector),
	addEventListener() {},
};
const location = { hash: "" };
const window = {
	document, location, console, URL, innerWidth: 1200, innerHeight: 800, devicePixelRatio: 1,
	addEventListener: (name, listener) => (listeners[name] = listener),
	removeEventListener() {},
	matchMedia: () => ({ matches: false, addEventListener() {} }),
	getComputedStyle: () => ({ getPropertyValue: () => "", font: "" }),
	requestAnimationFrame: (draw) => setImmediate(draw),
	cancelAnimationFrame() {},
	setTimeout, clearTimeout,
	ResizeObserver: class { observe() {} disconnect() {} },
	IntersectionObserver: class { observe() {} disconnect() {} },
	HTMLElement: Element,
	navigator: { clipboard: {} },
};
window.window = window.self = window.globalThis = window;

// --- its texts ---

function words(element) {
	return element.textContent.replace(/\s+/g, " ").trim();
}

// Tables by their columns, all else by its texts.
function tell(element, depth) {
	const say = (line) => line && console.log("  ".repeat(depth) + line);

	for (const one of element.childNodes) {
		if (one instanceof Text) {
			say(one.data.replace(/\s+/g, " ").trim());
		} else if (one.tagName === "TR") {
			say((one.hidden ? "(hidden) " : "") + one.children.map((cell) => words(cell) +
				(cell.querySelector("[title]") && cell.tagName === "TH" && cell.getAttribute("scope") === "col" ?
					` (${cell.querySelector("[title]").getAttribute("title")})` : "")).join(" | "));
		} else {
			const name = one.getAttribute("aria-label") || one.getAttribute("placeholder") || "";
			const mark = [one.tagName.toLowerCase(), one.hidden ? "hidden" : "", name].filter(Boolean).join(" ");
			if (one.tagName === "SVG" && !one.children.length)
				continue;
			if (one.children.length || name) {
				say(`${mark}:`);
				tell(one, depth + 1);
			} else {
				say(`${mark}: ${words(one)}`);
			}
		}
	}
}

async function main() {
	vm.createContext(window);
	// The format of dates varies between releases of node.
	vm.runInContext("Date.prototype.toLocaleString = Date.prototype.toLocaleTimeString = () => 'DATE'", window);
	vm.runInContext(scripts.join("\n"), window);
	const settle = async () => {	// promises, and what they wait for
		for (let i = 0; i < 50; i++)
			await new Promise((done) => setImmediate(done));
	};
	await settle();
	for (const link of document.getElementById("tabs").querySelectorAll("a")) {
		location.hash = link.getAttribute("href");
		listeners.hashchange();
		await settle();
		console.log(`=== ${link.getAttribute("href")} ${words(link)}`);
		tell(document.getElementById("view-" + link.dataset.view), 0);
	}
	console.log("=== head");
	console.log(document.title);
	tell(root.querySelector("header"), 0);
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
