// SPDX-License-Identifier: MIT
//
// calltree.js - the call tree as a live flame graph, drawn by flame.js.
"use strict";

hotpath.views.push({
	key: "calltree",
	title: "Call tree",
	every: 2,	// it may be large: fetched at every second refresh
	open(element) {
		const { make, say } = hotpath;
		const card = make("section", element, { class: "card" });
		const empty = make("p", card, { class: "dim" });
		const place = make("div", card);
		let flame = null;

		return {
			paths: () => ["flame"],
			update([data]) {
				const has = Boolean(data.graphs && data.graphs.length);
				empty.hidden = has;
				say(empty, has ? "" : data.message ||
					"There is nothing to draw: no instrumented function, no sample, no allocation.");
				if (has && flame)
					flame.update(data);
				else if (has)
					flame = hotpathFlame(place, data);
			},
		};
	},
});
