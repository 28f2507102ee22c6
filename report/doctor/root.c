/* SPDX-License-Identifier: MIT */
/*
 * root.c - can this hotpath profile programs of another system in a folder of
 * this one?
 *
 * In a container or chroot into which the tree is mounted, the loader ends each
 * program if the C library lacks a version that the library needs. This check
 * reports it in advance.
 */
#include <stdlib.h>

#include "report/doctor/c_library.h"
#include "report/doctor/check.h"
#include "report/base/memory.h"

enum { ROOT_FITS, ROOT_OLD, ROOT_NONE };

static size_t look_libc(struct hp_patient *patient, struct hp_finding *finding)
{
	char path[PATH_MAX], has[HP_C_LIBRARY_TEXT], needs[HP_C_LIBRARY_TEXT];
	unsigned needed = patient->has_library ? hp_c_library_needed(patient->library) : 0;

	if (!hp_c_library_in(patient->root, path)) {
		finding->found =
			hp_xprintf("no glibc libc.so.6 for this processor in %s", patient->root);
		return ROOT_NONE;
	}
	unsigned version = hp_c_library_version(path);

	hp_c_library_text(version, has);
	hp_c_library_text(needed, needs);
	finding->found =
		hp_xprintf("%s is glibc %s, %s needs %s", path, has, patient->library, needs);
	return version < needed ? ROOT_OLD : ROOT_FITS;
}

static const struct hp_check checks[] = {
	{ "libc",
	  look_libc,
	  { [ROOT_FITS] = { HP_LEVEL_OK, "the library can be loaded there", NULL, NULL },
	    [ROOT_OLD] = { HP_LEVEL_FAILED, NULL,
			   "every program started there with the library is ended by its loader",
			   "build hotpath there, or on the oldest system that it must run with" },
	    [ROOT_NONE] = { HP_LEVEL_FAILED, NULL, "every profile of its programs",
			    "name the folder that has lib/ and usr/ of that system" } } },
};

const struct hp_check_group hp_check_root = { "the system in that folder", checks, 1 };
