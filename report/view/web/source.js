// SPDX-License-Identifier: MIT
//
// source.js - the source of figures: the server that sent the page, queried every
// second while the page is visible, or the data inside a saved page.
//
// Nothing is requested while the page is paused or hidden, so that the server
// has nothing to do, either.
"use strict";

hotpath.source = (() => {
	const INTERVAL_MS = 1000, SLOW_MS = 5000, PATIENCE_MS = 8000;
	const KEY = "hotpath-token";
	const inside = document.getElementById("data");
	const saved = inside ? JSON.parse(inside.textContent) : null;
	let token = null;

	try {
		token = saved ? null : sessionStorage.getItem(KEY);
	} catch {
		// A browser without storage: the token is requested again after a reload.
	}

	class Refused extends Error {
		constructor(status, message, hint) {
			super(message);
			this.status = status;
			this.hint = hint;
		}
	}

	// A section's list is under "now" if it has snapshots.
	const listOf = (answer) => (answer && answer.now ? answer.now : answer);

	function fromPage(path) {
		if (path === "overview" || path === "flame" || path === "timeline")
			return saved[path];
		const list = saved.sections[path];
		if (!list)
			throw new Refused(404, "It is not in this file");
		return list;
	}

	async function ask(path) {
		if (saved)
			return fromPage(path);
		const headers = token ? { Authorization: token } : {};
		const answer = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
		let body = null;
		try {
			body = await answer.json();
		} catch {
			throw new Refused(answer.status, "The answer is not JSON");
		}
		if (!answer.ok)
			throw new Refused(answer.status, body.error || String(answer.status), body.hint);
		return listOf(body);
	}

	// A missing section is an empty list with a reason; other errors are errors.
	// Sections that are empty in the overview are not requested.
	async function list(path, run) {
		const section = run && run.sections.find((one) => one.key === path);
		if (section && !section.has_data)
			return { data: [], raw: [], message: section.message };
		try {
			return await ask(path);
		} catch (error) {
			if (error.status !== 404)
				throw error;
			return { data: [], raw: [], message: error.message };
		}
	}

	// A file with these figures, which opens from disk.
	async function file() {
		const headers = token ? { Authorization: token } : {};
		const answer = await fetch("report.html", { headers, cache: "no-store" });
		if (!answer.ok)
			throw new Refused(answer.status, String(answer.status));
		return answer.blob();
	}

	return {
		file,
		isSaved: Boolean(saved),
		INTERVAL_MS,
		SLOW_MS,
		ask,
		list,
		setToken(text) {
			token = text;
			try {
				sessionStorage.setItem(KEY, text);
			} catch {
				// As above.
			}
		},
		hasToken: () => Boolean(token),
	};
})();
