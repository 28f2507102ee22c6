// SPDX-License-Identifier: MIT
//
// table.js - a live table: sorted by any column, filtered, rows that open.
//
//   hotpath.table(parent, {
//     caption, a description, also for screen readers
//     columns: [{ key, title, unit, about, value(row), mark(row), isBar, most, isName,
//                paint(element, row) }],     `most` is the full bar, by default the largest value;
//                                            `isName`: a text that is shortened like names
//     sort,                    key of the column; numbers largest first
//     id(row), its identity across refreshes
//     detail(row, element), fills the panel below a row; called again at each refresh
//     empty }) message if there are none
//   returns { update(rows, message) }
//
// Rows keep their elements across refreshes, so focus and selection are kept.
"use strict";

hotpath.table = (parent, options) => {
	const { make, say, units } = hotpath;
	const ROWS_FIRST = 50, LETTER_PX = 7.4;
	const columns = options.columns;
	let rows = [], elements = new Map(), opened = null, most = ROWS_FIRST, text = "";
	let sort = { key: options.sort, isUp: false };

	const valueOf = (column, row) => (column.value ? column.value(row) : row[column.key]);
	const nameOf = (row) => String(valueOf(columns[0], row));
	const idOf = (row) => String(options.id ? options.id(row) : row.id ?? nameOf(row));

	const classOf = (column, index) => (units[column.unit].isNumber ? "number" :
		column.unit === "name" || !index ? "name" : "text");

	// Letters that a column has room for: the first one gets the remaining width.
	function roomOf(column, index) {
		const wide = index ? Math.min(280, Math.max(126, 0.17 * window.innerWidth)) :
			headings.cells[0].clientWidth - (options.detail ? 28 : 12);
		const isName = !index || column.unit === "name" || column.isName;
		return isName && headings.cells[0].clientWidth ? Math.max(8, Math.floor(wide / LETTER_PX)) : Infinity;
	}

	// --- kept elements ---

	const box = make("section", parent, { class: "card" });
	const head = make("div", box, { class: "card-head" });
	const title = make("h2", head, {}, options.caption);
	const note = make("span", head, { class: "dim", role: "status" });
	const label = make("label", head, { class: "filter" });
	make("span", label, { class: "unseen" }, `Filter: ${options.caption}`);
	const input = make("input", label, { type: "search", placeholder: "filter: part of a name", spellcheck: "false" });
	const about = make("p", box, { class: "dim about" });
	const scroll = make("div", box, { class: "scroll", role: "region", tabindex: "0", "aria-label": options.caption });
	const table = make("table", scroll);
	make("caption", table, { class: "unseen" }, options.caption);
	const headings = make("tr", make("thead", table));
	const body = make("tbody", table);
	const more = make("button", box, { type: "button", class: "more", hidden: true });

	const buttons = columns.map((column, index) => {
		const cell = make("th", headings, { scope: "col", class: classOf(column, index) });
		const button = make("button", cell, { type: "button", title: column.about });
		make("span", button, { class: "arrow", "aria-hidden": "true" });
		make("span", button, {}, column.title);
		button.addEventListener("click", () => sortBy(index));
		return button;
	});

	// --- order ---

	function sortBy(index) {
		const column = columns[index], isNumber = units[column.unit].isNumber;
		sort = { key: column.key, isUp: sort.key === column.key ? !sort.isUp : !isNumber };
		paint();
		hotpath.announce(`sorted by ${column.title}, ${sort.isUp ? "upwards" : "downwards"}`);
	}

	function ordered(list) {
		const column = columns.find((one) => one.key === sort.key) || columns[0];
		const isNumber = units[column.unit].isNumber, sign = sort.isUp ? 1 : -1;
		const keyed = list.map((row) => [valueOf(column, row), row]);
		keyed.sort(([a], [b]) => {
			if (isNumber)
				return sign * ((a ?? -Infinity) - (b ?? -Infinity) || 0);
			return sign * String(a ?? "").localeCompare(String(b ?? ""));
		});
		return keyed.map(([, row]) => row);
	}

	// --- rows ---

	function lineOf(id, row) {
		const line = make("tr", null, { "data-id": id });
		const cells = columns.map((column, index) => {
			const cell = make(index ? "td" : "th", line, {
				class: classOf(column, index),
				scope: index ? false : "row",
			});
			if (column.isBar)
				make("span", make("span", cell, { class: "bar", "aria-hidden": "true" }));
			const inside = !index && options.detail ?
				make("button", cell, { type: "button", class: "open", "aria-expanded": "false" }) :
				make("span", cell);
			if (!index && options.detail)
				inside.addEventListener("click", () => toggle(id));
			return inside;
		});
		return { line, cells, detail: null };
	}

	function fill(element, row, largest, rooms) {
		columns.forEach((column, index) => {
			const value = valueOf(column, row), cell = element.cells[index];
			const mark = column.mark ? column.mark(row) : "";
			if (column.paint) {
				column.paint(cell, row);
				return;
			}
			const said = units[column.unit].text(value);
			say(cell, (value === null || value === undefined ? "" : mark) + hotpathFlame.brief(said, rooms[index]));
			if (!units[column.unit].isNumber)
				cell.title = String(value ?? "");
			if (column.isBar)
				cell.parentNode.querySelector(".bar > span").style.width =
					`${largest[index] > 0 ? Math.min(100, 100 * (value || 0) / largest[index]) : 0}%`;
		});
	}

	function toggle(id) {
		opened = opened === id ? null : id;
		paint();
	}

	// The panel below a row; one at a time.
	function detailOf(element, id, row) {
		const isOpen = opened === id;
		if (options.detail)
			element.cells[0].setAttribute("aria-expanded", String(isOpen));
		if (!isOpen) {
			element.detail?.remove();
			element.detail = null;
			return null;
		}
		if (!element.detail) {
			element.detail = make("tr", null, { class: "detail" });
			make("div", make("td", element.detail, { colspan: columns.length }), { class: "inside" });
		}
		options.detail(row, element.detail.firstChild.firstChild);
		return element.detail;
	}

	// Moves a row to its place, if necessary.
	function place(element, before) {
		const at = before ? before.nextSibling : body.firstChild;
		if (at !== element) {
			const focused = element.contains(document.activeElement) ? document.activeElement : null;
			body.insertBefore(element, at);
			if (focused)
				focused.focus({ preventScroll: true });
		}
		return element;
	}

	function paint() {
		const wanted = text.toLowerCase();
		const found = rows.filter((row) => !wanted || nameOf(row).toLowerCase().includes(wanted));
		const shown = ordered(found).slice(0, most);
		const largest = columns.map((column) =>
			column.isBar ? column.most || Math.max(0, ...rows.map((row) => valueOf(column, row) || 0)) : 0);
		const rooms = columns.map(roomOf);
		const kept = new Map();
		let before = null;

		for (const row of shown) {
			let id = idOf(row);
			while (kept.has(id))
				id += "'";
			const element = elements.get(id) || lineOf(id, row);
			kept.set(id, element);
			fill(element, row, largest, rooms);
			before = place(element.line, before);
			const detail = detailOf(element, id, row);
			if (detail)
				before = place(detail, before);
		}
		while (before ? before.nextSibling : body.firstChild)
			(before ? before.nextSibling : body.firstChild).remove();
		elements = kept;
		columns.forEach((column, index) => {
			const is = column.key === sort.key;
			buttons[index].parentNode.setAttribute("aria-sort", !is ? "none" : sort.isUp ? "ascending" : "descending");
			say(buttons[index].firstChild, is ? (sort.isUp ? "▲" : "▼") : "");
		});
		say(note, !rows.length ? "" : wanted ? `${found.length} of ${rows.length}` : `${rows.length}`);
		more.hidden = found.length <= most;
		say(more, `Show ${Math.min(found.length - most, 200)} more of ${found.length - most}`);
	}

	input.addEventListener("input", () => {
		text = input.value;
		most = ROWS_FIRST;
		paint();
	});
	more.addEventListener("click", () => {
		most += 200;
		paint();
	});

	// The width for names then changes.
	let wide = 0;
	new ResizeObserver(() => {
		if (wide !== scroll.clientWidth && rows.length)
			paint();
		wide = scroll.clientWidth;
		scroll.style.setProperty("--wide", `${wide}px`);
	}).observe(scroll);

	return {
		element: box,
		// Fresh rows; `message` is the reason for no rows, or a remark.
		update(fresh, message) {
			rows = fresh || [];
			scroll.hidden = label.hidden = !rows.length;
			say(about, message || (rows.length ? "" : options.empty || "Nothing was recorded."));
			about.hidden = !about.textContent;
			paint();
		},
		open(id) {
			opened = String(id);
			paint();
		},
		title,
	};
};
