// SPDX-License-Identifier: MIT
//
// threads.js - threads: their activity over time, their cost, their allocations.
//
// Times come from the kernel's records; without them, from the server's
// counted between two answers, since the page was opened.
"use strict";

hotpath.views.push({
	key: "threads",
	title: "Threads",
	open(element) {
		const { make, say, time, lasting } = hotpath;
		const SPAN_S = 60, HIGH = 20;
		// Order of the stack, and labels; colours are in the style sheet.
		const PARTS = [["cpu", "on the CPU (samples)"], ["ready", "ready"], ["lock", "lock"], ["file_lock", "lock of a file"],
			["pipe", "pipe"], ["channel", "channel"], ["socket", "socket"], ["poll", "poll"], ["disk", "disk"],
			["memory", "page fault"], ["child", "child process"], ["join", "end of a thread"], ["signal", "signal"],
			["sleep", "sleep"], ["stop", "stopped"], ["debugger", "debugger"], ["other", "other"]];
		const STATES = { R: "running", S: "sleeping", D: "disk", T: "stopped", Z: "ended", X: "ended", x: "ended", t: "traced", I: "idle" };
		const POLLED = { cpu: "on the CPU", other: "waiting" };
		const polled = new Map();	// by thread: shares of each step between two answers
		let before = null;

		const card = make("section", element, { class: "card" });
		const head = make("div", card, { class: "card-head" });
		make("h2", head, {}, "What threads did");
		const span = make("span", head, { class: "dim" });
		const about = make("p", card, { class: "dim about" });
		const strips = make("div", card, { class: "strips" });
		const legend = make("div", card, { class: "strip-legend" });
		const table = hotpath.table(element, {
			caption: "Threads", sort: "cpu_ns", id: (row) => `${row.pid} ${row.os_tid} ${row.name}`,
			columns: [
				{ key: "name", title: "Thread", unit: "name" },
				{ key: "os_tid", title: "Id", unit: "text" },
				{ key: "status_code", title: "State", unit: "text", value: (row) => STATES[row.status_code] || row.status_code },
				{ key: "mostly", title: "Waits mostly", unit: "text", value: (row) => row.mostly || "" },
				{ key: "ran_percent", title: "Ran", unit: "share" },
				{ key: "ready_percent", title: "Ready", unit: "share", about: "waited for a processor" },
				{ key: "waited_percent", title: "Waited", unit: "share" },
				{ key: "cpu_percent_max", title: "Max", unit: "share", about: "of one core, in the busiest look" },
				{ key: "alloc_bytes", title: "Allocated", unit: "bytes" },
				{ key: "mem_diff", title: "Kept", unit: "bytes", about: "allocated less freed by this thread" },
				{ key: "life_ns", title: "Life", unit: "time" },
				{ key: "cpu_ns", title: "CPU", unit: "time", isBar: true },
			],
		});

		// --- strips ---

		const colour = (key) => getComputedStyle(card).getPropertyValue(`--part-${key}`).trim() || "#888";
		const lines = new Map();

		function stripOf(key, name) {
			const row = make("div", strips, { class: "strip" });
			const label = make("span", row, { class: "strip-name", title: name });
			// The number distinguishes threads of one name, so it is kept.
			say(label, hotpathFlame.brief(name, label.clientWidth ? Math.floor(label.clientWidth / 8.6) : 24));
			return { row, canvas: make("canvas", row, { role: "img", "aria-label": name }) };
		}

		function paintStrip(canvas, parts, steps) {
			const wide = steps * 4, context = (canvas.width = wide, canvas.height = HIGH, canvas.getContext("2d"));
			const at = new Float64Array(steps);
			for (const [key] of PARTS) {
				if (!parts[key])
					continue;
				context.fillStyle = colour(key);
				parts[key].forEach((share, i) => {
					const high = Math.min(share, 1 - at[i]) * HIGH;
					if (high > 0)
						context.fillRect(i * 4, HIGH - at[i] * HIGH - high, 4, high);
					at[i] += Math.max(0, Math.min(share, 1 - at[i]));
				});
			}
		}

		function inWords(name, parts, steps, kernel) {
			const sums = PARTS.filter(([key]) => parts[key]).map(([key, title]) =>
				[kernel ? title : POLLED[key] || title, 100 * parts[key].reduce((sum, share) => sum + share, 0) / steps]);
			return `${name}: ` + sums.filter(([, part]) => part >= 0.05)
				.map(([title, part]) => `${title} ${part.toFixed(1)}%`).join(", ");
		}

		function paint(threads, steps, kernel) {
			const seen = new Set(), used = new Set();
			for (const thread of threads) {
				const key = `${thread.pid} ${thread.os_tid}`;
				const name = `${thread.name} ${thread.os_tid}`;
				seen.add(key);
				if (!lines.has(key))
					lines.set(key, stripOf(key, name));
				const { canvas } = lines.get(key), words = inWords(name, thread.parts, steps, kernel);
				paintStrip(canvas, thread.parts, steps);
				canvas.setAttribute("aria-label", words);
				canvas.title = words;
				Object.keys(thread.parts).forEach((part) => used.add(part));
			}
			for (const [key, line] of lines)
				if (!seen.has(key)) {
					line.row.remove();
					lines.delete(key);
				}
			const wanted = PARTS.filter(([key]) => used.has(key));
			const text = wanted.map(([key]) => key).join();
			if (legend.dataset.parts !== text) {
				legend.dataset.parts = text;
				legend.textContent = "";
				for (const [key, title] of wanted)
					make("span", legend, { class: `part part-${key}` }, kernel ? title : POLLED[key] || title);
				if (wanted.length)
					make("span", legend, { class: "dim" }, kernel ?
						"A wait lasts until the thread runs again. Blank: ready, an ongoing wait, or unknown." :
						"Blank: not known.");
			}
		}

		// --- without the kernel's records ---

		const COUNTED = { cpu: "ran_ns", ready: "ready_ns", lock: "lock_ns", signal: "signal_ns", join: "join_ns",
			file_lock: "file_lock_ns", channel: "channel_ns", disk: "disk_ns", poll: "poll_ns", sleep: "sleep_ns" };

		// A thread that has ended moves out of the picture.
		function fade(key, line) {
			for (const list of Object.values(line.parts)) {
				list.push(0);
				list.shift();
			}
			if (Object.values(line.parts).every((list) => list.every((share) => !share)))
				polled.delete(key);
		}

		function count(states, run) {
			const rows = new Map(states.map((row) => [`${row.pid} ${row.os_tid}`, row]));
			const elapsed = before ? run.elapsed_ns - before.ns : 0;
			if (before && elapsed <= 0)
				return;
			for (const [key, row] of rows) {
				const then = before?.rows.get(key);
				if (!then)
					continue;
				const line = polled.get(key) || { name: row.name, pid: row.pid, os_tid: row.os_tid, parts: {} };
				polled.set(key, line);
				const step = (field) => Math.max(0, Math.min(1, ((row[field] || 0) - (then[field] || 0)) / elapsed));
				const shares = Object.entries(COUNTED).map(([part, field]) => [part, step(field)]);
				const told = shares.filter(([part]) => part !== "cpu" && part !== "ready");
				shares.push(["other", Math.max(0, step("waited_ns") - told.reduce((sum, [, share]) => sum + share, 0))]);
				for (const [part, share] of shares) {
					const list = line.parts[part] ||= new Array(SPAN_S).fill(0);
					list.push(share);
					list.shift();
				}
			}
			for (const [key, line] of polled)
				if (!rows.has(key))
					fade(key, line);
			before = { ns: run.elapsed_ns, rows };
		}

		function used(line) {
			return { ...line, parts: Object.fromEntries(Object.entries(line.parts).filter(([, list]) => list.some((x) => x > 0))) };
		}

		return {
			paths: () => [hotpath.source.isSaved ? "timeline" : `timeline?seconds=${SPAN_S}`, "threads", "thread_states"],
			update([timeline, threads, states], run) {
				const kernel = timeline.data || [];
				const of = new Map((states.raw || []).map((row) => [`${row.pid} ${row.os_tid}`, row]));
				if (!kernel.length && run.is_running)
					count(states.raw || [], run);
				const list = kernel.length ? kernel : [...polled.values()].map(used);
				paint(list, kernel.length ? timeline.steps : SPAN_S, kernel.length > 0);
				say(span, kernel.length ? `${lasting(timeline.from_ns)} to ${lasting(timeline.from_ns + timeline.steps * timeline.step_ns)}` :
					list.length ? "since this page was opened" : "");
				const lost = timeline.lost_count ? `There was no room for ${hotpath.count(timeline.lost_count)} later records` : "";
				say(about, [lost && kernel.length ? lost + "." :
					lost && list.length ? lost + ": this is what threads were counted to do between two answers." :
						lost ? lost + ": what threads did of late is not known." : kernel.length ? "" : timeline.message || "",
					timeline.total_count > kernel.length ? `${timeline.has_more ? "More than " : ""}${timeline.total_count - kernel.length} more threads are not shown.` : "",
				].filter(Boolean).join(" "));
				about.hidden = !about.textContent;
				table.update((threads.raw || []).map((row) => ({ ...of.get(`${row.pid} ${row.os_tid}`), ...row })), threads.message);
			},
		};
	},
});
