// SPDX-License-Identifier: MIT
//
// channels.js - pipes, sockets and queues: how full, how fast, and their last messages.
"use strict";

hotpath.views.push({
	key: "channels",
	title: "Channels",
	open(element) {
		const { make, say, time, bytes, count } = hotpath;
		const asked = new WeakMap();
		const table = hotpath.table(element, {
			caption: "Channels", sort: "sent_count", detail,
			columns: [
				{ key: "label", title: "Channel", unit: "name" },
				{ key: "type_name", title: "Kind", unit: "text" },
				{ key: "state", title: "State", unit: "text" },
				{ key: "sent_count", title: "Sent", unit: "count" },
				{ key: "sent_per_sec", title: "Rate", unit: "rate" },
				{ key: "received_count", title: "Received", unit: "count" },
				{ key: "queue_size", title: "Queue", unit: "count", about: "now" },
				{ key: "max_queue_size", title: "At most", unit: "count", about: "in the queue" },
				{ key: "fill", title: "Fullest", unit: "share", isBar: true, most: 100, about: "of its capacity",
					value: (row) => (row.capacity && row.max_queue_size !== null ? 100 * row.max_queue_size / row.capacity : null) },
				{ key: "blocked_ns", title: "Full", unit: "time", about: "senders waited for room" },
				{ key: "starved_ns", title: "Empty", unit: "time", about: "receivers waited for a message" },
				{ key: "delay_avg_ns", title: "Delay", unit: "time", about: "from sending to receiving, mean" },
			],
		});

		// A message of the saved list, as one of the server's log.
		const fromRaw = (log) => ({
			index: log.msg_id, timestamp: time(log.timestamp_ns), message: log.message ?? log.text ?? null,
			thread_id: log.tid, size: log.size, delay: log.delay_ns ? time(log.delay_ns) : null,
		});

		function paint(place, row, log) {
			place.textContent = "";
			make("p", place, { class: "dim" }, [hotpath.place(row.location), row.channel_type,
				row.capacity ? `room for ${count(row.capacity)}` : "",
				row.sent_bytes !== undefined ? `${bytes(row.sent_bytes)} sent, ${bytes(row.received_bytes)} received` : "",
				row.blocked_count ? `full ${count(row.blocked_count)} times, at most ${time(row.blocked_max_ns)}` : "",
				row.starved_count ? `empty ${count(row.starved_count)} times, at most ${time(row.starved_max_ns)}` : "",
				row.delay_max_ns ? `slowest message ${time(row.delay_max_ns)}` : ""].filter(Boolean).join(" · "));
			const pair = make("div", place, { class: "pair" });
			for (const [title, list] of [["Sent, newest first", log.sent], ["Received, newest first", log.received]])
				if (list.length)
					hotpath.functions.logTable(pair, title, [["Nr", (one) => count(one.index), true],
						["At", (one) => one.timestamp, true], ["Thread", (one) => String(one.thread_id)],
						...(list.some((one) => one.size) ? [["Size", (one) => bytes(one.size), true]] : []),
						...(list.some((one) => one.delay) ? [["Delay", (one) => one.delay || "on its way", true]] : []),
						...(list.some((one) => one.message) ? [["Message", (one) => one.message || ""]] : [])], list);
			if (!log.sent.length && !log.received.length)
				make("p", place, {}, "No message was timed.");
		}

		async function logOf(row) {
			const raw = { sent: (row.sent_logs || []).map(fromRaw), received: (row.received_logs || []).map(fromRaw) };
			if (hotpath.source.isSaved)
				return raw;
			const log = await hotpath.source.ask(`channels/${row.id}/logs`);
			return { sent: log.sent_logs || raw.sent, received: log.received_logs || raw.received };
		}

		function detail(row, place) {
			const turn = (asked.get(place) || 0) + 1;
			asked.set(place, turn);
			if (!place.firstChild)
				make("p", place, { class: "dim" }, "…");
			logOf(row).then((log) => {
				if (asked.get(place) === turn)
					paint(place, row, log);
			}, (error) => say(place, `No log: ${error.message}`));
		}

		return {
			paths: () => ["channels"],
			update([list]) {
				table.update((list.raw || []).map((row, i) => ({ ...row, location: list.data?.[i]?.location })), list.message);
			},
		};
	},
});
