// SPDX-License-Identifier: MIT
//
// bound.js - what functions spend their own time on: work, allocation, waiting.
"use strict";

hotpath.views.push({
	key: "bound",
	title: "Bound",
	open(element) {
		const { make, time } = hotpath;
		const WORDS = { cpu: "CPU", allocation: "allocation", waiting: "waiting", mixed: "mixed", unknown: "too little seen" };

		// The parts of a function's time, side by side.
		function split(cell, row) {
			const whole = Math.max(1, row.cpu_ns + row.blocked_ns);
			const work = Math.max(0, row.cpu_ns - (row.allocator_ns || 0) - (row.profiler_ns || 0));
			const parts = [["work", work], ["allocator", row.allocator_ns || 0], ["profiler", row.profiler_ns || 0],
				["waiting", row.blocked_ns]];
			if (!cell.firstChild)
				for (const [key] of parts)
					make("span", cell, { class: `split-${key}` });
			parts.forEach(([, ns], i) => {
				cell.children[i].style.width = `${100 * ns / whole}%`;
			});
			const words = parts.filter(([, ns]) => ns).map(([key, ns]) => `${key} ${time(ns)}`).join(", ");
			cell.title = words;
			cell.setAttribute("aria-label", words);
			cell.setAttribute("role", "img");
			cell.className = "split";
		}

		const bound = hotpath.table(element, {
			caption: "What functions spend their own time on", sort: "percent",
			columns: [
				{ key: "name", title: "Function", unit: "name" },
				{ key: "bound", title: "Bound by", unit: "text", value: (row) => WORDS[row.bound] || row.bound },
				{ key: "split", title: "Shares", unit: "text", paint: split,
					value: (row) => row.blocked_ns / Math.max(1, row.cpu_ns + row.blocked_ns) },
				{ key: "cpu_ns", title: "CPU", unit: "time", mark: () => "~" },
				{ key: "blocked_ns", title: "Waited", unit: "time" },
				{ key: "on", title: "For", unit: "text", value: (row) => Object.entries(row.blocked_on_ns || {})
					.sort((a, b) => b[1] - a[1]).slice(0, 2).map(([on, ns]) => `${on} ${time(ns)}`).join(", ") },
				{ key: "bytes", title: "Allocated", unit: "bytes" },
				{ key: "percent", title: "% Time", unit: "percent", isBar: true },
			],
		});
		const legend = make("p", null, { class: "strip-legend" });
		for (const key of ["work", "allocator", "profiler", "waiting"])
			make("span", legend, { class: `part part-${key}` }, key);
		bound.element.querySelector(".scroll").before(legend);
		const away = hotpath.table(element, {
			caption: "Waits by function", sort: "blocked_ns", id: (row) => `${row.name} ${row.on}`,
			columns: [
				{ key: "name", title: "Function", unit: "name" },
				{ key: "on", title: "Waited for", unit: "text" },
				{ key: "waits", title: "Waits", unit: "count" },
				{ key: "avg_ns", title: "Avg", unit: "time" },
				{ key: "blocked_ns", title: "Total", unit: "time" },
				{ key: "percent", title: "% Waits", unit: "percent", isBar: true },
			],
		});

		// A large row without a name needs a reason.
		const placeless = (rows) => (rows.some((row) => row.name === "<no stack>" && row.percent >= 1) ?
			"<no stack>: waits whose place was not read, as of less than 10 µs, and of those beyond 1,000 in a quarter of a second." : "");

		return {
			paths: () => ["bound", "offcpu"],
			update([list, waits]) {
				bound.update(list.raw, list.message);
				away.update(waits.raw, waits.message || placeless(waits.raw || []));
			},
		};
	},
});
