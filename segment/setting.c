/* SPDX-License-Identifier: MIT */
/*
 * setting.c - the table of HOTPATH_* variables, and how a value is checked.
 *
 * A new variable is a line here and a field in struct hp_settings.
 */
#include "segment/setting.h"

#include <string.h>

#include "segment/layout.h"

#define AT(field) offsetof(struct hp_settings, field)
#define KIB UINT64_C(1024)

const struct hp_setting hp_setting_table[] = {
	{ "HOTPATH_REPORT", HP_SETTING_TEXT, AT(report), "auto",
	  "auto, all, a list of sections, or auto,-section", 0, 0,
	  "sections to record and to report" },
	{ "HOTPATH_OUTPUT_FORMAT", HP_SETTING_CHOICE, AT(format), "table",
	  "table|json|json-pretty|none", 0, 0, "how the report is printed" },
	{ "HOTPATH_OUTPUT_PATH", HP_SETTING_TEXT, AT(output_path), NULL, "a path", 0, 0,
	  "file for the report, instead of stderr" },
	{ "HOTPATH_REPORT_LABEL", HP_SETTING_TEXT, AT(label), NULL, "any text", 0, 0,
	  "printed in the report's first line" },
	{ "HOTPATH_USER_METADATA", HP_SETTING_PAIRS, AT(user_metadata), NULL,
	  "key=value pairs with commas between them", 0, 0, "told in JSON, kept with the run" },
	{ "HOTPATH_PERCENTILES", HP_SETTING_PERCENTILES, AT(percentiles), "95",
	  "up to 16 numbers from 0 to 100, as in 50,95,99.9", 0, 0, "percentile columns" },
	{ "HOTPATH_FOCUS", HP_SETTING_TEXT, AT(focus), NULL, "a part of the name, or /regex/", 0, 0,
	  "show only these functions" },
	{ "HOTPATH_SORT", HP_SETTING_CHOICE, AT(sort), "total", "total|self|calls|name", 0, 0,
	  "order of the functions" },
	{ "HOTPATH_LIMIT", HP_SETTING_COUNT, AT(limit), NULL, "a number, 0 = all", 0, UINT32_MAX,
	  "rows of each section" },
	{ "HOTPATH_FUNCTIONS_LIMIT", HP_SETTING_COUNT, AT(functions_limit), NULL,
	  "a number, 0 = all", 0, UINT32_MAX, "rows of functions (15)" },
	{ "HOTPATH_THREADS_LIMIT", HP_SETTING_COUNT, AT(threads_limit), NULL, "a number, 0 = all",
	  0, UINT32_MAX, "rows of threads (5)" },
	{ "HOTPATH_FUNCTIONS_NAME_DEPTH", HP_SETTING_COUNT, AT(name_depth), "2",
	  "a number, 0 = all", 0, 1000, "last parts of a::b::c that are shown" },
	{ "HOTPATH_TIME_EXCLUSIVE", HP_SETTING_BOOL, AT(is_exclusive), "0", "1, true, 0 or false",
	  0, 0, "times without instrumented callees" },
	{ "HOTPATH_EXCLUDE_WRAPPER", HP_SETTING_BOOL, AT(exclude_wrapper), "0",
	  "1, true, 0 or false", 0, 0, "leave the program's main out" },
	{ "HOTPATH_COLOR", HP_SETTING_CHOICE, AT(color), "auto", "auto|always|never", 0, 0,
	  "colour of tables; auto: on a terminal" },
	{ "HOTPATH_TIMING", HP_SETTING_CHOICE, AT(timing), "adaptive", "adaptive|exact", 0, 0,
	  "time hot, short functions at random, or every call" },
	{ "HOTPATH_ALLOC_METRIC", HP_SETTING_CHOICE, AT(alloc_metric), "bytes",
	  "bytes|count|bytes-max|count-max", 0, 0,
	  "what the tables of allocations show and are sorted by; -max: highest net of a call" },
	{ "HOTPATH_ALLOC_CUMULATIVE", HP_SETTING_BOOL, AT(alloc_cumulative), "0",
	  "1, true, 0 or false", 0, 0, "allocations with those of callees" },
	{ "HOTPATH_ALLOC_LIMIT", HP_SETTING_COUNT, AT(alloc_limit), NULL, "a number, 0 = all", 0,
	  UINT32_MAX, "rows of call paths (10)" },
	{ "HOTPATH_ALLOC_WRAPPERS", HP_SETTING_TEXT, AT(alloc_wrappers), NULL,
	  "names separated by commas; * is any text", 0, 0,
	  "functions that allocate for their callers, as xmalloc does" },
	{ "HOTPATH_ALLOC_DEPTH", HP_SETTING_COUNT, AT(alloc_depth), "256", "0 to 1024", 0, 1024,
	  "frames of an allocation's call path; 0 = its caller only" },
	{ "HOTPATH_ALLOC_PROVE", HP_SETTING_BOOL, AT(alloc_prove), "0", "1, true, 0 or false", 0, 0,
	  "find each allocation's callers twice and compare; slow, for tests" },
	{ "HOTPATH_LOGS_LIMIT", HP_SETTING_COUNT, AT(logs_limit), "50", "0 to 4096", 0,
	  HP_LOGS_MOST, "last calls kept for each function" },
	{ "HOTPATH_CHANNELS_LIMIT", HP_SETTING_COUNT, AT(channels_limit), NULL, "a number, 0 = all",
	  0, UINT32_MAX, "rows of channels (15)" },
	{ "HOTPATH_CHANNELS_ITER", HP_SETTING_BOOL, AT(channels_iter), "0", "1, true, 0 or false",
	  0, 0, "a row for each pipe or queue, not for each place that makes some" },
	{ "HOTPATH_LOG_PAYLOAD", HP_SETTING_BOOL, AT(log_payload), "0", "1, true, 0 or false", 0, 0,
	  "keep the text of the last messages of channels" },
	{ "HOTPATH_MAX_LOG_LEN", HP_SETTING_COUNT, AT(log_length), "1536", "1 to 65536", 1, 65536,
	  "bytes of each of them" },
	{ "HOTPATH_THREADS_INTERVAL_MS", HP_SETTING_COUNT, AT(threads_interval_ms), "250",
	  "10 to 3600000", 10, 3600000, "time between two looks at the threads" },
	{ "HOTPATH_CPU", HP_SETTING_CHOICE, AT(cpu), "auto", "auto|perf|timer|samply|off", 0, 0,
	  "who takes samples of the CPU" },
	{ "HOTPATH_CPU_HZ", HP_SETTING_COUNT, AT(cpu_hz), NULL, "1 to 20000", 1, 20000,
	  "samples for each second of CPU time (999; 249 where none were asked for)" },
	{ "HOTPATH_CPU_INCLUSIVE", HP_SETTING_BOOL, AT(cpu_is_inclusive), "0",
	  "1, true, 0 or false", 0, 0, "a sample counts for all functions on the stack" },
	{ "HOTPATH_PROFILE_DIR", HP_SETTING_TEXT, AT(profile_dir), NULL, "a folder, or off", 0, 0,
	  "write each run's profile there, as PID-NS/hp.json.gz, for profiler.firefox.com" },
	{ "HOTPATH_SAMPLY_BIN", HP_SETTING_TEXT, AT(samply), NULL, "a path", 0, 0,
	  "samply for HOTPATH_CPU=samply, instead of the one in PATH" },
	{ "HOTPATH_SAMPLY_WRAPPER_BIN", HP_SETTING_TEXT, AT(samply_wrapper), NULL, "a path", 0, 0,
	  "what starts it, instead of hotpath-samply" },
	{ "HOTPATH_DISABLE_SAMPLY_LOAD", HP_SETTING_BOOL, AT(disable_samply_load), "0",
	  "1, true, 0 or false", 0, 0,
	  "no line below the samples that says how to see samply's profile" },
	{ "HOTPATH_UNWIND", HP_SETTING_CHOICE, AT(unwind), "auto", "auto|cfi|fp", 0, 0,
	  "how callers are found: call frame information, frame pointers" },
	{ "HOTPATH_ONLY", HP_SETTING_TEXT, AT(only), NULL, "a process name", 0, 0,
	  "record only processes of this name" },
	{ "HOTPATH_NO_FOLLOW", HP_SETTING_BOOL, AT(no_follow), "0", "1, true, 0 or false", 0, 0,
	  "do not record child processes" },
	{ "HOTPATH_SEGMENT_SIZE", HP_SETTING_SIZE, AT(segment_size), "1G",
	  "1M to 64G, with K, M or G", HP_SIZE_LEAST, HP_SIZE_MOST,
	  "upper limit of what is recorded, sparse" },
	{ "HOTPATH_SEGMENT_PATH", HP_SETTING_TEXT, AT(segment_path), NULL, "a path, %p = pid", 0, 0,
	  "keep the record in a file, for `hotpath report FILE`" },
	{ "HOTPATH_KEEP", HP_SETTING_COUNT, AT(keep), "20", "0 to 10000; 0 = none", 0, 10000,
	  "runs that stay in ~/.local/state/hotpath, for `hotpath list` and `hotpath report`" },
	{ "HOTPATH_EXIT_WAIT_MS", HP_SETTING_COUNT, AT(exit_wait_ms), "5000", "milliseconds", 0,
	  3600000, "how long the program's exit waits for the report, at most" },
	{ "HOTPATH_SHUTDOWN_MS", HP_SETTING_COUNT, AT(shutdown_ms), "0", "milliseconds, 0 = never",
	  0, UINT64_C(31536000000), "end the program after this time, and report" },
	{ "HOTPATH_METRICS_PORT", HP_SETTING_COUNT, AT(metrics_port), "6770",
	  "0 to 65535; 0 = a free one, which is printed", 0, 65535,
	  "port of the running program's figures over HTTP" },
	{ "HOTPATH_METRICS_BIND", HP_SETTING_TEXT, AT(metrics_bind), "127.0.0.1",
	  "an address as numbers; beyond the machine itself a token is needed", 0, 0,
	  "address of that port" },
	{ "HOTPATH_METRICS_SERVER_OFF", HP_SETTING_BOOL, AT(metrics_off), "0",
	  "1, true, 0 or false", 0, 0, "no port at all for the running program's figures" },
	{ "HOTPATH_METRICS_AUTH_TOKEN", HP_SETTING_TEXT, AT(metrics_token), NULL,
	  "printable ASCII without blanks", 0, 0, "what Authorization must say to be answered" },
	{ "HOTPATH_MCP_PORT", HP_SETTING_COUNT, AT(mcp_port), "6771",
	  "0 to 65535; 0 = a free one, which is printed", 0, 65535, "port of the MCP server" },
	{ "HOTPATH_MCP_AUTH_TOKEN", HP_SETTING_TEXT, AT(mcp_token), NULL,
	  "printable ASCII without blanks", 0, 0, "the same token for the MCP server" },
	{ "HOTPATH_PROMETHEUS_PORT", HP_SETTING_COUNT, AT(prometheus_port), "6772",
	  "0 to 65535; 0 = a free one, which is printed", 0, 65535,
	  "port that Prometheus scrapes, /metrics" },
	{ "HOTPATH_PROMETHEUS_HOST", HP_SETTING_TEXT, AT(prometheus_bind), "127.0.0.1",
	  "an address as numbers; beyond the machine itself a token is needed", 0, 0,
	  "address of that port" },
	{ "HOTPATH_PROMETHEUS_AUTH_TOKEN", HP_SETTING_TEXT, AT(prometheus_token), NULL,
	  "printable ASCII without blanks", 0, 0, "the same token for Prometheus" },
	{ "HOTPATH_PROMETHEUS_FAST_BUCKETS", HP_SETTING_TEXT, AT(fast_buckets), NULL,
	  "ascending seconds, as in 0.001,0.01,0.1", 0, 0,
	  "bounds of the histograms of functions and locks" },
	{ "HOTPATH_PROMETHEUS_SLOW_BUCKETS", HP_SETTING_TEXT, AT(slow_buckets), NULL,
	  "ascending seconds, as in 0.001,0.01,0.1", 0, 0, "bounds of the histograms of requests" },
	{ "HOTPATH_API", HP_SETTING_CHOICE, AT(api), "0.30", "0.30|0.18", 0, 0,
	  "the version of the Rust crate whose JSON the server speaks" },
	{ "HOTPATH_ENTRIES_LIMIT", HP_SETTING_COUNT, AT(entries_limit), "1000", "1 to 100000", 1,
	  100000, "rows of a list over HTTP" },
	{ "HOTPATH_METRICS_HOST", HP_SETTING_TEXT, AT(metrics_host), NULL,
	  "http://HOST or https://HOST, without a port", 0, 0,
	  "whom `hotpath console` asks over HTTP, at HOTPATH_METRICS_PORT" },
	{ "HOTPATH_TUI_REFRESH_INTERVAL_MS", HP_SETTING_COUNT, AT(tui_interval_ms), "1000",
	  "100 to 60000", 100, 60000, "time between two pictures of `hotpath console`" },
	{ "HOTPATH_TUI_TAB", HP_SETTING_COUNT, AT(tui_tab), "1", "1 to 8", 1, 8,
	  "first tab of `hotpath console`" },
	{ "HOTPATH_TUI_AUTO_EXPAND_LOGS", HP_SETTING_COUNT, AT(tui_logs), NULL,
	  "a row, 0 = the first", 0, UINT32_MAX,
	  "`hotpath console` begins with the log of this row open" },
	{ "HOTPATH_DISABLE_HINTS", HP_SETTING_BOOL, AT(disable_hints), "0", "1, true, 0 or false",
	  0, 0, "no line below the report that says what to ask next" },
	{ "HOTPATH_LIB", HP_SETTING_TEXT, AT(library), NULL, "a path", 0, 0,
	  "libhotpath.so for `hotpath run`, instead of the one beside it" },
	{ "HOTPATH_BIN", HP_SETTING_TEXT, AT(helpers), NULL, "a folder", 0, 0,
	  "where hotpath and hotpath-sampler lie, if not beside the library" },
	{ "HOTPATH_VERBOSE", HP_SETTING_BOOL, AT(is_verbose), "0", "1, true, 0 or false", 0, 0,
	  "say what is set, hooked and lost" },
};

const size_t hp_setting_count = sizeof(hp_setting_table) / sizeof(hp_setting_table[0]);
static_assert(sizeof(hp_setting_table) / sizeof(hp_setting_table[0]) <= 64, "a bit each");

/* A line that is cut rather than too long; cheap on the target's stack. */
struct line {
	size_t length;
	char text[200];
};

static void line_add(struct line *line, const char *text, size_t most)
{
	for (size_t i = 0; text[i] && i < most && line->length + 1 < sizeof(line->text); i++) {
		unsigned char c = (unsigned char)text[i];

		line->text[line->length++] = c < ' ' || c == 127 ? '?' : (char)c;
	}
	line->text[line->length] = 0;
}

struct reader {
	struct hp_settings *out;
	hp_complain complain;
	void *context;
};

/* One line: variable, value, what is allowed, what is used instead. */
static void refuse(const struct reader *r, const struct hp_setting *s, const char *value,
		   size_t length)
{
	struct line line = { .length = 0 };

	if (!r->complain)
		return;
	line_add(&line, s->name, SIZE_MAX);
	line_add(&line, ": '", SIZE_MAX);
	line_add(&line, value, length < 40 ? length : 40);
	line_add(&line, length > 40 ? "...' is not allowed; " : "' is not allowed; ", SIZE_MAX);
	line_add(&line, s->allowed, SIZE_MAX);
	if (s->kind == HP_SETTING_PERCENTILES || s->kind == HP_SETTING_PAIRS) {
		line_add(&line, "; the rest is used", SIZE_MAX);
	} else if (s->usual) {
		line_add(&line, "; default: ", SIZE_MAX);
		line_add(&line, s->usual, SIZE_MAX);
	}
	r->complain(r->context, line.text);
}

static bool is_same_word(const char *a, size_t length, const char *word)
{
	size_t i = 0;

	for (; i < length && word[i]; i++) {
		char c = a[i] >= 'A' && a[i] <= 'Z' ? (char)(a[i] + 32) : a[i];

		if (c != word[i])
			return false;
	}
	return i == length && !word[i];
}

/* Digits up to `end`; false if there is anything else or too much. */
static bool read_count(const char *text, const char *end, uint64_t *count)
{
	uint64_t n = 0;

	if (text == end)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9' || n > UINT64_MAX / 10 - 1)
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*count = n;
	return true;
}

static bool read_choice(const struct hp_setting *s, const char *value, void *place)
{
	const char *word = s->allowed;
	uint32_t number = 0;

	for (;; number++) {
		size_t length = strcspn(word, "|");

		if (strlen(value) == length && memcmp(value, word, length) == 0) {
			memcpy(place, &number, sizeof(number));
			return true;
		}
		if (!word[length])
			return false;
		word += length + 1;
	}
}

static bool read_bool(const char *value, void *place)
{
	static const char *const words[] = { "0", "1", "false", "true", "" };
	size_t length = strlen(value);

	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t is_on = i & 1;

		if (!is_same_word(value, length, words[i]))
			continue;
		memcpy(place, &is_on, sizeof(is_on));
		return true;
	}
	return false;
}

static bool read_number(const struct hp_setting *s, const char *value, void *place)
{
	const char *end = value + strlen(value);
	unsigned shift = 0;
	uint64_t n;

	if (s->kind == HP_SETTING_SIZE && end > value) {
		const char *units = "KMGkmg";
		const char *unit = strchr(units, end[-1]);

		if (unit) {
			shift = 10 * (unsigned)((unit - units) % 3 + 1);
			end--;
		}
	}
	if (!read_count(value, end, &n) || n > (UINT64_MAX >> shift))
		return false;
	n <<= shift;
	if (n < s->least || n > s->most)
		return false;
	memcpy(place, &n, sizeof(n));
	return true;
}

/* 99, 99.9, .5: not strtod, whose decimal point is the locale's. */
static bool read_percentile(const char *text, size_t length, double *percentile)
{
	const char *end = text + length;
	const char *dot = memchr(text, '.', length);
	const char *whole_end = dot ? dot : end;
	uint64_t whole = 0, part = 0;
	double scale = 1;

	if (length == 0 || (dot && length == 1))
		return false;
	if (whole_end > text && !read_count(text, whole_end, &whole))
		return false;
	if (dot && dot + 1 < end && (end - dot > 10 || !read_count(dot + 1, end, &part)))
		return false;
	for (const char *p = whole_end + 1; p < end; p++)
		scale *= 10;
	*percentile = (double)whole + (double)part / scale;
	return *percentile <= 100;
}

static bool percentile_add(struct hp_percentiles *list, double percentile)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->at[i] >= percentile && list->at[i] <= percentile)
			return true;
	if (list->count == HP_PERCENTILES_MOST)
		return false;
	list->at[list->count++] = percentile;
	return true;
}

/* A bad entry is told, the rest used; the default if there is no rest. */
static bool read_percentiles(const struct reader *r, const struct hp_setting *s, const char *value,
			     struct hp_percentiles *place)
{
	struct hp_percentiles list = { .count = 0 };
	bool is_told = false;

	for (;;) {
		size_t length = strcspn(value, ",");
		const char *text = value;
		double percentile;

		while (length && (*text == ' ' || *text == 'p' || *text == 'P'))
			text++, length--;
		while (length && text[length - 1] == ' ')
			length--;
		if (read_percentile(text, length, &percentile) &&
		    percentile_add(&list, percentile)) {
			;
		} else if (!is_told) {
			refuse(r, s, text, length);
			is_told = true;
		}
		value += strcspn(value, ",");
		if (!*value)
			break;
		value++;
	}
	if (list.count)
		*place = list;
	return !is_told;
}

/* k=v,k=v */
static bool are_pairs(const char *value)
{
	for (; *value; value += *value == ',') {
		size_t length = strcspn(value, ",");
		const char *equals = memchr(value, '=', length);

		if (!equals || equals == value)
			return false;
		value += length;
	}
	return true;
}

static bool set(const struct reader *r, const struct hp_setting *s, const char *value)
{
	void *place = (char *)r->out + s->place;
	bool is_good = true;

	switch (s->kind) {
	case HP_SETTING_CHOICE:
		is_good = read_choice(s, value, place);
		break;
	case HP_SETTING_BOOL:
		is_good = read_bool(value, place);
		break;
	case HP_SETTING_COUNT:
	case HP_SETTING_SIZE:
		is_good = read_number(s, value, place);
		break;
	case HP_SETTING_PAIRS:
		/* Readers skip what is no pair. */
		is_good = are_pairs(value);
		/* fall through */
	case HP_SETTING_TEXT:
		value = *value ? value : s->usual;
		memcpy(place, &value, sizeof(value));
		break;
	case HP_SETTING_PERCENTILES:
		return read_percentiles(r, s, value, place);
	}
	if (!is_good)
		refuse(r, s, value, strlen(value));
	return is_good;
}

/* The same for a value that the program's defaults do not change. */
static bool give(const struct reader *r, const struct hp_setting *s, const char *value)
{
	bool is_good = set(r, s, value);

	/* Of percentiles what is good is used. */
	if (is_good || s->kind == HP_SETTING_PERCENTILES)
		r->out->given |= UINT64_C(1) << (s - hp_setting_table);
	return is_good;
}

static void set_usual(struct hp_settings *out)
{
	struct reader r = { .out = out, .complain = NULL, .context = NULL };

	memset(out, 0, sizeof(*out));
	out->limit = out->functions_limit = out->threads_limit = HP_LIMIT_UNSET;
	out->alloc_limit = out->channels_limit = HP_LIMIT_UNSET;
	out->tui_logs = HP_LIMIT_UNSET;
	for (size_t i = 0; i < hp_setting_count; i++)
		if (hp_setting_table[i].usual)
			set(&r, &hp_setting_table[i], hp_setting_table[i].usual);
}

static const struct hp_setting *find(const char *name, size_t length)
{
	for (size_t i = 0; i < hp_setting_count; i++)
		if (strncmp(hp_setting_table[i].name, name, length) == 0 &&
		    !hp_setting_table[i].name[length])
			return &hp_setting_table[i];
	return NULL;
}

void hp_settings_read(struct hp_settings *out, char *const *environment, hp_complain complain,
		      void *context)
{
	struct reader r = { .out = out, .complain = complain, .context = context };

	set_usual(out);
	for (; environment && *environment; environment++) {
		const char *equals;
		const struct hp_setting *s;

		if (strncmp(*environment, "HOTPATH_", 8) != 0)
			continue;
		equals = strchr(*environment, '=');
		s = equals ? find(*environment, (size_t)(equals - *environment)) : NULL;
		if (s && (equals[1] || s->kind == HP_SETTING_TEXT))
			give(&r, s, equals + 1);
	}
}

bool hp_settings_set(struct hp_settings *out, const char *name, const char *value,
		     hp_complain complain, void *context)
{
	struct reader r = { .out = out, .complain = complain, .context = context };
	const struct hp_setting *s = find(name, strlen(name));

	return s && give(&r, s, value);
}

/* --- a program's defaults --- */

static bool is_name(const char *word, size_t length, const char *variable)
{
	size_t i = 0;

	for (; i < length && variable[i]; i++) {
		char c = word[i] == '-' ? '_' : word[i];

		if (c != variable[i] && (c < 'a' || c > 'z' || c - 32 != variable[i]))
			return false;
	}
	return i == length && !variable[i];
}

static const struct hp_setting *find_word(const char *word, size_t length)
{
	for (size_t i = 0; i < hp_setting_count; i++)
		if (is_name(word, length, hp_setting_table[i].name) ||
		    is_name(word, length, hp_setting_table[i].name + strlen("HOTPATH_")))
			return &hp_setting_table[i];
	return NULL;
}

static void refuse_word(const struct reader *r, const char *word)
{
	struct line line = { .length = 0 };

	if (!r->complain)
		return;
	line_add(&line, "HOTPATH_DEFAULTS: '", SIZE_MAX);
	line_add(&line, word, 40);
	line_add(&line, strlen(word) > 40 ? "...'" : "'", SIZE_MAX);
	line_add(&line,
		 " is no setting; write NAME=VALUE, as in percentiles=50,99 (names: hotpath help)",
		 SIZE_MAX);
	r->complain(r->context, line.text);
}

/* True if flag or environment have said it; a limit of all sections goes for each of them. */
static bool is_given(const struct hp_settings *settings, const struct hp_setting *s)
{
	const struct hp_setting *limit = find_word("limit", strlen("limit"));
	bool is_limit = s->place == AT(functions_limit) || s->place == AT(threads_limit);

	return settings->given >> (s - hp_setting_table) & 1 ||
	       (is_limit && settings->given >> (limit - hp_setting_table) & 1);
}

static void default_set(const struct reader *r, const char *word)
{
	const char *equals = strchr(word, '=');
	const struct hp_setting *s = equals ? find_word(word, (size_t)(equals - word)) : NULL;

	if (!s)
		refuse_word(r, word);
	else if (!is_given(r->out, s))
		set(r, s, equals + 1);
}

void hp_settings_default(struct hp_settings *out, const char *text, char room[HP_DEFAULTS_MOST],
			 hp_complain complain, void *context)
{
	struct reader r = { .out = out, .complain = complain, .context = context };

	strncpy(room, text, HP_DEFAULTS_MOST - 1);
	room[HP_DEFAULTS_MOST - 1] = 0;
	while (*(room += strspn(room, " \t\n"))) {
		char *word = room;
		bool is_last;

		room += strcspn(room, " \t\n");
		is_last = *room == 0;
		*room = 0;
		default_set(&r, word);
		room += !is_last;
	}
}

bool hp_section_is(const char *word, size_t length, const char *section)
{
	static const char functions[] = "functions-";
	size_t family = sizeof(functions) - 1;

	if (strncmp(section, functions, family) == 0 && strlen(section) == length + family)
		section += family;
	for (size_t i = 0; i < length; i++)
		if (section[i] != word[i] && !(word[i] == '-' && section[i] == '_') &&
		    !(word[i] == '_' && section[i] == '-'))
			return false;
	return length && !section[length];
}

/* One word of a list: 1 = asks for it, 0 = excludes it, -1 = says nothing of it. */
static int word_asks(const char *word, size_t length, const char *section)
{
	bool is_out = length && *word == '-';

	word += is_out, length -= is_out;
	if ((length == 3 && memcmp(word, "all", 3) == 0) ||
	    (length == 4 && memcmp(word, "auto", 4) == 0) || hp_section_is(word, length, section))
		return !is_out;
	return -1;
}

/* The next word of a list, `*length` characters of it; NULL = there is none. */
static const char *word_next(const char **list, size_t *length)
{
	const char *word = *list + strspn(*list, " ,");

	*length = strcspn(word, ",");
	*list = word + *length;
	while (*length && word[*length - 1] == ' ')
		--*length;
	return *length ? word : NULL;
}

bool hp_settings_asks(const struct hp_settings *settings, const char *section)
{
	const char *list = settings->report ? settings->report : "auto";
	const char *word;
	size_t length;
	bool asks;

	list += strspn(list, " ,");
	asks = !*list || *list == '-';	/* `-threads` alone is short for `auto,-threads` */
	while ((word = word_next(&list, &length))) {
		int said = word_asks(word, length, section);

		asks = said < 0 ? asks : said;
	}
	return asks;
}

bool hp_settings_names(const struct hp_settings *settings, const char *section)
{
	const char *list = settings->report ? settings->report : "";
	const char *word;
	size_t length;

	while ((word = word_next(&list, &length)))
		if (hp_section_is(word, length, section))
			return true;
	return false;
}

bool hp_settings_asks_threads(const struct hp_settings *settings)
{
	return hp_settings_asks(settings, "threads") ||
	       hp_settings_names(settings, "thread-states");
}

bool hp_settings_wants_samples(const struct hp_settings *settings)
{
	return settings->cpu == HP_CPU_PERF || settings->cpu == HP_CPU_TIMER ||
	       hp_settings_names(settings, "functions-cpu") || hp_settings_names(settings, "bound");
}

uint64_t hp_settings_cpu_hz(const struct hp_settings *settings)
{
	if (settings->cpu_hz)
		return settings->cpu_hz;
	return hp_settings_wants_samples(settings) ? HP_CPU_HZ : HP_CPU_HZ_UNASKED;
}
