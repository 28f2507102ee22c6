/* SPDX-License-Identifier: MIT */
/*
 * profilable.c - can this program be profiled, and how much of it?
 *
 * The loader lists its would-be loads with our library preloaded, as for ldd:
 * it maps the libraries and runs none of their code. Only our own ld.so is
 * used; a foreign file could name any program as its loader.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/capture.h"
#include "report/doctor/check.h"
#include "report/base/memory.h"
#include "report/name/name.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NAMES_MAX 6	/* of libraries in one line */

/* `list` with `name` appended, in fresh memory; frees `list`. */
static char *list_add(char *list, const char *name)
{
	char *longer = hp_xprintf("%s%s%s", list ? list : "", list ? ", " : "", name);

	free(list);
	return longer;
}

/* --- the examination --- */

/* `#!/usr/bin/env NAME`: env searches for NAME, and runs that. */
static void follow_env(struct hp_program *program)
{
	char *line = hp_first_line(program->path);
	struct hp_program next;

	if (line && strcmp(hp_name_file(program->checked), "env") == 0) {
		char *rest = line, *word = strtok_r(rest, " \t", &rest);

		do
			word = strtok_r(NULL, " \t", &rest);
		while (word && (word[0] == '-' || strchr(word, '=')));
		if (word && hp_program_find(&next, word) == 0) {
			hp_program_inspect(&next);
			memcpy(next.path, program->path, sizeof(next.path));
			*program = next;
		}
	}
	free(line);
}

static bool is_same_file(const char *one, const char *other)
{
	struct stat a, b;

	return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

static void library_add(struct hp_patient *patient, const char *path)
{
	static size_t room;

	if (patient->library_count == 0)
		room = 0;
	patient->libraries = hp_xgrow(patient->libraries, patient->library_count, &room,
				      sizeof(*patient->libraries));
	struct hp_library *library = &patient->libraries[patient->library_count++];
	library->path = hp_xstrdup(path);
	hp_binary_init(&library->binary, path);
}

/* One line of the loader: "NAME => PATH (ADDRESS)", "PATH (ADDRESS)" or "NAME => not found". */
static void line_read(struct hp_patient *patient, char *line)
{
	char *arrow = strstr(line, " => ");
	char *path = arrow ? arrow + 4 : line + strspn(line, "\t ");
	char *end = strstr(path, " (0x");

	if (arrow && strncmp(path, "not found", 9) == 0) {
		*arrow = '\0';
		patient->lost = list_add(patient->lost, line + strspn(line, "\t "));
		return;
	}
	if (!end || path[0] != '/')
		return;
	*end = '\0';
	if (is_same_file(path, patient->library))
		patient->is_preloaded = true;
	else if (!is_same_file(path, patient->program.linker) &&
		 strncmp(hp_name_file(path), "libc.so.", 8) != 0)
		library_add(patient, path);
}

static void ask_loader(struct hp_patient *patient)
{
	struct hp_program own = { .obstacle = NULL };
	struct hp_capture capture;

	memcpy(own.path, patient->command, sizeof(own.path));
	hp_program_inspect(&own);
	if (!is_same_file(own.linker, patient->program.linker))
		return;
	patient->is_asked = true;
	char *argv[] = { own.linker, patient->program.checked, NULL };
	setenv("LD_PRELOAD", patient->library, 1);
	setenv("LD_TRACE_LOADED_OBJECTS", "1",
	       1);	/* unlike --list it continues after a missing library */
	hp_capture_init(&capture, argv, NULL);
	unsetenv("LD_PRELOAD");
	unsetenv("LD_TRACE_LOADED_OBJECTS");
	char *rest = capture.out;
	for (char *line; (line = strsep(&rest, "\n"));)
		line_read(patient, line);
	hp_capture_release(&capture);
}

void hp_patient_examine(struct hp_patient *patient)
{
	patient->is_executable = access(patient->program.path, X_OK) == 0;
	if (!patient->is_executable)	/* a library need not be executable */
		patient->program.obstacle = NULL;
	follow_env(&patient->program);
	if (!patient->program.is_elf)
		return;
	hp_binary_init(&patient->binary, patient->program.checked);
	if (patient->program.linker[0] && !patient->program.obstacle && patient->is_executable)
		ask_loader(patient);
}

void hp_patient_release(struct hp_patient *patient)
{
	for (size_t i = 0; i < patient->library_count; i++) {
		free(patient->libraries[i].path);
		hp_binary_release(&patient->libraries[i].binary);
	}
	free(patient->libraries);
	free(patient->lost);
	hp_binary_release(&patient->binary);
}

/* --- checks --- */

enum { FILE_ELF, FILE_SCRIPT, FILE_TEXT, FILE_NOT_EXECUTABLE };

static size_t look_file(struct hp_patient *patient, struct hp_finding *finding)
{
	const struct hp_program *program = &patient->program;
	bool is_script = strcmp(program->path, program->checked) != 0;

	if (!program->is_elf && !program->missing[0]) {
		finding->found = hp_xprintf("%s is not an ELF file", program->checked);
		return FILE_TEXT;
	}
	finding->found =
		hp_xprintf("%s%s%s%s", program->path, is_script ? " is a script; checking " : "",
			   is_script ? program->checked : "",
			   program->linker[0] ? ", dynamically linked" : "");
	if (!patient->is_executable)
		return FILE_NOT_EXECUTABLE;
	return is_script && program->is_elf ? FILE_SCRIPT : FILE_ELF;
}

enum { LOADING_FINE, LOADING_HINDERED, LOADING_LOST, LOADING_REFUSED, LOADING_UNASKED };

static size_t look_loading(struct hp_patient *patient, struct hp_finding *finding)
{
	const struct hp_program *program = &patient->program;

	if (program->missing[0]) {
		finding->found = hp_xprintf("%s is missing", program->missing);
		return LOADING_LOST;
	}
	if (!program->is_elf || !patient->is_executable)
		return HP_NO_OUTCOME;
	if (program->obstacle) {
		finding->found = hp_xprintf("%s %s", hp_name_file(program->checked),
					    program->obstacle->what);
		finding->remedy = hp_xstrdup(patient->binary.language ? "none: see `language` below"
								      : program->obstacle->remedy);
		return LOADING_HINDERED;
	}
	if (patient->lost) {
		finding->found = hp_xprintf("the loader does not find %s", patient->lost);
		return LOADING_LOST;
	}
	if (!patient->is_asked) {
		finding->found = hp_xprintf("%s is not this system's loader, so it was not run",
					    program->linker);
		return LOADING_UNASKED;
	}
	finding->found = hp_xprintf("%s %s it; libraries beside libc: %zu", program->linker,
				    patient->is_preloaded ? "loads libhotpath.so into"
							  : "does not load libhotpath.so into",
				    patient->library_count);
	return patient->is_preloaded ? LOADING_FINE : LOADING_REFUSED;
}

/* Names of the libraries that call the hooks; NULL = none. */
static char *instrumented(const struct hp_patient *patient)
{
	char *list = NULL;
	size_t count = 0;

	for (size_t i = 0; i < patient->library_count; i++)
		if (patient->libraries[i].binary.calls_hooks && count++ < NAMES_MAX)
			list = list_add(list, hp_name_file(patient->libraries[i].path));
	if (count > NAMES_MAX) {
		char *more = hp_xprintf("%zu more", count - NAMES_MAX);

		list = list_add(list, more);
		free(more);
	}
	return list;
}

enum { HOOKS_CALLED, HOOKS_OF_LIBRARIES, HOOKS_BLOCKS, HOOKS_NONE, HOOKS_OWN };

static size_t look_functions(struct hp_patient *patient, struct hp_finding *finding)
{
	const struct hp_binary *binary = &patient->binary;

	if (!patient->program.is_elf || patient->program.obstacle || binary->fault)
		return HP_NO_OUTCOME;
	if (binary->has_own_hooks) {
		finding->found = hp_xstrdup("the program defines __cyg_profile_func_enter itself");
		return HOOKS_OWN;
	}
	char *libraries = instrumented(patient);
	finding->found =
		binary->calls_hooks || libraries
			? hp_xprintf("hooks are called by %s%s%s",
				     binary->calls_hooks ? "the program" : "",
				     binary->calls_hooks && libraries ? ", " : "",
				     libraries ? libraries : "")
			: hp_xprintf(
				  "neither the program nor the libraries it starts with call hooks%s",
				  binary->has_header ? "; it has hotpath.h" : "");
	bool has_libraries = libraries != NULL;
	free(libraries);
	if (binary->language)
		finding->remedy = hp_xstrdup("none: see `language` below");
	return binary->calls_hooks  ? HOOKS_CALLED
	       : has_libraries	    ? HOOKS_OF_LIBRARIES
	       : binary->has_header ? HOOKS_BLOCKS
				    : HOOKS_NONE;
}

enum { SYMBOLS_ALL, SYMBOLS_EXPORTED, SYMBOLS_UNREAD };

static size_t look_symbols(struct hp_patient *patient, struct hp_finding *finding)
{
	const struct hp_binary *binary = &patient->binary;

	if (!patient->program.is_elf || patient->program.obstacle)
		return HP_NO_OUTCOME;
	if (binary->fault) {
		finding->found = hp_xprintf("%s: %s", patient->program.checked, binary->fault);
		return SYMBOLS_UNREAD;
	}
	finding->found = hp_xprintf("%zu names of functions%s", binary->functions,
				    binary->has_symtab ? "" : ", of exported ones only: stripped");
	return binary->has_symtab ? SYMBOLS_ALL : SYMBOLS_EXPORTED;
}

enum { DEBUG_THERE, DEBUG_NONE };

static size_t look_debug(struct hp_patient *patient, struct hp_finding *finding)
{
	const struct hp_binary *binary = &patient->binary;

	if (!patient->program.is_elf || patient->program.obstacle || binary->fault)
		return HP_NO_OUTCOME;
	if (!binary->has_debug) {
		finding->found = hp_xstrdup("no debug information, in it or separate");
		return DEBUG_NONE;
	}
	finding->found = hp_xprintf("debug information in %s",
				    binary->separate ? binary->separate : "the file itself");
	return DEBUG_THERE;
}

enum { MALLOC_LIBC, MALLOC_LIBRARY, MALLOC_OWN };

static size_t look_allocator(struct hp_patient *patient, struct hp_finding *finding)
{
	const struct hp_binary *binary = &patient->binary;

	if (!patient->program.is_elf || patient->program.obstacle || binary->fault)
		return HP_NO_OUTCOME;
	if (binary->has_own_malloc) {
		const char *whose = binary->sanitizer	? "a sanitizer's"
				    : binary->allocator ? binary->allocator
							: "its own";

		finding->found = hp_xprintf("malloc is defined in the program: %s", whose);
		return MALLOC_OWN;
	}
	if (binary->allocator) {
		finding->found = hp_xprintf("malloc comes from a library: %s", binary->allocator);
		return MALLOC_LIBRARY;
	}
	finding->found = hp_xstrdup("malloc is that of a library");
	return MALLOC_LIBC;
}

enum { SANITIZER_IN, SANITIZER_FIRST };

static size_t look_sanitizer(struct hp_patient *patient, struct hp_finding *finding)
{
	if (!patient->binary.sanitizer)
		return HP_NO_OUTCOME;
	finding->found = hp_xprintf("-fsanitize=%s%s", patient->binary.sanitizer,
				    patient->program.has_asan ? ", as a library" : "");
	return patient->program.has_asan ? SANITIZER_FIRST : SANITIZER_IN;
}

enum { LANGUAGE_GO, LANGUAGE_RUST };

static size_t look_language(struct hp_patient *patient, struct hp_finding *finding)
{
	const char *language = patient->binary.language;

	if (!language)
		return HP_NO_OUTCOME;
	finding->found = hp_xprintf("compiled from %s", language);
	return strcmp(language, "Go") == 0 ? LANGUAGE_GO : LANGUAGE_RUST;
}

static const struct hp_check checks[] = {
	{ "file",
	  look_file,
	  { [FILE_ELF] = { HP_LEVEL_OK, NULL, NULL, NULL },
	    [FILE_SCRIPT] = { HP_LEVEL_OK,
			      "its interpreter is profiled, and all programs that it starts", NULL,
			      NULL },
	    [FILE_TEXT] = { HP_LEVEL_LIMITED, "if a shell can run it, that shell is profiled", NULL,
			    "name the program itself" },
	    [FILE_NOT_EXECUTABLE] = { HP_LEVEL_LIMITED, "it can be loaded by a program",
				      "to run it", "chmod +x, if it is a program" } } },
	{ "loading",
	  look_loading,
	  { [LOADING_FINE] = { HP_LEVEL_OK, "threads, CPU samples; functions as below", NULL, NULL },
	    [LOADING_HINDERED] = { HP_LEVEL_FAILED, "hotpath run: threads, CPU samples",
				   "calls of functions, call tree", NULL },
	    [LOADING_LOST] = { HP_LEVEL_FAILED, NULL, "the program does not start",
			       "LD_LIBRARY_PATH, or install the missing libraries" },
	    [LOADING_REFUSED] = { HP_LEVEL_FAILED, NULL, "calls of functions, call tree",
				  "hotpath doctor, the check `library`" },
	    [LOADING_UNASKED] = { HP_LEVEL_OK, "threads, CPU samples; functions as below", NULL,
				  NULL } } },
	{ "functions",
	  look_functions,
	  { [HOOKS_CALLED] = { HP_LEVEL_OK, "calls and times of functions, call tree", NULL, NULL },
	    [HOOKS_OF_LIBRARIES] = { HP_LEVEL_OK, "calls and times of those libraries' functions",
				     "functions of the program itself",
				     "compile it with $(hotpath flags cc)" },
	    [HOOKS_BLOCKS] = { HP_LEVEL_LIMITED, "threads, CPU samples, marked blocks",
			       "calls of functions", "compile it with $(hotpath flags cc) too" },
	    [HOOKS_NONE] = { HP_LEVEL_LIMITED, "threads, CPU samples",
			     "calls of functions, call tree; libraries loaded later may call hooks",
			     "compile it with $(hotpath flags cc)" },
	    [HOOKS_OWN] = { HP_LEVEL_LIMITED, "threads, CPU samples",
			    "calls of functions, call tree: the program's own hooks are called",
			    "link it without them" } } },
	{ "symbols",
	  look_symbols,
	  { [SYMBOLS_ALL] = { HP_LEVEL_OK, "names of functions", NULL, NULL },
	    [SYMBOLS_EXPORTED] = { HP_LEVEL_LIMITED, "names of exported functions",
				   "other names: they are module+offset",
				   "link without -s, or strip -g, which keeps names" },
	    [SYMBOLS_UNREAD] = { HP_LEVEL_LIMITED, "counts and times, by module+offset", "names",
				 "hotpath doctor, the check `libdw`" } } },
	{ "debug",
	  look_debug,
	  { [DEBUG_THERE] = { HP_LEVEL_OK, "files and lines of functions", NULL, NULL },
	    [DEBUG_NONE] = { HP_LEVEL_LIMITED, "names of functions", "files and lines",
			     "compile with -g, or install its package with debug files" } } },
	{ "allocator",
	  look_allocator,
	  { [MALLOC_LIBC] = { HP_LEVEL_OK, "allocations are seen", NULL, NULL },
	    [MALLOC_LIBRARY] = { HP_LEVEL_OK, "allocations are seen", NULL, NULL },
	    [MALLOC_OWN] = { HP_LEVEL_LIMITED, "functions, call tree, threads",
			     "allocations: the program calls its own malloc, not our stand-in",
			     "link the allocator as a library" } } },
	{ "sanitizer",
	  look_sanitizer,
	  { [SANITIZER_IN] = { HP_LEVEL_OK, "everything; times are those of a sanitized program",
			       NULL, NULL },
	    [SANITIZER_FIRST] = { HP_LEVEL_LIMITED,
				  "hotpath run, which sets verify_asan_link_order=0",
				  "LD_PRELOAD alone: the sanitizer ends the program",
				  "ASAN_OPTIONS=verify_asan_link_order=0" } } },
	{ "language",
	  look_language,
	  { [LANGUAGE_GO] = { HP_LEVEL_LIMITED, "threads, CPU samples; calls of C code in it",
			      "calls of Go's functions: its compiler has no hooks",
			      "go tool pprof" },
	    [LANGUAGE_RUST] = { HP_LEVEL_LIMITED, "threads, CPU samples; calls of C code in it",
				"calls of Rust's functions: its compiler has no hooks",
				"the CPU samples" } } },
};

const struct hp_check_group hp_check_program = { "the program", checks, COUNT(checks) };
