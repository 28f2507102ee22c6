// SPDX-License-Identifier: MIT
//
// locks.js - locks, who waited for whom, and who waits now.
"use strict";

hotpath.views.push({
	key: "locks",
	title: "Locks",
	open(element) {
		const { make, draw, say, time, count } = hotpath;
		const LISTS = ["waits", "waiting", "lock_order", "mutexes", "rw_locks", "conds", "sems", "barriers", "file_locks"];
		const KINDS = {
			mutexes: "mutex", rw_locks: "reader-writer lock", conds: "condition", sems: "semaphore",
			barriers: "barrier", file_locks: "file lock",
		};
		const ABOUT = "From left to right: who waited, for what, and who had it. The thicker, the longer altogether. " +
			"The table below has the same in figures.";
		const EDGES_MAX = 14, ROW = 34;

		const now = hotpath.table(element, {
			caption: "Present waits", sort: "since_ns", empty: "No thread waits.",
			id: (row) => `${row.pid} ${row.tid}`,
			columns: [
				{ key: "thread", title: "Thread", unit: "name" },
				{ key: "object", title: "Waits for", unit: "text", isName: true },
				{ key: "kind", title: "Kind", unit: "text" },
				{ key: "since_ns", title: "Since", unit: "time" },
				{ key: "holder", title: "Held by", unit: "text", isName: true },
				{ key: "cycle", title: "Deadlock", unit: "text", value: (row) => (row.cycle ? "yes: they wait in a circle" : "no") },
				{ key: "at", title: "At", unit: "name" },
			],
		});
		const card = make("section", element, { class: "card" });
		make("h2", card, {}, "Who waited for whom");
		const about = make("p", card, { class: "dim about" });
		const picture = make("div", card, { class: "graph" });
		const waits = hotpath.table(element, {
			caption: "Waits", sort: "total_ns",
			id: (row) => `${row.object} ${row.at} ${row.holder} ${row.holder_tid}`, detail: stacks,
			columns: [
				{ key: "function", title: "Waits in", unit: "name", value: (row) => row.function || row.at },
				{ key: "object", title: "For", unit: "text", isName: true },
				{ key: "kind", title: "Kind", unit: "text" },
				{ key: "holder", title: "Held by", unit: "name" },
				{ key: "holder_tid", title: "Thread", unit: "text", about: "that had it",
					value: (row) => row.holder_tid || null },
				{ key: "count", title: "Waits", unit: "count" },
				{ key: "longest_ns", title: "Longest", unit: "time" },
				{ key: "total_ns", title: "Total", unit: "time" },
				{ key: "percent_total", title: "% Waits", unit: "percent", isBar: true },
			],
		});
		const locks = hotpath.table(element, {
			caption: "Locks", sort: "wait", id: (row) => `${row.of} ${row.id ?? row.label}`,
			columns: [
				{ key: "label", title: "Lock", unit: "name" },
				{ key: "of", title: "Kind", unit: "text" },
				{ key: "count", title: "Taken", unit: "count" },
				{ key: "contended", title: "Contended", unit: "count" },
				{ key: "most", title: "Longest wait", unit: "time" },
				{ key: "held", title: "Held avg", unit: "time" },
				{ key: "wait", title: "Waited", unit: "time", isBar: true },
			],
		});
		const order = hotpath.table(element, {
			caption: "Locks taken in both orders", sort: "first", empty: "None, so no deadlock from lock order.",
			id: (row) => `${row.first} ${row.second} ${row.at}`,
			columns: [
				{ key: "first", title: "Lock", unit: "name" },
				{ key: "second", title: "And", unit: "text" },
				{ key: "at", title: "In this order", unit: "text" },
				{ key: "contrary_at", title: "And the other way round", unit: "text" },
			],
		});

		function stackOf(place, title, frames) {
			if (!frames || !frames.length)
				return;
			const box = make("div", place);
			make("b", box, {}, title);
			const list = make("ol", box, { class: "frames" });
			for (const frame of frames)
				make("li", list, {}, `${frame.function} ${hotpath.place(frame)}`);
		}

		function stacks(row, place) {
			place.textContent = "";
			const pair = make("div", place, { class: "pair" });
			stackOf(pair, "Waited at", row.frames);
			stackOf(pair, "Released by", row.released_by);
			if (!pair.firstChild)
				make("p", place, { class: "dim" }, row.at || "Where is not known.");
		}

		// --- the graph ---

		const shorter = (text, room) => hotpathFlame.brief(text, Math.max(6, Math.floor(room / 7.6)));

		// Names of a column, longest waits first.
		function column(edges, key) {
			const sums = new Map();
			for (const edge of edges)
				sums.set(edge[key], (sums.get(edge[key]) || 0) + edge.total_ns);
			return [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
		}

		function paintGraph(rows) {
			const edges = [...rows].sort((a, b) => b.total_ns - a.total_ns).slice(0, EDGES_MAX).map((row) => ({
				...row, function: row.function || row.at || "not known", holder: row.holder || "not known" }));
			const wide = picture.clientWidth || 600;
			const columns = ["function", "object", "holder"].map((key) => column(edges, key));
			const high = ROW * Math.max(1, ...columns.map((list) => list.length));
			const box = wide * 0.27, gap = (wide - 3 * box) / 2;
			const most = Math.max(1, ...edges.map((edge) => edge.total_ns));
			const x = (i) => i * (box + gap), y = (i, name) =>
				ROW * columns[i].indexOf(name) + (high - ROW * columns[i].length + ROW) / 2;

			picture.textContent = "";
			const svg = draw("svg", picture, { width: wide, height: high, role: "img", "aria-label": edges.map((edge) =>
				`${edge.function} waited ${time(edge.total_ns)} for ${edge.object}, held by ${edge.holder}`).join("; ") });
			for (const edge of edges) {
				const names = [edge.function, edge.object, edge.holder];
				for (const i of [0, 1]) {
					const from = [x(i) + box, y(i, names[i])], to = [x(i + 1), y(i + 1, names[i + 1])];
					const middle = (from[0] + to[0]) / 2;
					const path = draw("path", svg, {
						class: "edge", "stroke-width": 1.5 + 8 * Math.sqrt(edge.total_ns / most),
						d: `M${from}C${middle} ${from[1]} ${middle} ${to[1]} ${to}`,
					});
					draw("title", path, {}, `${count(edge.count)} waits, ${time(edge.total_ns)}`);
				}
			}
			columns.forEach((list, i) => {
				for (const name of list) {
					const group = draw("g", svg, { class: i === 1 ? "node lock" : "node" });
					draw("rect", group, { x: x(i) + 0.5, y: y(i, name) - 12.5, width: box - 1, height: 25, rx: 5 });
					draw("text", group, { x: x(i) + 8, y: y(i, name) + 4.5 }, shorter(name, box - 16));
					draw("title", group, {}, name);
				}
			});
		}

		// --- all kinds in one table ---

		function lockRows(lists) {
			return lists.flatMap(([kind, list]) => (list.raw || []).map((row) => ({
				...row, of: KINDS[kind],
				count: row.count ?? (row.read_count || 0) + (row.write_count || 0),
				contended: row.contended ?? (row.read_contended !== undefined ?
					row.read_contended + (row.write_contended || 0) : null),
				most: row.wait_max_ns ?? Math.max(row.read_wait_max_ns || 0, row.write_wait_max_ns || 0),
				held: row.acquire_avg_ns ?? row.write_acquire_avg_ns ?? row.read_acquire_avg_ns,
				wait: row.wait_total_ns ?? (row.read_wait_total_ns || 0) + (row.write_wait_total_ns || 0),
			})));
		}

		let rows = [];
		new ResizeObserver(() => {
			if (rows.length)
				paintGraph(rows);
		}).observe(picture);
		return {
			paths: () => LISTS,
			update(answers, run) {
				const of = Object.fromEntries(LISTS.map((name, i) => [name, answers[i]]));
				rows = of.waits.raw || [];
				now.element.hidden = !run.is_running && !(of.waiting.raw || []).length;
				now.update(of.waiting.raw, (of.waiting.raw || []).length ? "" : "No thread waits for a lock.");
				card.hidden = !rows.length;
				say(about, ABOUT + (rows.length > EDGES_MAX ? ` The ${EDGES_MAX} longest of ${rows.length} are drawn.` : ""));
				if (rows.length)
					paintGraph(rows);
				waits.update(rows, of.waits.message);
				const all = lockRows(LISTS.slice(3).map((name) => [name, of[name]]));
				locks.update(all, all.length ? "" : of.mutexes.message);
				order.element.hidden = !(of.lock_order.raw || []).length;
				order.update(of.lock_order.raw, "");
			},
		};
	},
});
