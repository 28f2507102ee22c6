// SPDX-License-Identifier: MIT
//
// overview.js - the complete run: its resources over time, and its sections.
"use strict";

(() => {
	const { make, say, time, bytes, count, share, lasting } = hotpath;
	const SECTIONS = {
		findings: ["What to do", "overview"],
		functions_timing: ["Functions by time", "functions"], calltree: ["Call tree", "calltree"],
		functions_alloc: ["Functions by memory", "functions"], alloc_callers: ["Callers that allocate", "memory"],
		alloc_sites: ["Allocation sites", "memory"], alloc_sizes: ["Sizes of blocks", "memory"],
		alloc_lives: ["Lives of blocks", "memory"], direct_maps: ["Direct maps", "memory"], leaks: ["Blocks not freed", "memory"],
		functions_cpu: ["Functions by CPU", "functions"], offcpu: ["Waits by function", "bound"],
		bound: ["What functions spend time on", "bound"], channels: ["Channels", "channels"],
		tokio_runtime: ["Event loops", "async"], pools: ["Pools", "async"],
		futures: ["Futures", "async"], streams: ["Streams", "async"], debug: ["Values", "async"],
		rw_locks: ["Reader-writer locks", "locks"], mutexes: ["Mutexes", "locks"],
		conds: ["Condition variables", "locks"], sems: ["Semaphores", "locks"], barriers: ["Barriers", "locks"],
		file_locks: ["Locks on files", "locks"], waits: ["Who waited for whom", "locks"],
		lock_order: ["Order of locks", "locks"], waiting: ["Present waits", "locks"],
		processes: ["Processes", "overview"], threads: ["Threads", "threads"], thread_states: ["What threads did", "threads"],
	};
	const LOSSES = {
		lost_calls: "calls were lost", lost_threads: "threads were lost", refused_chunks: "times there was no room",
		refusals: "times the system refused memory or an answer",
		calls_without_path: "calls have no path of their own", calls_in_other: "calls are in <other>",
		unpaired_exits: "exits had no entry", damaged: "part of the record is damaged",
	};

	const SIGNALS = { 1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
		9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM" };

	function ending(run) {
		if (run.is_running)
			return "still running";
		if (run.shut_down)
			return "ended by HOTPATH_SHUTDOWN_MS";
		if (!run.status_known)
			return "ended; its status is not known";
		const signal = run.wait_status & 127;
		return signal ? `killed by ${SIGNALS[signal] || `signal ${signal}`}` : `exit status ${run.wait_status >> 8 & 255}`;
	}

	/* Others were too short to say how long they waited. */
	function watched(run) {
		return run.watched_count < run.thread_count ? `${count(run.watched_count)} of ${count(run.thread_count)}` :
			count(run.thread_count);
	}

	const FACTS = [
		["Time", (run) => lasting(run.elapsed_ns), ending],
		["CPU", (run) => time(run.cpu_ns), (run) => `${share(100 * run.cpu_ns / run.elapsed_ns)} of one core`],
		["Blocked", (run) => time(run.blocked_ns), (run) => `of ${time(run.thread_ns)} in ${watched(run)} thread${run.thread_count === 1 ? "" : "s"}`],
		["Resident", (run) => bytes(run.rss_bytes || null), (run) => `at most ${bytes(run.peak_rss_bytes)}`],
		["Held", (run) => bytes(run.live_bytes), (run) => run.allocated_bytes === undefined ? "allocations not recorded" :
			`of ${bytes(run.allocated_bytes)} allocated`],
		["Profiling", (run) => time(run.profiling_cost_ns || null), (run) => !run.profiling_cost_ns || !run.cpu_ns ?
			"not known" : `${share(100 * run.profiling_cost_ns / run.cpu_ns)} of CPU, ` +
			(run.profiling_cost_error_ns === undefined ? "at least" : `± ${time(run.profiling_cost_error_ns)}`)],
	];

	// CPU between two refreshes, in percent of a core.
	function loads(list) {
		return list.slice(1).map((run, i) => ({
			ns: run.elapsed_ns,
			cpu: 100 * Math.max(0, run.cpu_ns - list[i].cpu_ns) / (run.elapsed_ns - list[i].elapsed_ns),
		}));
	}

	function open(element) {
		const about = make("section", element, { class: "card" });
		const command = make("p", about, { class: "command" });
		const began = make("p", about, { class: "dim began" });
		const facts = make("dl", about, { class: "facts" });
		const cells = FACTS.map(([title]) => {
			const one = make("div", facts);
			make("dt", one, {}, title);
			return [make("dd", one, { class: "big" }), make("dd", one, { class: "dim" })];
		});
		const losses = make("p", about, { class: "loss" });
		const advice = make("section", element, { class: "card" });
		make("h2", advice, {}, "What to do");
		const findings = make("ol", advice, { class: "findings" });
		const none = make("p", advice, { class: "dim" });
		const charts = make("section", element, { class: `card${hotpath.source.isSaved ? "" : " pair"}` });
		const load = hotpath.source.isSaved ? null : hotpath.chart(charts, {
			title: "CPU", format: share, least: 10, series: [{ key: "cpu", title: "of one core" }],
		});
		const memory = hotpath.chart(charts, {
			title: "Memory", format: bytes, least: 65536,
			series: [{ key: "live_bytes", title: "held" }, { key: "rss_bytes", title: "resident" }],
		});
		const box = make("section", element, { class: "card" });
		make("h2", box, {}, "Recorded data");
		const scroll = make("div", box, { class: "scroll" });
		const body = make("tbody", make("table", scroll, { class: "sections" }));
		make("caption", body.parentNode, { class: "unseen" }, "Sections, and why some are empty");
		const lines = new Map();

		function finding(row) {
			const item = document.createElement("li");
			make("div", item, {}, row.text);
			make("div", item, { class: "dim" },
				`${row.gain ? `${row.gain}; ` : ""}${row.facts} [${row.confidence}]`);
			return item;
		}

		function line(section) {
			const [title, view] = SECTIONS[section.key] || [section.key, "overview"];
			const row = make("tr", body, { "data-section": section.key });
			make("a", make("th", row, { scope: "row" }), { href: `#${view}` }, title);
			return { row, state: make("td", row), about: make("td", row, { class: "dim wrap" }) };
		}

		return {
			paths: () => ["findings", ...["alloc_sites", "threads"].filter(() => hotpath.source.isSaved)],
			update([found, sites, threads], run) {
				const rows = found?.raw || [];
				findings.hidden = !rows.length;
				findings.replaceChildren(...rows.map(finding));
				none.hidden = rows.length > 0;
				say(none, found?.message || run.sections.find(({ key }) => key === "findings")?.message || "");
				say(command, run.command || run.comm || "");
				say(began, [run.created_unix_ms ? `began ${new Date(run.created_unix_ms).toLocaleString()}` : "", run.os,
					run.cores ? `${run.cores} cores` : "", run.label, run.profiler].filter(Boolean).join(" · "));
				FACTS.forEach(([, value, more], i) => {
					say(cells[i][0], value(run));
					say(cells[i][1], more(run));
				});
				const lost = Object.entries(run.losses || {});
				losses.hidden = !lost.length;
				say(losses, lost.map(([key, number]) => `${count(number)} ${LOSSES[key] || key}`).join(", "));
				load?.update(loads(hotpath.history.list), "since this page was opened");
				const sizes = hotpath.source.isSaved ? hotpath.sizes(sites, threads, run) :
					hotpath.history.list.map((one) => ({ ns: one.elapsed_ns, ...one }));
				charts.hidden = hotpath.source.isSaved && !sizes.length;
				memory.update(sizes, "");
				for (const section of run.sections) {
					if (!lines.has(section.key))
						lines.set(section.key, line(section));
					const { row, state, about: text } = lines.get(section.key);
					row.classList.toggle("empty", !section.has_data);
					say(state, section.has_data ? "recorded" : "empty");
					say(text, section.has_data ? section.about : section.message);
				}
			},
		};
	}

	hotpath.views.unshift({ key: "overview", title: "Overview", open });
})();
