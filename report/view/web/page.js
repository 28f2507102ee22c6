// SPDX-License-Identifier: MIT
//
// page.js - the page: its views, and their refresh every second.
//
// A view is { key, title, open(element) }; open returns { paths(), update(answers) }:
// its requests, and the handling of the answers, in that order.
"use strict";

(() => {
	const { make, say, source } = hotpath;
	const main = document.getElementById("main"), tabs = document.getElementById("tabs");
	const state = document.getElementById("state"), pause = document.getElementById("pause");
	const save = document.getElementById("save");
	const opened = new Map();	// views that were looked at, by key
	let current = null, isPaused = false, timer = 0, turn = 0, overview = null;
	let answeredAt = 0, isEnded = false;

	// --- the head ---

	function describe(run) {
		const name = run.comm || "program";
		say(document.getElementById("program"), name);
		say(document.getElementById("facts"), [`pid ${run.pid}`, `up ${hotpath.lasting(run.elapsed_ns)}`].join(" · "));
		document.title = `${name} (${run.pid}) – hotpath`;
	}

	function show(kind, text) {
		state.className = `state ${kind}`;
		say(state, text);
	}

	function showState(error) {
		const clock = answeredAt ? new Date(answeredAt).toLocaleTimeString() : "";
		if (source.isSaved)
			show("still", "Saved");
		else if (isEnded)
			show("still", "Ended");
		else if (error)
			show("stale", answeredAt ? `Stale since ${clock}` : "No answer");
		else if (isPaused)
			show("still", `Paused at ${clock}`);
		else
			show("live", "Live");
	}

	// --- a token ---

	function askForToken() {
		document.getElementById("token")?.remove();
		const dialog = make("dialog", document.body, { id: "token", "aria-labelledby": "token-title" });
		const form = make("form", dialog);
		make("h2", form, { id: "token-title" }, "This program's figures need a token");
		make("p", form, {}, source.hasToken() ? "The token was not the right one." :
			"It is what HOTPATH_METRICS_AUTH_TOKEN was set to when the program was started.");
		const label = make("label", form, {}, "Token ");
		const input = make("input", label, { type: "password", autocomplete: "off", required: true });
		make("button", form, { type: "submit" }, "Show the figures");
		form.addEventListener("submit", (event) => {
			event.preventDefault();
			source.setToken(input.value.trim());
			dialog.close();
			dialog.remove();
			refresh();
		});
		dialog.showModal();
	}

	// --- trouble ---

	function tellFault(error) {
		let box = document.getElementById("fault");
		if (!error) {
			box?.remove();
			return;
		}
		if (!box) {
			box = make("div", null, { id: "fault", class: "fault", role: "alert" });
			main.before(box);
		}
		const last = answeredAt ? ` Shown: the figures of ${new Date(answeredAt).toLocaleTimeString()}.` : "";
		say(box, error.status ? `The server refuses: ${error.message}.${error.hint ? ` (${error.hint})` : ""}` :
			`No answer: the program has ended, or its server cannot be reached; asking again.${last}`);
	}

	// --- asking ---

	// On a manual refresh, each view gets its figures at once.
	async function look(isAsked) {
		const mine = ++turn, view = opened.get(current);
		const isTurn = isAsked || view.looks++ % (view.every || 1) === 0;
		const known = overview || await source.ask("overview");
		const [run, ...answers] = await Promise.all([overview ? source.ask("overview") : known,
			...(isTurn ? view.paths().map((path) => source.list(path, known)) : [])]);
		if (mine !== turn)
			return;
		overview = run;
		answeredAt = Date.now();
		isEnded = !run.is_running;
		hotpath.history.add(run);
		describe(run);
		if (isTurn)
			view.update(answers, run);
	}

	async function refresh(isAsked = true) {
		let error = null;
		clearTimeout(timer);
		try {
			await look(isAsked);
		} catch (fault) {
			error = fault;
			if (!fault.status && !(fault instanceof TypeError) && fault.name !== "TimeoutError")
				throw fault;	// a fault of this page
		}
		tellFault(error && error.status !== 401 ? error : null);
		showState(error);
		if (error && error.status === 401)
			askForToken();
		else
			plan(error ? source.SLOW_MS : source.INTERVAL_MS);
	}

	function plan(ms) {
		clearTimeout(timer);
		save.hidden = source.isSaved;
		pause.hidden = source.isSaved || isEnded;
		if (source.isSaved || isEnded || isPaused || document.hidden)
			return;
		timer = setTimeout(() => refresh(false), ms);
	}

	hotpath.refresh = refresh;

	pause.addEventListener("click", () => {
		isPaused = !isPaused;
		pause.setAttribute("aria-pressed", String(isPaused));
		say(pause, isPaused ? "Continue" : "Pause");
		if (isPaused) {
			clearTimeout(timer);
			showState(null);
		} else {
			refresh();
		}
	});
	save.addEventListener("click", async () => {
		save.disabled = true;
		try {
			const address = URL.createObjectURL(await source.file());
			const link = make("a", null, { href: address, download: `hotpath-${overview?.comm || "program"}-${overview?.pid || 0}.html` });
			link.click();
			setTimeout(() => URL.revokeObjectURL(address), 10000);
			hotpath.announce("saved");
		} catch (error) {
			tellFault(error);
		}
		save.disabled = false;
	});
	document.addEventListener("visibilitychange", () => {
		if (!document.hidden && !isPaused && !isEnded)
			refresh();
	});

	// --- views ---

	// The figures since the page was opened, which the server does not keep.
	hotpath.history = {
		list: [],
		add(run) {
			const last = this.list[this.list.length - 1];
			if (last && run.elapsed_ns <= last.elapsed_ns)
				return;
			this.list.push(run);
			if (this.list.length > 600)
				this.list.shift();
		},
	};

	function go() {
		const wanted = decodeURIComponent(location.hash.slice(1));
		const view = hotpath.views.find((one) => one.key === wanted) || hotpath.views[0];
		if (view.key === current)
			return;
		current = view.key;
		if (!opened.has(current)) {
			const element = make("div", main, { class: "view", id: `view-${current}` });
			opened.set(current, Object.assign({ element, every: view.every, looks: 1 }, view.open(element)));
		}
		for (const [key, one] of opened)
			one.element.hidden = key !== current;
		for (const link of tabs.querySelectorAll("a"))
			if (link.dataset.view === current)
				link.setAttribute("aria-current", "page");
			else
				link.removeAttribute("aria-current");
		refresh();
	}

	for (const view of hotpath.views)
		make("a", make("li", tabs), { href: `#${view.key}`, "data-view": view.key }, view.title);
	main.querySelector("noscript")?.remove();
	window.addEventListener("hashchange", go);
	go();
})();
