// SPDX-License-Identifier: MIT
//
// memory.js - allocation sites: call paths by what they allocate, and what they hold over time.
"use strict";

hotpath.views.push({
	key: "memory",
	title: "Memory",
	open(element) {
		const { make, bytes, count, say } = hotpath;
		const SITES_MOST = 300;	// of which the time line is kept
		const held = new Map();	// by id of the site: [{ ns, live_bytes }], since the page was opened
		const charts = new WeakMap();
		const card = make("section", element, { class: "card" });
		const line = hotpath.chart(card, {
			title: "Memory over time", format: bytes, least: 65536,
			series: [{ key: "live_bytes", title: "held" }, { key: "rss_bytes", title: "resident" }],
		});
		const sums = make("p", card, { class: "dim" });
		const sites = hotpath.table(element, {
			caption: "Allocation sites", sort: "total_bytes", detail,
			columns: [
				{ key: "name", title: "Call path", unit: "name" },
				{ key: "count", title: "Blocks", unit: "count" },
				{ key: "avg_bytes", title: "Avg", unit: "bytes" },
				{ key: "temporary", title: "Temp.", unit: "share", about: "freed again before the thread's next allocation",
					value: (row) => (row.count ? 100 * row.temporary_count / row.count : null) },
				{ key: "peak_bytes", title: "At peak", unit: "bytes", about: "held when the process held most" },
				{ key: "live_bytes", title: "Held", unit: "bytes", about: "not freed yet", isBar: true },
				{ key: "total_bytes", title: "Allocated", unit: "bytes" },
				{ key: "percent_total", title: "% Total", unit: "percent", isBar: true },
			],
		});

		function frames(place, row) {
			const list = make("ol", place, { class: "frames" });
			for (const frame of row.frames || []) {
				const item = make("li", list);
				make("span", item, {}, frame.function);
				const where = hotpath.place(frame);
				if (where || frame.inlined)
					make("span", item, { class: "dim" }, ` ${where}${frame.inlined ? " inlined" : ""}`);
			}
		}

		function detail(row, place) {
			let own = charts.get(place);
			if (!own) {
				own = {
					said: make("p", place, { class: "dim" }),
					line: hotpath.source.isSaved ? null : hotpath.chart(place, {
						title: "Held by this site", format: bytes, least: 1024, series: [{ key: "live_bytes", title: "held" }],
					}),
				};
				frames(place, row);
				charts.set(place, own);
			}
			say(own.said, `${count(row.live_count)} blocks held, ${count(row.frees)} freed (${bytes(row.freed_bytes)})`);
			own.line?.update(held.get(row.id) || [], "since this page was opened");
		}

		function remember(rows, run) {
			for (const row of rows.slice(0, SITES_MOST)) {
				const list = held.get(row.id) || [];
				held.set(row.id, list);
				if (!list.length || list[list.length - 1].ns < run.elapsed_ns)
					list.push({ ns: run.elapsed_ns, live_bytes: row.live_bytes });
				if (list.length > 600)
					list.shift();
			}
		}

		// Resident memory is known from the start, what is held since this page was opened.
		function points(threads) {
			const seen = hotpath.history.list.map((one) => ({ ns: one.elapsed_ns, rss_bytes: one.rss_bytes,
				live_bytes: one.live_bytes }));
			const first = seen.length ? seen[0].ns : Infinity;
			return [...(threads.rss_timeline || []).filter(([ns]) => ns < first).map(([ns, rss]) => ({ ns, rss_bytes: rss })),
				...seen];
		}

		return {
			paths: () => ["alloc_sites", "threads"],
			update([list, threads], run) {
				const rows = list.raw || [];
				remember(rows, run);
				line.update(points(threads), !rows.length ? "what is held is not recorded" :
					hotpath.source.isSaved ? "" : "what is held: since this page was opened");
				say(sums, list.allocated_bytes === undefined ? "" : [
					`${bytes(list.allocated_bytes)} allocated in ${count(list.allocated_count)} blocks`,
					`${bytes(list.live_bytes)} held in ${count(list.live_count)}`,
					`at most ${bytes(list.peak_bytes)}`, `allocator ${list.allocator || "not known"}`].join(" · "));
				sites.update(rows, list.message);
			},
		};
	},
});
