// SPDX-License-Identifier: MIT
//
// async.js - what waits for events and work: event loops, pools, futures, streams; and values.
"use strict";

hotpath.views.push({
	key: "async",
	title: "Async",
	open(element) {
		const mean = (sum, number) => (number ? sum / number : null);
		const known = (value) => value ?? null;
		const name = (key, title) => ({ key, title, unit: "name" });
		const text = (key, title, about) => ({ key, title, unit: "text", about });
		const count = (key, title, about) => ({ key, title, unit: "count", about });
		const time = (key, title, about, value) => ({ key, title, unit: "time", about, value });

		const loops = hotpath.table(element, {
			caption: "Event loops", sort: "busy_ns",
			columns: [
				name("label", "Loop"), text("kind", "Kind"), text("state", "State"), count("waits", "Waits"),
				count("events", "Events"), count("woken_remote", "Woken", "by other threads"),
				time("wait_ns", "Waited"), time("busy_ns", "Busy"),
				{ key: "busy_percent", title: "% Busy", unit: "percent", isBar: true, most: 100 },
				time("busy_avg_ns", "Mean", "of the busy spans"), time("busy_max_ns", "Longest"),
				time("timeouts_late_max_ns", "Late", "the most that a timeout was late"),
			],
		});
		const spans = hotpath.table(element, {
			caption: "Longest busy spans", sort: "duration_ns", id: (row) => `${row.loop} ${row.timestamp_ns}`,
			columns: [
				name("loop", "Loop"), time("timestamp_ns", "At"), time("duration_ns", "Took"),
				count("events", "Events", "of the wait before"),
				{ key: "what", title: "What ran", unit: "text", isName: true }, text("known_by", "Known by"),
			],
		});
		const pools = hotpath.table(element, {
			caption: "Pools", sort: "busy_ns",
			columns: [
				name("label", "Pool"), count("workers", "Workers"), count("waiting", "Waiting", "now"),
				count("waits", "Waits"), count("signals", "Signals"), time("idle_ns", "Idle"), time("busy_ns", "Busy"),
				{ key: "busy_percent", title: "% Busy", unit: "percent", isBar: true, most: 100 },
			],
		});
		const futures = hotpath.table(element, {
			caption: "Futures", sort: "call_count",
			columns: [
				name("label", "Future"), text("kind", "Kind"), count("call_count", "Calls"), count("total_polls", "Polls"),
				count("ready_count", "Ready"), count("cancelled_count", "Cancelled"), count("open_count", "Open", "now"),
				time("poll", "Poll", "mean of those timed", (row) => mean(row.total_poll_duration_ns, row.sampled_polls)),
				time("took", "Took", "from its start to its end, mean", (row) => mean(row.total_duration_ns, row.timed_calls)),
				time("queued", "Queued", "before its first poll, mean", (row) => mean(row.total_queued_ns, row.queued_calls)),
			],
		});
		const streams = hotpath.table(element, {
			caption: "Streams", sort: "items_yielded",
			columns: [
				name("label", "Stream"), text("type_name", "Kind"), text("state", "State"), count("instances", "Opened"),
				count("items_yielded", "Items"), { key: "bytes", title: "Bytes", unit: "bytes" },
				{ key: "items_per_sec", title: "Rate", unit: "rate", value: (row) => known(row.items_per_sec) },
				time("gap_avg_ns", "Gap", "between items, mean"),
			],
		});
		const values = hotpath.table(element, {
			caption: "Values", sort: "count", id: (row) => `${row.entry_type} ${row.id}`,
			columns: [
				name("expression", "Value"), text("entry_type", "Kind"), text("last_value", "Last"),
				text("min", "Least"), text("max", "Most"), count("count", "Changes"), text("source", "Source"),
			],
		});

		const longest = (rows) => rows.flatMap((row) =>
			(row.longest_spans || []).map((span) => ({ loop: row.label, ...span })));

		return {
			paths: () => ["tokio_runtime", "pools", "futures", "streams", "debug"],
			update([loop, pool, future, stream, value]) {
				loops.update(loop.raw || [], loop.message);
				spans.update(longest(loop.raw || []), loop.message);
				pools.update(pool.raw || [], pool.message);
				futures.update(future.raw || [], future.message);
				streams.update(stream.raw || [], stream.message);
				values.update(value.raw || [], value.message);
			},
		};
	},
});
