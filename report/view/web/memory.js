// SPDX-License-Identifier: MIT
//
// memory.js - allocation sites: call paths by allocation, and their memory over time.
"use strict";

hotpath.views.push({
	key: "memory",
	title: "Memory",
	open(element) {
		const { make, bytes, count, share, time, say } = hotpath;
		const SITES_MAX = 300;	// of which the time line is kept
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

		// Wilson's interval, 95 %: valid for few samples, and for all or none of them, too.
		function interval(part, all) {
			const z = 1.96, base = 1 + z * z / all, middle = (part + z * z / (2 * all)) / base;
			const half = z / base * Math.sqrt(part * (1 - part) / all + z * z / (4 * all * all));
			return [Math.max(0, middle - half), Math.min(1, middle + half)];
		}

		const digits = (part) => (100 * part).toFixed(part < 0.1 ? 1 : 0);

		// Classes end at powers of two.
		function spread(place, title, pairs, format) {
			const all = pairs.reduce((sum, [, drawn]) => sum + drawn, 0);
			const figure = make("figure", place, { class: "spread" });
			make("figcaption", figure, {}, `${title}: ${count(all)} sampled at random`);
			const list = make("dl", figure);
			for (const [end, drawn] of pairs) {
				const part = drawn / all, [low, high] = interval(part, all);
				make("dt", list, {}, `up to ${format(end)}`);
				const cell = make("dd", list);
				make("span", make("span", cell, { class: "bar", "aria-hidden": "true" })).style.width = `${100 * part}%`;
				make("span", cell, {}, `~${share(100 * part)}`);
				make("span", cell, { class: "dim" }, `${digits(low)} to ${digits(high)} %`);
			}
		}

		function spreads(place, row) {
			if (!row.drawn_sizes?.length)
				return;
			const pair = make("div", place, { class: "spreads" });
			spread(pair, "Sizes", row.drawn_sizes, bytes);
			if (row.drawn_lives_ns?.length)
				spread(pair, "Lives of those that were freed", row.drawn_lives_ns, time);
		}

		const blocks = make("section", element, { class: "card" });
		make("h2", blocks, {}, "Blocks: how large, how long");
		const both = make("div", blocks), none = make("p", blocks, { class: "dim" });
		const maps = hotpath.table(element, {
			caption: "Direct maps", sort: "total_bytes", detail: (row, place) => {
				if (!place.hasChildNodes())
					frames(place, row);
			},
			columns: [
				{ key: "name", title: "Call path", unit: "name" },
				{ key: "kind", title: "Kind", unit: "text" },
				{ key: "count", title: "Maps", unit: "count" },
				{ key: "peak_bytes", title: "At peak", unit: "bytes", about: "mapped when most was mapped" },
				{ key: "live_bytes", title: "Mapped", unit: "bytes", about: "not unmapped yet", isBar: true },
				{ key: "total_bytes", title: "In all", unit: "bytes" },
				{ key: "percent_total", title: "% Total", unit: "percent", isBar: true },
			],
		});

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
				own.spreads = make("div", place);
				charts.set(place, own);
			}
			say(own.said, `${count(row.live_count)} blocks held, ${count(row.frees)} freed (${bytes(row.freed_bytes)})`);
			own.spreads.replaceChildren();
			spreads(own.spreads, row);
			own.line?.update(held.get(row.id) || [], "since this page was opened");
		}

		function remember(rows, run) {
			for (const row of rows.slice(0, SITES_MAX)) {
				const list = held.get(row.id) || [];
				held.set(row.id, list);
				if (!list.length || list[list.length - 1].ns < run.elapsed_ns)
					list.push({ ns: run.elapsed_ns, live_bytes: row.live_bytes });
				if (list.length > 600)
					list.shift();
			}
		}

		return {
			paths: () => ["alloc_sites", "threads", "alloc_sizes", "alloc_lives", "direct_maps"],
			update([list, threads, sizes, lives, direct], run) {
				const rows = list.raw || [];
				remember(rows, run);
				line.update(hotpath.sizes(list, threads, run), list.live_timeline ? "as seen by the helper, from the start" :
					"held memory is not recorded");
				say(sums, list.allocated_bytes === undefined ? "" : [
					`${bytes(list.allocated_bytes)} allocated in ${count(list.allocated_count)} blocks`,
					`${bytes(list.live_bytes)} held in ${count(list.live_count)}`,
					`at most ${bytes(list.peak_bytes)}`, `allocator ${list.allocator || "not known"}`].join(" · "));
				sites.update(rows, list.message);
				both.replaceChildren();
				// Temporary blocks are counted, but are in no class of lifetimes.
				const drawn = (answer, key) => (answer.raw || []).filter((row) => row.samples && row[key] !== null)
					.map((row) => [row[key], row.samples]);
				spreads(both, { drawn_sizes: drawn(sizes, "up_to_bytes"), drawn_lives_ns: drawn(lives, "up_to_ns") });
				say(none, !sizes.raw?.length ? sizes.message || "none was sampled yet" : lives.temporary_count ?
					`${count(lives.temporary_count)} of ${count(lives.freed_count)} were freed before their thread's next allocation.` : "");
				maps.update(direct.raw || [], direct.message);
			},
		};
	},
});
