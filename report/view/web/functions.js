// SPDX-License-Identifier: MIT
//
// functions.js - functions by time, allocations, CPU samples.
"use strict";

hotpath.functions = (() => {
	const { make, say, time, bytes, count } = hotpath;
	const about = (row) => (row.inclusive_high_ns > row.inclusive_low_ns ? "~" : "");
	// Running calls have no duration yet, except the program's own call.
	let whole = "";
	const atLeast = (row) => (row.running_calls && row.name !== whole ? "≥ " : "") + about(row);
	const taken = (row) => (row.total_ns === null ? null : row.inclusive_ns);

	// One column for each percentile in the answer.
	const percentiles = (list, unit, suffix) => (list.percentiles || []).map((at) => {
		const key = `p${at}${suffix}`;
		return { key, title: `P${at}`, unit, about: `${at} of 100 calls took at most this` };
	});

	const MODES = [
		{
			key: "timing", title: "Time", path: "functions_timing", sort: "inclusive_ns",
			caption: "Functions by time",
			columns: (list) => [
				{ key: "name", title: "Function", unit: "name" },
				{ key: "calls", title: "Calls", unit: "count", about: "how often it was entered, exactly" },
				{ key: "avg_ns", title: "Avg", unit: "time", about: "one call, callees included", mark: about },
				...percentiles(list, "time", "_ns"),
				{ key: "self_ns", title: "Self", unit: "time", about: "without instrumented callees", mark: about },
				{ key: "inclusive_ns", title: "Total", unit: "time", about: "while it was on the stack; ≥: calls are running", mark: atLeast,
					value: taken },
				{ key: "percent_total", title: "% Total", unit: "percent", isBar: true, mark: atLeast },
			],
			log: "calls",
		},
		{
			key: "alloc", title: "Memory", path: "functions_alloc", sort: "total_bytes",
			caption: "Functions by allocation",
			columns: () => [
				{ key: "name", title: "Function", unit: "name" },
				{ key: "calls", title: "Calls", unit: "count" },
				{ key: "count", title: "Blocks", unit: "count", about: "allocated by itself" },
				{ key: "inclusive_bytes", title: "Inclusive", unit: "bytes", about: "callees included" },
				{ key: "total_bytes", title: "Bytes", unit: "bytes", about: "allocated by itself" },
				{ key: "percent_total", title: "% Total", unit: "percent", isBar: true },
			],
			log: "allocations",
		},
		{
			key: "cpu", title: "CPU", path: "functions_cpu", sort: "self_ns",
			caption: "Functions by CPU samples",
			columns: () => [
				{ key: "name", title: "Function", unit: "name" },
				{ key: "self_samples", title: "Samples", unit: "count", about: "in the function itself" },
				{ key: "inclusive_ns", title: "Inclusive", unit: "time", about: "callees included, an estimate", mark: () => "~" },
				{ key: "self_ns", title: "Self", unit: "time", about: "an estimate from samples", mark: () => "~" },
				{ key: "percent", title: "% CPU", unit: "percent", isBar: true },
			],
		},
	];

	// --- single calls of one function ---

	function logTable(parent, caption, columns, rows) {
		const scroll = make("div", parent, { class: "scroll" });
		const table = make("table", scroll, { class: "small" });
		make("caption", table, {}, caption);
		const head = make("tr", make("thead", table));
		for (const [title, , isNumber] of columns)
			make("th", head, { scope: "col", class: isNumber ? "number" : "" }, title);
		const body = make("tbody", table);
		for (const row of rows) {
			const line = make("tr", body);
			for (const [, text, isNumber] of columns)
				make("td", line, { class: isNumber ? "number" : "" }, text(row));
		}
	}

	function showCalls(element, row, log) {
		element.textContent = "";
		const where = hotpath.place(row.location || log.location);
		make("p", element, { class: "dim" }, [where, `${count(row.calls)} calls`,
			row.running_calls ? `${count(row.running_calls)} of them running` : "",
			log.message || ""].filter(Boolean).join(" · "));
		const columns = [["At", (c) => time(c.start_ns), true], ["Took", (c) => time(c.ns), true],
			["Thread", (c) => String(c.tid)]];
		if (log.last.some((call) => call.result))
			columns.push(["Result", (c) => c.result || ""]);
		const pair = make("div", element, { class: "pair" });
		if (log.last.length)
			logTable(pair, "Last calls, newest first", columns, log.last);
		if (log.slowest.length)
			logTable(pair, "Slowest calls", columns, log.slowest);
		if (!log.last.length && !log.slowest.length)
			make("p", element, {}, "No single call was timed yet.");
	}

	function showAllocations(element, row) {
		element.textContent = "";
		const calls = row.last_calls || [];
		make("p", element, { class: "dim" }, `${count(row.allocating_calls)} of ${count(row.calls)} calls allocated`);
		if (calls.length)
			logTable(element, "Last calls that allocated", [["At", (c) => time(c.at_ns), true],
				["Bytes", (c) => bytes(c.bytes), true], ["Blocks", (c) => count(c.alloc_count), true],
				["With callees", (c) => bytes(c.inclusive_bytes), true], ["Thread", (c) => String(c.tid)]], calls);
	}

	async function callsOf(row) {
		if (hotpath.source.isSaved)
			return { last: row.last_calls || [], slowest: row.slowest_calls || [] };
		const log = await hotpath.source.ask(`functions_timing/${row.id}/logs`);
		const results = log.logs || [];
		return {
			last: (log.raw || []).map((call, i) => ({ ...call, result: results[i]?.result })),
			slowest: log.slowest || [], location: log.location,
		};
	}

	// Called at each refresh; a late answer must not replace a newer one.
	function detail(mode) {
		const asked = new WeakMap();
		return (row, element) => {
			if (mode.log === "allocations") {
				showAllocations(element, row);
				return;
			}
			const turn = (asked.get(element) || 0) + 1;
			asked.set(element, turn);
			if (!element.firstChild)
				make("p", element, { class: "dim" }, "…");
			callsOf(row).then((log) => {
				if (asked.get(element) === turn)
					showCalls(element, row, log);
			}, (error) => say(element, `No calls: ${error.message}`));
		};
	}

	// --- the view ---

	function open(element) {
		let mode = MODES[0], table = null, shape = "", isChosen = false;
		const group = make("div", element, { class: "group", role: "group", "aria-label": "What functions are measured by" });
		const buttons = MODES.map((one) => {
			const button = make("button", group, { type: "button", "data-mode": one.key }, one.title);
			button.addEventListener("click", () => {
				take(one);
			});
			return button;
		});
		const holder = make("div", element);
		const press = () => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(MODES[i] === mode)));

		function take(one) {
			isChosen = true;
			mode = one;
			press();
			hotpath.refresh();
		}

		// A program without hooks has samples or allocations: start with those instead of an empty table.
		function isElsewhere(run) {
			const has = (one) => run.sections.some((section) => section.key === one.path && section.has_data);
			const other = isChosen || has(mode) ? null : MODES.find((one) => one.key !== mode.key && has(one));
			if (other)
				take(other);
			return Boolean(other);
		}

		press();
		return {
			paths: () => [mode.path],
			update([list], run) {
				if (isElsewhere(run))
					return;
				whole = run.caller_name;
				const now = mode.key + JSON.stringify(list.percentiles);
				if (shape !== now) {
					shape = now;
					holder.textContent = "";
					table = hotpath.table(holder, {
						caption: mode.caption, columns: mode.columns(list), sort: mode.sort,
						detail: mode.log ? detail(mode) : undefined,
						id: (row) => (row.id !== undefined ? row.id : row.name),
					});
				}
				table.update(list.raw, list.message);
			},
		};
	}

	hotpath.views.push({ key: "functions", title: "Functions", open });
	return { logTable };
})();
