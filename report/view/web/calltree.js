// SPDX-License-Identifier: MIT
//
// calltree.js - the call tree as a flame graph that goes on: flame.js draws it.
"use strict";

hotpath.views.push({
	key: "calltree",
	title: "Call tree",
	every: 2,	// it may be large: each second time figures are asked for
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
					"Nothing was recorded that could be drawn: no instrumented function, no sample, no allocation.");
				if (has && flame)
					flame.update(data);
				else if (has)
					flame = hotpathFlame(place, data);
			},
		};
	},
});
