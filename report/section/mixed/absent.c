/* SPDX-License-Identifier: MIT */
/*
 * absent.c - sections that are known by name, but not filled yet.
 *
 * The Rust crate has them: a request for one reports that it is not recorded,
 * and clients get a list without rows in the format that they know.
 */
#include "report/section/core/section.h"

const struct hp_section hp_sql_section = {
	.key = "sql",
	.json = "sql",
	.name = "sql",
	.help = "queries",
	.subject = HP_SUBJECT_MIXED,
	.absent = &(const struct hp_absent){ .rows = "data",
					     .has_percentiles = true,
					     .zeros = { "total_ns", "total_calls" } },
	.has_own_ids = true,
	.tool = { .help = "Queries by time." },
};

const struct hp_section hp_http_section = {
	.key = "http",
	.json = "http",
	.name = "http",
	.help = "requests that the program makes",
	.subject = HP_SUBJECT_MIXED,
	.absent = &(const struct hp_absent){ .rows = "data",
					     .has_percentiles = true,
					     .zeros = { "total_ns", "total_calls" } },
	.has_own_ids = true,
	.tool = { .help = "HTTP requests that the program makes, by time." },
};

const struct hp_section hp_server_section = {
	.key = "server",
	.json = "server",
	.name = "server",
	.help = "requests that the program serves",
	.subject = HP_SUBJECT_MIXED,
	.absent = &(const struct hp_absent){ .rows = "data",
					     .has_percentiles = true,
					     .zeros = { "total_ns", "total_calls",
							"total_alloc_bytes" } },
	.has_own_ids = true,
	.tool = { .help = "HTTP requests that the program serves, by time." },
};

const struct hp_section hp_io_section = {
	.key = "io",
	.json = "io",
	.name = "io",
	.help = "reads and writes",
	.subject = HP_SUBJECT_MIXED,
	.absent = &(const struct hp_absent){ .rows = "data", .has_percentiles = true },
	.has_own_ids = true,
	.tool = { .help = "Reads and writes by file or socket." },
};
