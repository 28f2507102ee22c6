/* SPDX-License-Identifier: MIT */
/*
 * flags.c - `hotpath flags COMPILER`: compiler flags, as one line for $(...).
 *
 * The right flag depends on the kind of compiler, not on its name: cc, ccache, a
 * cross compiler, a wrapper script.  So its own macros are queried; its name
 * decides only if it cannot be run.
 *
 * gcc instruments the functions of every header, those of the standard library
 * too, and leaves out files whose name contains one of a list of texts.  It
 * reports where its own headers are: a cross compiler's are not below
 * /usr/include, nor are those of a private gcc. clang has no such list; its
 * hooks are inserted after inlining, so most small functions have none.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/capture.h"
#include "report/command/command.h"
#include "report/base/memory.h"
#include "report/base/option.h"

#define LIST_FLAG "-finstrument-functions-exclude-file-list="
#define FOLDERS_MAX 32
#define WORDS_MAX 64
#define QUESTION_WORDS 7	/* added to the compiler's */

extern char **environ;

struct kind {
	const char *macro;	/* its macros; the first match counts */
	const char *names;	/* its names, each between blanks */
	const char *flags;	/* NULL = it has none that calls the hooks */
	bool has_list;	/* of files to leave out */
};

static const struct kind kinds[] = {
	{ "__clang__", " clang clang++ icx icpx dpcpp amdclang amdclang++ ",
	  "-g -finstrument-functions-after-inlining", false },
	{ "__TINYC__", " tcc ", NULL, false },
	{ "__INTEL_COMPILER", " icc icpc ", "-g -finstrument-functions", false },
	{ "__GNUC__", " gcc g++ cc c++ gfortran ", "-g -finstrument-functions", true },
};

/* The headers of gcc as Debian, Fedora, Arch and others install it. */
static const char *const usual_folders[] = { "/usr/include", "/usr/lib/gcc" };

struct folders {
	char *at[FOLDERS_MAX];
	size_t count;
};

struct compiler {
	char *words[WORDS_MAX + QUESTION_WORDS + 1];
	size_t count;
	const char *name;	/* the last word that is not an option: after ccache, distcc, env */
	const struct kind *kind;	/* NULL = unknown */
	struct folders folders;
};

static const char help_text[] =
	"Usage: hotpath flags [COMPILER [OPTION]...]\n"
	"Print compiler flags that make hotpath count and time each function.\n\n"
	"  cc -O2 $(hotpath flags cc) -c app.c\n"
	"  make CXX=g++ CXXFLAGS=\"-O2 $(hotpath flags g++)\"\n"
	"  cmake -B build -DCMAKE_CXX_FLAGS=\"$(hotpath flags c++)\"\n\n"
	"COMPILER is a name or a path, possibly with a version, a target or a wrapper\n"
	"(x86_64-linux-gnu-g++-12, ccache clang++); without it, cc.  It is run to identify\n"
	"it; if it is missing, its name decides.\n\n"
	"  -g                              names of source files and lines; the code stays the same\n"
	"  -finstrument-functions          gcc: calls of two hooks, at each function's start and end,\n"
	"                                  in inlined copies too\n"
	"  -finstrument-functions-exclude-file-list=TEXT,TEXT\n"
	"                                  gcc: not in functions of files with TEXT in their path:\n"
	"                                  those of system headers, which would cost most\n"
	"  -finstrument-functions-after-inlining\n"
	"                                  clang: the hooks, in functions that remain after inlining.\n"
	"                                  Needs -O1 or more to leave system headers out; with\n"
	"                                  clang's plain -finstrument-functions C++ may not link\n\n"
	"The list has parts of paths: a project whose own path contains /usr/include is\n"
	"left out too, unless it is compiled by relative paths.  Compile with the flags, link\n"
	"as usual: no library is needed, and without the profiler the program runs as before.\n"
	"__attribute__((no_instrument_function)) leaves out one function.\n";

/* --- the words of the command --- */

/* `$CC` in quotes is one word; as a file name it may have blanks. */
static void words_add(struct compiler *compiler, const char *text)
{
	char *copy = hp_xstrdup(text), *rest = copy;

	if (access(text, X_OK) == 0) {
		compiler->words[compiler->count++] = copy;
		return;
	}
	for (char *word; (word = strtok_r(rest, " \t\n", &rest));)
		if (compiler->count < WORDS_MAX)
			compiler->words[compiler->count++] = hp_xstrdup(word);
	free(copy);
}

static void words_init(struct compiler *compiler, int count, char **texts)
{
	*compiler = (struct compiler){ .count = 0 };
	for (int i = 0; i < count && compiler->count < WORDS_MAX; i++)
		words_add(compiler, texts[i]);
	for (size_t i = 0; i < compiler->count; i++)
		if (compiler->words[i][0] != '-')
			compiler->name = compiler->words[i];
}

static void compiler_release(struct compiler *compiler)
{
	for (size_t i = 0; i < compiler->count; i++)
		free(compiler->words[i]);
	for (size_t i = 0; i < compiler->folders.count; i++)
		free(compiler->folders.at[i]);
}

/* --- its name --- */

/* x86_64-linux-gnu-g++-12 -> g++ */
static void plain_name(const char *name, char plain[64])
{
	const char *slash = strrchr(name, '/');

	snprintf(plain, 64, "%s", slash ? slash + 1 : name);
	char *dash = strrchr(plain, '-');
	if (dash && dash[1 + strspn(dash + 1, "0123456789.")] == '\0') {
		*dash = '\0';
		dash = strrchr(plain, '-');
	}
	if (dash)
		memmove(plain, dash + 1, strlen(dash));
}

static const struct kind *kind_by_name(const char *name)
{
	char plain[64], framed[66];

	plain_name(name, plain);
	snprintf(framed, sizeof(framed), " %s ", plain);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(kinds[i].names, framed))
			return &kinds[i];
	return NULL;
}

/* --- its description of itself --- */

static bool defines(const char *macros, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = macros; (at = strstr(at, name)); at += length)
		if (at >= macros + 8 && memcmp(at - 8, "#define ", 8) == 0 && at[length] == ' ')
			return true;
	return false;
}

static const struct kind *kind_by_macros(const char *macros)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (defines(macros, kinds[i].macro))
			return &kinds[i];
	return NULL;
}

static bool is_covered(const struct folders *folders, const char *path)
{
	for (size_t i = 0; i < folders->count; i++)
		if (strstr(path, folders->at[i]))
			return true;
	return false;
}

/* gcc names a header by the shorter of its real path and the path it was found by. */
static void folder_add(struct folders *folders, const char *found)
{
	char real[PATH_MAX];
	const char *path = realpath(found, real) && strlen(real) < strlen(found) ? real : found;

	/* Shared: files there belong to the program as much as to the system. */
	if (strcmp(path, "/usr/local/include") == 0 || folders->count == FOLDERS_MAX ||
	    is_covered(folders, path))
		return;
	if (path[strcspn(path, " \t,\\$'\"`*?[#&;|<>()")]) {
		fprintf(stderr,
			"hotpath: flags: functions of headers in '%s' stay in: the path has a "
			"character that the flag or a shell reads differently\n",
			path);
		return;
	}
	/* Deeper folders are covered by this one. */
	size_t kept = 0;
	for (size_t i = 0; i < folders->count; i++) {
		if (strstr(folders->at[i], path))
			free(folders->at[i]);
		else
			folders->at[kept++] = folders->at[i];
	}
	folders->count = kept;
	folders->at[folders->count++] = hp_xstrdup(path);
}

/* The folders of #include <...>, each on a line that starts with a blank. */
static void folders_read(struct folders *folders, char *said)
{
	bool is_inside = false;

	for (char *line; (line = strtok_r(said, "\n", &said));) {
		if (strncmp(line, "#include <...>", 14) == 0)
			is_inside = true;
		else if (line[0] != ' ')
			is_inside = false;
		else if (is_inside)
			folder_add(folders, line + 1);
	}
}

/* Runs it with our environment, in the C locale, without the project's additional folders. */
static char **question_environment(void)
{
	static char language[] = "LC_ALL=C";
	static const char *const left_out[] = { "LC_ALL=", "CPATH=", "C_INCLUDE_PATH=",
						"CPLUS_INCLUDE_PATH=", "LD_PRELOAD=" };
	size_t count = 0, kept = 0;

	while (environ[count])
		count++;
	char **copy = hp_xcalloc(count + 2, sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		bool is_left_out = false;

		for (size_t k = 0; k < sizeof(left_out) / sizeof(left_out[0]); k++)
			is_left_out |= strncmp(environ[i], left_out[k], strlen(left_out[k])) == 0;
		if (!is_left_out)
			copy[kept++] = environ[i];
	}
	copy[kept] = language;
	return copy;
}

/* Sets kind and folders.  Returns 0 or errno, why it could not be run. */
static int ask(struct compiler *compiler)
{
	static char words[][8] = { "-v", "-dM", "-E", "-x" }, nothing[] = "/dev/null";
	static char c[] = "c", cxx[] = "c++";
	char **environment = question_environment();
	struct hp_capture answer;
	size_t count = compiler->count;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		compiler->words[count++] = words[i];
	compiler->words[count++] = strstr(compiler->name, "++") ? cxx : c;
	compiler->words[count++] = nothing;
	compiler->words[count] = NULL;
	hp_capture_init(&answer, compiler->words, environment);
	compiler->words[compiler->count] = NULL;
	int error = answer.error;
	if (answer.status == 0) {
		compiler->kind = kind_by_macros(answer.out);
		if (compiler->kind && compiler->kind->has_list)
			folders_read(&compiler->folders, answer.err);
	}
	hp_capture_release(&answer);
	free(environment);
	return error;
}

/* --- the answer --- */

static bool settle(struct compiler *compiler)
{
	for (size_t i = 0; i < sizeof(usual_folders) / sizeof(usual_folders[0]); i++)
		compiler->folders.at[compiler->folders.count++] = hp_xstrdup(usual_folders[i]);
	int error = ask(compiler);
	if (!compiler->kind)
		compiler->kind = kind_by_name(compiler->name);
	if (!compiler->kind) {
		fprintf(stderr,
			"hotpath: flags: %s: %s; known are gcc and clang: hotpath flags gcc, "
			"hotpath flags clang++\n",
			compiler->name,
			error ? strerror(error) : "does not identify itself as a compiler");
		return false;
	}
	if (!compiler->kind->flags) {
		fprintf(stderr,
			"hotpath: flags: %s has no flag that calls hooks in each function; compile "
			"with gcc or clang\n",
			compiler->name);
		return false;
	}
	if (error)
		fprintf(stderr, "hotpath: flags: %s: %s; going by its name\n", compiler->name,
			strerror(error));
	return true;
}

/* A project that compiles with absolute paths here would get no hooks at all. */
static void warn_of_own_path(const struct folders *folders)
{
	char here[PATH_MAX];

	if (!getcwd(here, sizeof(here)))
		return;
	for (size_t i = 0; i < folders->count; i++)
		if (strstr(here, folders->at[i]))
			fprintf(stderr,
				"hotpath: flags: the path of this folder contains '%s', which is "
				"left out: compile by relative paths, or without the list\n",
				folders->at[i]);
}

static void flags_print(const struct compiler *compiler)
{
	const struct folders *folders = &compiler->folders;

	fputs(compiler->kind->flags, stdout);
	for (size_t i = 0; compiler->kind->has_list && i < folders->count; i++)
		printf("%s%s", i ? "," : " " LIST_FLAG, folders->at[i]);
	putchar('\n');
	if (compiler->kind->has_list)
		warn_of_own_path(folders);
}

int hp_cmd_flags(int argc, char **argv)
{
	static const struct hp_option_table table = { .usage = help_text, .ends_at_word = true };
	static char usual[] = "cc", *usual_words[] = { usual, NULL };
	struct compiler compiler;
	int status = hp_options_read(&table, NULL, argc, argv);

	if (status >= 0)
		return status;
	if (optind < argc)
		words_init(&compiler, argc - optind, argv + optind);
	else
		words_init(&compiler, 1, usual_words);
	if (!compiler.name) {
		fputs("hotpath: flags: which compiler? see hotpath flags --help\n", stderr);
		return HP_EXIT_USAGE;
	}
	bool is_known = settle(&compiler);
	if (is_known)
		flags_print(&compiler);
	compiler_release(&compiler);
	return is_known ? 0 : HP_EXIT_FAILED;
}
