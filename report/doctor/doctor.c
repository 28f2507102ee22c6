/* SPDX-License-Identifier: MIT */
/*
 * doctor.c - `hotpath doctor [PROGRAM]`: which parts work here, which do
 * not, and the remedies.
 *
 * The checks are data (check.h); this runs and prints them.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "report/doctor/check.h"
#include "report/base/exit.h"
#include "report/doctor/doctor.h"
#include "report/base/format.h"
#include "report/base/option.h"
#include "report/base/place.h"

struct answer {
	const struct hp_check *check;
	const struct hp_outcome *outcome;
	char *found;
	char *remedy;	/* never ""; NULL = none */
};

struct doctor {
	struct hp_patient patient;
	const struct hp_check_group *const *groups;
	size_t group_count;
	bool is_json;
	cJSON *list;	/* names of verdicts, for JSON */
	unsigned levels[HP_LEVEL_FAILED + 1];	/* number of each verdict */
};

static const struct hp_check_group *const machine_groups[] = {
	&hp_check_parts, &hp_check_room, &hp_check_kernel, &hp_check_tools, &hp_check_samples,
};
static const struct hp_check_group *const program_groups[] = { &hp_check_program };
static const struct hp_check_group *const root_groups[] = { &hp_check_root };

static const char *const level_names[] = { "ok", "limited", "failed" };

static const char help_text[] =
	"Usage: hotpath doctor [--json] [PROGRAM | --root=FOLDER]\n"
	"Check what can be profiled on this machine, or of PROGRAM: findings, working parts,\n"
	"missing parts, and remedies.\n\n"
	"  -r, --root=FOLDER  can programs of the system in FOLDER (a container's image, a\n"
	"                     chroot) be profiled by this hotpath: is their glibc new enough?\n"
	"  -j, --json         the same for programs\n"
	"  -h, --help         this\n\n"
	"  ok        hotpath has everything that it needs\n"
	"  limited   a part of the report is missing, the rest is correct\n"
	"  failed    calls of functions cannot be counted and timed\n\n"
	"Exit status: 0 if no check failed, 1 if one did, 2 for wrong usage or no such PROGRAM.\n"
	"The limits are those of this shell: run it in the service or container in question.\n";

/* --- views --- */

static void line_print(const char *title, const char *text)
{
	if (text)
		printf("%-24s%-9s%s\n", "", title, text);
}

static void answer_print(const struct answer *answer)
{
	char *found = hp_text_clean(answer->found);
	char *remedy = answer->remedy ? hp_text_clean(answer->remedy) : NULL;

	printf("%-9s%-15s%s\n", level_names[answer->outcome->level], answer->check->id, found);
	line_print("works", answer->outcome->works);
	line_print("missing", answer->outcome->missing);
	line_print("remedy", remedy);
	free(found);
	free(remedy);
}

static void text_add(cJSON *object, const char *key, const char *text)
{
	char *clean = text ? hp_text_clean(text) : NULL;

	if (clean)
		cJSON_AddStringToObject(object, key, clean);
	else
		cJSON_AddNullToObject(object, key);
	free(clean);
}

static void answer_add(cJSON *list, const struct answer *answer)
{
	cJSON *object = cJSON_CreateObject();

	text_add(object, "id", answer->check->id);
	text_add(object, "level", level_names[answer->outcome->level]);
	text_add(object, "found", answer->found);
	text_add(object, "works", answer->outcome->works);
	text_add(object, "missing", answer->outcome->missing);
	text_add(object, "remedy", answer->remedy);
	cJSON_AddItemToArray(list, object);
}

static void machine_name(char name[256])
{
	struct utsname system;

	uname(&system);
	snprintf(name, 256, "%s %.100s %.60s", system.sysname, system.release, system.machine);
}

/* --- running the checks --- */

static void group_visit(struct doctor *doctor, const struct hp_check_group *group)
{
	if (!doctor->is_json)
		printf("\n%s\n", group->title);
	for (size_t i = 0; i < group->count; i++) {
		struct hp_finding finding = { NULL, NULL };
		size_t which = group->checks[i].look(&doctor->patient, &finding);

		if (which != HP_NO_OUTCOME) {
			const struct hp_outcome *outcome = &group->checks[i].outcomes[which];
			struct answer answer = {
				.check = &group->checks[i],
				.outcome = outcome,
				.found = finding.found,
				.remedy = finding.remedy ? finding.remedy : NULL,
			};

			if (!answer.remedy)
				answer.remedy = (char *)(uintptr_t)outcome->remedy;
			doctor->levels[outcome->level]++;
			if (doctor->is_json)
				answer_add(doctor->list, &answer);
			else
				answer_print(&answer);
		}
		free(finding.found);
		free(finding.remedy);
	}
}

static void conclude(const struct doctor *doctor)
{
	unsigned failed = doctor->levels[HP_LEVEL_FAILED];
	unsigned limited = doctor->levels[HP_LEVEL_LIMITED];
	const char *where = doctor->patient.name   ? "it"
			    : doctor->patient.root ? "programs there"
						   : "programs here";

	if (failed)
		printf("\nFunction calls of %s cannot be counted: %u failed, %u limited.\n", where,
		       failed, limited);
	else if (limited)
		printf("\nProfiling %s works; %u limited.\n", where, limited);
	else
		printf("\nProfiling %s works.\n", where);
}

static void visit(struct doctor *doctor)
{
	char machine[256];
	cJSON *root = doctor->is_json ? cJSON_CreateObject() : NULL;

	machine_name(machine);
	if (root) {
		text_add(root, "version", HP_VERSION);
		text_add(root, "machine", machine);
		text_add(root, "program", doctor->patient.name);
		doctor->list = cJSON_AddArrayToObject(root, "checks");
	} else {
		printf("hotpath " HP_VERSION ", %s\n", machine);
	}
	for (size_t i = 0; i < doctor->group_count; i++)
		group_visit(doctor, doctor->groups[i]);
	if (!root) {
		conclude(doctor);
		return;
	}
	cJSON_AddBoolToObject(root, "can_profile", doctor->levels[HP_LEVEL_FAILED] == 0);
	char *text = cJSON_Print(root);
	if (text)
		puts(text);
	cJSON_free(text);
	cJSON_Delete(root);
}

/* --- the command --- */

static void patient_init(struct hp_patient *patient, const char *name)
{
	*patient = (struct hp_patient){ .name = name, .root = patient->root };
	hp_place_folder(patient->folder);
	snprintf(patient->command, sizeof(patient->command), "%.*s/hotpath", HP_HELPER_PATH - 16,
		 patient->folder);
	patient->has_library = hp_place_library(patient->library, patient->folder);
}

static bool is_readable_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool find_program(struct doctor *doctor, const char *name)
{
	int error = hp_program_find(&doctor->patient.program, name);

	/* A library is checked, too. */
	if (error && !is_readable_file(doctor->patient.program.path)) {
		fprintf(stderr, "hotpath: doctor: %s: %s\n", name, strerror(-error));
		return false;
	}
	hp_program_inspect(&doctor->patient.program);
	hp_program_meet(&doctor->patient.program, doctor->patient.library);
	hp_patient_examine(&doctor->patient);
	doctor->groups = program_groups;
	doctor->group_count = sizeof(program_groups) / sizeof(program_groups[0]);
	return true;
}

static bool option_take(void *command, int val, const char *value)
{
	struct doctor *doctor = command;

	if (val == 'r')
		doctor->patient.root = value;
	else
		doctor->is_json = true;
	return true;
}

int hp_cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "root", required_argument, NULL, 'r' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	static const struct hp_option_table table = { .options = options,
						      .usage = help_text,
						      .take = option_take };
	static struct doctor doctor = {
		.groups = machine_groups,
		.group_count = sizeof(machine_groups) / sizeof(machine_groups[0]),
	};
	int status = hp_options_read(&table, &doctor, argc, argv);

	if (status >= 0)
		return status;
	if (doctor.patient.root && !is_folder(doctor.patient.root)) {
		fprintf(stderr, "hotpath: doctor: %s: no such folder\n", doctor.patient.root);
		return HP_EXIT_USAGE;
	}
	if (argc - optind > (doctor.patient.root ? 0 : 1)) {
		fputs(doctor.patient.root
			      ? "hotpath: doctor: --root takes no PROGRAM; give one of them\n"
			      : "hotpath: doctor: more than one PROGRAM; give one, without its arguments\n",
		      stderr);
		return HP_EXIT_USAGE;
	}
	if (doctor.patient.root) {
		doctor.groups = root_groups;
		doctor.group_count = 1;
	}
	patient_init(&doctor.patient, argv[optind]);
	if (argv[optind] && !find_program(&doctor, argv[optind]))
		return HP_EXIT_USAGE;
	visit(&doctor);
	hp_patient_release(&doctor.patient);
	return doctor.levels[HP_LEVEL_FAILED] ? HP_EXIT_FAILED : 0;
}
