/* SPDX-License-Identifier: MIT */
/*
 * dwarf.c - see dwarf.h.
 */
#include "report/elf/dwarf.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static struct hp_dwarf dw;
static bool has_libdw;

static bool may_ask;

/*
 * Seconds without progress, unless the user says otherwise: a server that does not answer costs that
 * for the first file, and none for the others, since libdebuginfod remembers failures.
 */
#define SERVER_TIMEOUT "10"

void hp_dwarf_allow_servers(void)
{
	may_ask = true;
}

bool hp_dwarf_has_servers(void)
{
	const char *servers = getenv("DEBUGINFOD_URLS");

	return may_ask && servers && *servers;
}

static void libdw_load(void)
{
	void *handle;

	if (may_ask)
		setenv("DEBUGINFOD_TIMEOUT", SERVER_TIMEOUT, 0);
	else
		unsetenv("DEBUGINFOD_URLS");
	handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return;
#define X(name) \
	*(void **)&dw.name = dlsym(handle, #name); \
	if (!dw.name) \
		return;
	HP_DWARF_LIST(X)
#undef X
	dw.callbacks = (Dwfl_Callbacks){
		.find_elf = dw.dwfl_build_id_find_elf,
		.find_debuginfo = dw.dwfl_standard_find_debuginfo,
		.section_address = dw.dwfl_offline_section_address,
	};
	has_libdw = true;
}

const struct hp_dwarf *hp_dwarf_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, libdw_load);
	return has_libdw ? &dw : NULL;
}
