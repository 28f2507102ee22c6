// SPDX-License-Identifier: MIT
//
// flame.js - draws flame graphs: hotpathFlame(element, data), with data as
// report/view/flame.h has it.  Returns { update(data) }, for live pages.
//
// The root is at the top and callees below their callers, the heaviest on the left.
// Only boxes that are wide enough to be visible are elements of the page, created anew
// for each picture; of 40 000 nodes these are some hundreds.  Data is put into the
// page as text only.
"use strict";

function hotpathFlame(root, data) {
	const LEAST_PX = 0.7, TEXT_PX = 28, LETTER_PX = 6.4, TOP_ROWS = 20;
	// The kind of a name, its hue and its saturation.
	const KINDS = [["program", 28, "75%"], ["libraries", 205, "65%"], ["kernel", 285, "60%"],
		["waits and the rest", 120, "8%"]];
	// The same for a comparison: how much more or less a box has in B.
	const CHANGES = [["more in B", 8, "80%"], ["less in B", 215, "75%"], ["about the same", 120, "6%"]];
	let graph, total, self, first, next, depth, order;	// of the graph that is shown
	let other;	// in a comparison, the other side's total; else null
	let zoom = 0, active = 0, matches = new Set(), query = "", boxes = new Map(), drawn = 0;

	function make(tag, parent, attributes, text) {
		const element = document.createElement(tag);
		for (const key in attributes)
			element.setAttribute(key, attributes[key]);
		if (text !== undefined)
			element.textContent = text;
		if (parent)
			parent.appendChild(element);
		return element;
	}

	// --- numbers ---

	function scaled(value, steps) {
		let i = 0;
		while (i + 1 < steps.length && value >= steps[i + 1][0])
			i++;
		const [unit, name] = steps[i];
		return (unit === 1 ? String(Math.round(value)) : (value / unit).toFixed(2)) + name;
	}

	function said(value) {
		if (graph.unit === "ns")
			return scaled(value, [[1, " ns"], [1e3, " µs"], [1e6, " ms"], [1e9, " s"]]);
		if (graph.unit === "bytes")
			return scaled(value, [[1, " B"], [1e3, " KB"], [1e6, " MB"], [1e9, " GB"]]);
		return Math.round(value).toLocaleString("en-US");
	}

	function share(value, whole) {
		return (whole > 0 ? 100 * value / whole : 0).toFixed(2) + "%";
	}

	// --- the graph ---

	const tree = () => data.trees[graph.tree];
	const nameOf = (node) => data.names[tree().name[node]];
	const kindOf = (node) => data.kinds[tree().name[node]];

	function take(index) {
		graph = data.graphs[index];
		self = graph.self;
		const parent = tree().parent, count = parent.length;
		total = Float64Array.from(self);
		depth = new Uint32Array(count);
		first = new Int32Array(count).fill(-1);
		next = new Int32Array(count).fill(-1);
		other = graph.other ? Float64Array.from(graph.other) : null;
		for (let i = count - 1; i > 0; i--) {
			total[parent[i]] += total[i];
			if (other)
				other[parent[i]] += other[i];
		}
		order = Array.from(parent.keys()).filter((i) => total[i] > 0);
		order.sort((a, b) => total[a] - total[b] || b - a);
		// Lightest first, each prepended to its list: so the heaviest is first.
		for (const i of order)
			if (i > 0) {
				next[i] = first[parent[i]];
				first[parent[i]] = i;
			}
		for (let i = 1; i < count; i++)
			depth[i] = depth[parent[i]] + 1;
		zoom = active = 0;
	}

	function* childrenOf(node) {
		for (let i = first[node]; i >= 0; i = next[i])
			yield i;
	}

	function pathOf(node) {
		const path = [];
		for (; node >= 0; node = tree().parent[node])
			path.unshift(node);
		return path;
	}

	// --- search ---

	function testOf(text) {
		if (text.length > 2 && text.startsWith("/") && text.endsWith("/")) {
			try {
				const regex = new RegExp(text.slice(1, -1));
				return (name) => regex.test(name);
			} catch {
				return () => false;
			}
		}
		const wanted = text.toLowerCase();
		return (name) => name.toLowerCase().includes(wanted);
	}

	// Anything below another match is already included.
	function search(text) {
		query = text;
		matches = new Set();
		let sum = 0;
		if (text) {
			const test = testOf(text), is = data.names.map(test);
			const inside = new Uint8Array(self.length);
			for (let i = 1; i < self.length; i++) {
				const parent = tree().parent[i], hit = total[i] > 0 && is[tree().name[i]];
				inside[i] = inside[parent] || hit ? 1 : 0;
				if (hit)
					matches.add(i);
				if (hit && !inside[parent])
					sum += total[i];
			}
		}
		found.textContent = !text ? "" : matches.size === 0 ? "nothing found" :
			`${matches.size} found, ${share(sum, total[0])} together`;
		clear.disabled = !text;
	}

	function nextMatch(step) {
		const list = [...matches].sort((a, b) => total[b] - total[a]);
		if (!list.length)
			return;
		const at = list.indexOf(active);
		const to = list[(at + step + list.length) % list.length];
		if (!inZoom(to))
			zoom = 0;
		activate(to, false);
		if (!boxes.has(to))
			zoomTo(tree().parent[to], to);
	}

	function inZoom(node) {
		return pathOf(node).includes(zoom) || pathOf(zoom).includes(node);
	}

	// --- drawing ---

	function hueOf(node) {
		const name = nameOf(node);
		let hash = 0;
		for (let i = 0; i < name.length; i++)
			hash = (hash * 31 + name.charCodeAt(i)) | 0;
		return KINDS[kindOf(node)][1] + Math.abs(hash) % 29 - 14;
	}

	function paint(element, hue, saturation) {
		element.style.setProperty("--h", hue);
		element.style.setProperty("--s", saturation);
	}

	const before = (node) => graph.side === "A" ? total[node] : other[node];
	const after = (node) => graph.side === "A" ? other[node] : total[node];

	// From -1 (gone) to 1 (new); 0 = less than a hundredth of the total.
	function changeOf(node) {
		const change = after(node) - before(node);
		return Math.abs(change) < 0.01 * total[0] ? 0 : change / Math.max(after(node), before(node));
	}

	function describeBoth(node) {
		const change = after(node) - before(node);
		return `${nameOf(node)}: A ${said(before(node))}, B ${said(after(node))}, ` +
			`${change < 0 ? "-" : "+"}${said(Math.abs(change))}` +
			(before(node) > 0 ? ` (${(100 * change / before(node)).toFixed(1)}%)` : "");
	}

	function describe(node) {
		if (other)
			return describeBoth(node);
		return `${nameOf(node)}: ${said(total[node])}, ${share(total[node], total[0])} of all` +
			(node ? `, ${share(total[node], total[tree().parent[node]])} of its caller` : "") +
			`, itself ${said(self[node])}`;
	}

	function box(node, left, width, row) {
		const element = make("div", picture, {
			class: "hpf-box", role: "treeitem", tabindex: node === active ? "0" : "-1",
			"aria-level": depth[node] + 1, "aria-label": describe(node), title: describe(node),
			"aria-selected": String(node === active), "data-node": node,
		});
		if (first[node] >= 0)
			element.setAttribute("aria-expanded", "true");
		element.style.left = `${left}px`;
		element.style.width = `${Math.max(width - (width > 3 ? 1 : 0), 0.5)}px`;
		element.style.top = `calc(var(--hpf-row) * ${row})`;
		if (other)
			paint(element, changeOf(node) > 0 ? CHANGES[0][1] : CHANGES[1][1], `${Math.round(6 + 80 * Math.abs(changeOf(node)))}%`);
		else
			paint(element, hueOf(node), KINDS[kindOf(node)][2]);
		element.classList.toggle("hpf-above", depth[node] < depth[zoom]);
		element.classList.toggle("hpf-match", matches.has(node));
		if (width >= TEXT_PX)
			element.textContent = hotpathFlame.brief(nameOf(node), Math.floor((width - 7) / LETTER_PX));
		else
			element.classList.add("hpf-thin");
		boxes.set(node, element);
	}

	function draw() {
		const width = picture.clientWidth;
		const path = pathOf(zoom), hasFocus = picture.contains(document.activeElement);
		let deepest = path.length;
		drawn = width;
		picture.textContent = "";
		boxes = new Map();
		for (const node of path)
			box(node, 0, width, depth[node]);
		const stack = [[zoom, 0, width]];
		while (stack.length) {
			const [node, left, wide] = stack.pop();
			let at = left;
			for (const child of childrenOf(node)) {
				const part = wide * total[child] / total[node];
				if (part < LEAST_PX)
					break;	// the rest is lighter still
				box(child, at, part, depth[child]);
				deepest = Math.max(deepest, depth[child] + 1);
				stack.push([child, at, part]);
				at += part;
			}
		}
		picture.style.height = `calc(var(--hpf-row) * ${deepest})`;
		picture.classList.toggle("hpf-searching", matches.size > 0);
		if (!boxes.has(active))
			active = zoom;
		boxes.get(active).tabIndex = 0;
		if (hasFocus)
			boxes.get(active).focus({ preventScroll: true });
		out.disabled = zoom === 0;
		tell();
	}

	function tell() {
		detail.textContent = describe(active);
	}

	function activate(node, focus) {
		const before = boxes.get(active), now = boxes.get(node);
		active = node;
		for (const [element, is] of [[before, false], [now, true]])
			if (element) {
				element.tabIndex = is ? 0 : -1;
				element.setAttribute("aria-selected", String(is));
			}
		if (focus && now)
			now.focus();
		tell();
	}

	function zoomTo(node, then) {
		zoom = node;
		active = then === undefined ? node : then;
		draw();
		boxes.get(active).focus();
	}

	// --- keys and pointers ---

	function visible(node) {
		return node >= 0 && boxes.has(node) ? node : -1;
	}

	function sibling(step) {
		const list = active ? [...childrenOf(tree().parent[active])] : [];
		return visible(list[list.indexOf(active) + step] ?? -1);
	}

	const KEYS = {
		ArrowUp: () => visible(tree().parent[active]),
		ArrowDown: () => visible(first[active]),
		ArrowLeft: () => sibling(-1),
		ArrowRight: () => sibling(1),
		Home: () => 0,
	};

	function onKey(event) {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (KEYS[event.key]) {
			const node = KEYS[event.key]();
			if (node === 0 && !boxes.has(0))
				zoom = 0;
			if (node >= 0)
				activate(node, true);
		} else if (event.key === "Enter" || event.key === " ") {
			zoomTo(active);
		} else if (event.key === "Escape" || event.key === "Backspace") {
			zoomTo(event.key === "Escape" ? 0 : Math.max(tree().parent[zoom], 0), zoom);
		} else if (event.key === "n" || event.key === "N") {
			nextMatch(event.key === "n" ? 1 : -1);
		} else {
			return;
		}
		event.preventDefault();
	}

	const nodeAt = (event) => {
		const element = event.target.closest(".hpf-box");
		return element ? Number(element.dataset.node) : -1;
	};

	// --- the table of functions ---

	// For a recursive function only the outermost call counts.
	function functionsOf() {
		const rows = new Map(), on = [];
		const walk = [[0, false]];
		while (walk.length) {
			const [node, leaving] = walk.pop(), name = tree().name[node];
			if (leaving) {
				on[name]--;
				continue;
			}
			const row = rows.get(name) || { name, self: 0, total: 0 };
			row.self += self[node];
			if (!on[name])
				row.total += total[node];
			on[name] = (on[name] || 0) + 1;
			if (node)
				rows.set(name, row);
			walk.push([node, true]);
			for (const child of childrenOf(node))
				walk.push([child, false]);
		}
		return [...rows.values()].sort((a, b) => b.self - a.self || b.total - a.total);
	}

	function newLine(body) {
		const line = make("tr", body);
		for (let i = 0; i < 4; i++)
			make("td", line);
		const button = make("button", make("td", line), { type: "button" });
		button.addEventListener("click", () => {
			input.value = button.title;
			search(input.value);
			draw();
			picture.scrollIntoView({ block: "nearest" });
		});
		return line;
	}

	// Lines keep their elements across refreshes, and so the focus.
	function list() {
		const body = table.tBodies[0], rows = functionsOf().slice(0, TOP_ROWS);
		rows.forEach((row, i) => {
			const line = body.rows[i] || newLine(body);
			[said(row.self), share(row.self, total[0]), said(row.total), share(row.total, total[0])]
				.forEach((text, column) => {
					line.cells[column].textContent = text;
				});
			const name = data.names[row.name], button = line.cells[4].firstChild;
			// Next to four columns of figures.
			button.textContent = hotpathFlame.brief(name, Math.max(24, Math.floor((picture.clientWidth - 330) / 7)));
			button.title = name;
		});
		while (body.rows.length > rows.length)
			body.lastChild.remove();
	}

	// --- the whole ---

	// A node by the names that lead to it, as far as there are such.
	function nodeOf(names) {
		let node = 0;
		for (const name of names.slice(1)) {
			const next = [...childrenOf(node)].find((child) => nameOf(child) === name);
			if (next === undefined)
				break;
			node = next;
		}
		return node;
	}

	function show(index, keep) {
		take(index);
		if (keep) {
			zoom = nodeOf(keep.zoom);
			active = nodeOf(keep.active);
		}
		for (const [i, button] of [...choice.children].entries())
			button.setAttribute("aria-pressed", String(i === index));
		about.textContent = `${graph.about} All: ${said(total[0])}.`;
		picture.setAttribute("aria-label", `${graph.title} by call path`);
		search(query);
		draw();
		list();
	}

	function choices() {
		const keys = data.graphs.map((one) => one.key).join();
		if (choice.dataset.keys === keys)
			return;
		choice.dataset.keys = keys;
		choice.textContent = "";
		data.graphs.forEach((one, index) => {
			const button = make("button", choice, { type: "button", "data-graph": one.key }, one.title);
			button.addEventListener("click", () => show(index));
		});
		choice.hidden = data.graphs.length < 2;
	}

	root.textContent = "";
	root.classList.add("hpf");
	const title = make("h1", root, {}, data.title);
	const bar = make("div", root, { class: "hpf-bar" });
	const choice = make("div", bar, { class: "hpf-group", role: "group", "aria-label": "Shown data" });
	const label = make("label", bar, {}, "Search ");
	const input = make("input", label, { type: "search", placeholder: "name or /regex/", spellcheck: "false" });
	const clear = make("button", bar, { type: "button" }, "Clear");
	const out = make("button", bar, { type: "button" }, "Zoom out");
	const found = make("span", bar, { class: "hpf-found", role: "status" });
	const about = make("p", root, { class: "hpf-about" });
	const detail = make("div", root, { class: "hpf-detail", "aria-live": "polite" });
	const picture = make("div", root, { class: "hpf-graph", role: "tree" });
	const legend = make("div", root, { class: "hpf-legend" });
	for (const [text, hue, saturation] of data.graphs.some((one) => one.other) ? CHANGES : KINDS)
		paint(make("span", legend, {}, text), hue, saturation);
	make("p", root, { class: "hpf-keys" }, "Click or Enter zooms in, Esc out, Backspace one level; " +
		"arrows move; / searches, n and N go through the matches.");
	make("h2", root, {}, "Functions by own share");
	const table = make("table", make("div", root, { class: "hpf-scroll" }), { "aria-label": "Functions by own share" });
	const headings = make("tr", make("thead", table));
	for (const text of ["Self", "", "With callees", "", "Function"])
		make(text ? "th" : "td", headings, text ? { scope: "col" } : {}, text);
	make("tbody", table);

	picture.addEventListener("click", (event) => {
		const node = nodeAt(event);
		if (node >= 0)
			zoomTo(node);
	});
	picture.addEventListener("mouseover", (event) => {
		const node = nodeAt(event);
		if (node >= 0)
			detail.textContent = describe(node);
	});
	picture.addEventListener("mouseleave", tell);
	picture.addEventListener("focusin", (event) => {
		const node = nodeAt(event);
		if (node >= 0 && node !== active)
			activate(node, false);
	});
	picture.addEventListener("keydown", onKey);
	out.addEventListener("click", () => zoomTo(0));
	clear.addEventListener("click", () => {
		input.value = "";
		search("");
		draw();
		input.focus();
	});
	input.addEventListener("input", () => {
		search(input.value);
		draw();
	});
	input.addEventListener("keydown", (event) => {
		if (event.key === "Enter") {
			nextMatch(1);
			boxes.get(active)?.focus();
		}
	});
	document.addEventListener("keydown", (event) => {
		if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
			event.preventDefault();
			input.focus();
			input.select();
		}
	});
	if (!data.graphs.length) {
		about.textContent = "There is nothing to draw.";
		return { update() {} };
	}
	choices();
	show(0);
	new ResizeObserver(() => {
		if (picture.clientWidth !== drawn)
			draw();
	}).observe(root);
	return {
		// New figures: the view is kept, as far as it still exists.
		update(fresh) {
			const key = graph.key;
			const keep = { zoom: pathOf(zoom).map(nameOf), active: pathOf(active).map(nameOf) };
			data = fresh;
			title.textContent = data.title;
			choices();
			const index = data.graphs.findIndex((one) => one.key === key);
			show(Math.max(0, index), index >= 0 ? keep : null);
		},
	};
}

// A name in `room` characters.  C++ names lose, as far as needed: the standard
// library's inner names, template arguments, parameters; and of all names their middle.
hotpathFlame.brief = (name, room) => {
	const SIGNS = /operator\s*(?:\(\)|\[\]|->\*?|<=>|[-+*/%^&|~!=<>,]{1,3}(?=[ (]))?/y;

	// What is in the outermost brackets becomes "…", but for what is apart: "(anonymous namespace)".
	function hollow(text, open) {
		let out = "", depth = 0, hidden = 0;
		for (let i = 0; i < text.length;) {
			SIGNS.lastIndex = i;
			const word = /\w/.test(text[i - 1] || "") ? null : SIGNS.exec(text);
			const part = word ? word[0] : text.startsWith("->", i) ? "->" : text[i];
			const isOpen = part === "(" || part === "<", isClose = part === ")" || part === ">";
			depth += isOpen;
			if (hidden && isClose && depth === hidden)
				hidden = 0;
			if (!hidden)
				out += part;
			if (!hidden && part === open && !/[)>]/.test(text[i + 1] || ")") && (open === "<" || /[^\s:(]/.test(text[i - 1] || " "))) {
				hidden = depth;
				out += "…";
			}
			depth -= isClose;
			i += part.length;
		}
		return out;
	}

	let text = name;
	if (text.length > room && /::|\(/.test(text)) {
		text = text.replaceAll("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")
			.replaceAll("std::__cxx11::", "std::").replaceAll(/(?<!operator)> (?=>)/g, ">");
		for (const open of "<(")
			text = text.length > room ? hollow(text, open) : text;
	}
	if (text.length <= room || text.includes(" ← ") || room < 6)
		return text;
	const start = Math.floor((room - 1) / 3);
	return text.slice(0, start) + "…" + text.slice(text.length - (room - 1 - start));
};
