// SPDX-License-Identifier: MIT
//
// chart.js - lines over time: hotpath.chart(parent, { title, format, series: [{ key, title }], least }).
//
// update(points, note) takes [{ ns, KEY: value, ... }] in the order of time; a value that is not a
// number is a gap.  The figures are also given as text, for screen readers.
"use strict";

hotpath.chart = (parent, options) => {
	const { make, draw, say, lasting } = hotpath;
	const WIDE = 1000, HIGH = 100;
	const box = make("figure", parent, { class: "chart" });
	const head = make("figcaption", box);
	make("span", head, { class: "chart-title" }, options.title);
	const legends = options.series.map((one, i) => {
		const item = make("span", head, { class: `legend line-${i}` });
		make("span", item, {}, one.title + " ");
		return make("b", item);
	});
	const area = make("div", box, { class: "chart-area" });
	const top = make("span", area, { class: "chart-top" });
	const picture = draw("svg", area, {
		viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": options.title,
	});
	const lines = options.series.map((one, i) => [draw("path", picture, { class: `fill line-${i}` }),
		draw("path", picture, { class: `line line-${i}` })]);
	const feet = make("div", box, { class: "chart-feet dim" });
	const from = make("span", feet), note = make("span", feet), to = make("span", feet);

	function pathsOf(points, key, most, start, span) {
		let line = "", fill = "", first = null, last = null;
		const close = () => {
			if (first !== null)
				fill += `L${last} ${HIGH}L${first} ${HIGH}Z`;
			first = null;
		};
		for (const point of points) {
			if (typeof point[key] !== "number") {
				close();
				continue;
			}
			const x = (WIDE * (point.ns - start) / span).toFixed(2);
			const y = (HIGH - HIGH * Math.min(point[key] / most, 1)).toFixed(2);
			line += (first === null ? "M" : "L") + `${x} ${y}`;
			fill += (first === null ? "M" : "L") + `${x} ${y}`;
			first ??= x;
			last = x;
		}
		close();
		return [fill, line];
	}

	return {
		element: box,
		update(points, text) {
			const values = (key) => points.map((point) => point[key]).filter((value) => typeof value === "number");
			const all = options.series.flatMap((one) => values(one.key));
			const most = Math.max(options.least || 1, ...all);
			const start = points.length ? points[0].ns : 0;
			const span = Math.max(1, points.length ? points[points.length - 1].ns - start : 1);
			const words = [];
			options.series.forEach((one, i) => {
				const [fill, line] = pathsOf(points, one.key, most, start, span);
				const list = values(one.key);
				lines[i][0].setAttribute("d", fill);
				lines[i][1].setAttribute("d", line);
				legends[i].parentNode.hidden = !list.length;
				say(legends[i], list.length ? options.format(list[list.length - 1]) : "");
				if (list.length)
					words.push(`${one.title}: now ${options.format(list[list.length - 1])}, ` +
						`at most ${options.format(Math.max(...list))}`);
			});
			say(top, all.length ? options.format(most) : "");
			say(from, points.length ? lasting(start) : "");
			say(to, points.length > 1 ? lasting(start + span) : "");
			say(note, text || "");
			picture.setAttribute("aria-label", `${options.title}. ${words.join("; ") || "nothing yet"}`);
		},
	};
};

// Memory over time from two lists, [[ns, bytes], ...] at the same moments: held, resident; and now.
hotpath.sizes = (sites, threads, run) => {
	const points = new Map();
	for (const [ns, bytes] of threads.rss_timeline || [])
		points.set(ns, { ns, rss_bytes: bytes });
	for (const [ns, bytes] of sites.live_timeline || [])
		points.set(ns, { ...points.get(ns), ns, live_bytes: bytes });
	const list = [...points.values()].sort((a, b) => a.ns - b.ns);
	if (!hotpath.source.isSaved && (!list.length || list[list.length - 1].ns < run.elapsed_ns))
		list.push({ ns: run.elapsed_ns, rss_bytes: run.rss_bytes, live_bytes: run.live_bytes });
	return list;
};
