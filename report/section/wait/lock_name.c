/* SPDX-License-Identifier: MIT */
/*
 * lock_name.c - names of locks, their kinds and places in code.
 */
#include <stdlib.h>
#include <string.h>

#include "report/section/channel/row/name.h"
#include "report/base/format.h"
#include "report/section/wait/lock_view.h"
#include "report/base/memory.h"
#include "report/name/name.h"

/* A return address is after the call: the byte before it belongs to the call's line. */
const struct hp_symbol_spot *hp_lock_code(struct hp_report *report,
					  const struct hp_lock_place *place)
{
	if (!place->address)
		return NULL;
	return hp_symbols_spot(report->symbols, place->object, place->address - 1, false);
}

const struct hp_symbol_spot *hp_lock_site(struct hp_report *report, const struct hp_lock_row *lock)
{
	return hp_lock_code(report, &lock->site);
}

const struct hp_symbol_spot *hp_lock_routine(struct hp_report *report,
					     const struct hp_lock_birth *birth)
{
	return hp_symbols_spot(report->symbols, birth->routine.object, birth->routine.address,
			       false);
}

#define RANKED_MAX 4096	/* locks; with more, the segment's numbers are used */

/* How many earlier locks are the same member of a block from the same place: the segment counts
 * all of that place. */
static uint32_t rank_of(struct hp_report *report, const struct hp_lock_row *lock)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	uint32_t rank = 0;

	if (locks->count > RANKED_MAX)
		return lock->number;
	for (size_t i = 0; i < locks->count; i++) {
		const struct hp_lock_row *other = &locks->rows[i];

		rank += other->kind == lock->kind && other->offset == lock->offset &&
			other->block == lock->block && other->is_made == lock->is_made &&
			other->site.object == lock->site.object &&
			other->site.address == lock->site.address && other->number < lock->number;
	}
	return rank;
}

/* "Session::m": a lock on the heap, named after its member; NULL = not known. */
static char *owner_text(struct hp_report *report, const struct hp_lock_row *lock)
{
	struct hp_text_cell cell;
	char *name, *numbered;

	if (lock->label || !lock->offset || !lock->site.address || lock->site.object == HP_NONE)
		return NULL;
	name = hp_symbols_member(report->symbols, lock->site.object, lock->site.address - 1,
				 hp_lock_type(lock->kind), lock->block, lock->offset - 1);
	if (!name)
		return NULL;
	if (lock->number == HP_LOCK_MORE && lock->objects > 1)
		numbered = hp_xprintf("%s\303\227%s", name, hp_format_count(&cell, lock->objects));
	else if (lock->number != HP_LOCK_MORE && !strchr(name, '[') && rank_of(report, lock))
		numbered = hp_xprintf("%s-%u", name, rank_of(report, lock) + 1);
	else
		return name;
	free(name);
	return numbered;
}

/* "jobs", or "accounts[7].m" for a variable that contains a lock. */
static char *static_text(struct hp_report *report, const struct hp_lock_row *lock)
{
	const struct hp_symbol_spot *spot =
		hp_symbols_spot(report->symbols, lock->at.object, lock->at.address, true);
	char *name = NULL;

	if (strstr(spot->name, "+0x"))
		name = hp_symbols_variable_member(report->symbols, lock->at.object,
						  lock->at.address, hp_lock_type(lock->kind));
	return name ? name : hp_xstrdup(spot->name);
}

static char *name_of(struct hp_report *report, const struct hp_lock_row *lock)
{
	struct hp_text_cell cell;
	char *site, *name, *owned;

	if (lock->kind == HP_LOCK_CHANNEL)
		return hp_xstrdup(hp_channel_name_at(report, lock->channel));
	if (lock->number == HP_LOCK_STATIC && !lock->label)
		return static_text(report, lock);
	owned = owner_text(report, lock);
	if (owned)
		return owned;
	site = lock->label ? hp_xstrdup(lock->label) : hp_spot_text(hp_lock_site(report, lock));
	if (!lock->label && lock->inside > 1) {
		name = hp_xprintf("%s+0x%x", site, lock->inside - 1);
		free(site);
		site = name;
	}
	if (lock->number == 0 || lock->label || (lock->number == HP_LOCK_MORE && lock->objects < 2))
		return site;
	if (lock->number == HP_LOCK_MORE)
		name = hp_xprintf("%s\303\227%s", site, hp_format_count(&cell, lock->objects));
	else
		name = hp_xprintf("%s-%u", site, lock->number + 1);
	free(site);
	return name;
}

const char *hp_lock_name(struct hp_report *report, const struct hp_lock_row *lock)
{
	struct hp_lock_view *view = hp_lock_view(report);
	char **name = &view->names[lock - view->locks.rows];

	if (!*name)
		*name = name_of(report, lock);
	return *name;
}

char *hp_lock_place_text(struct hp_report *report, const struct hp_lock_place *place)
{
	const struct hp_symbol_spot *spot = hp_lock_code(report, place);

	if (!spot)
		return hp_xstrdup("?");
	if (!spot->file)
		return hp_xstrdup(spot->name);
	return hp_xprintf("%s (%s:%d)", spot->name, hp_name_file(spot->file), spot->line);
}

/* All kinds: a new one is a line here. */
struct kind {
	const char *text;
	const char *type;
	enum hp_lock_family family;
};

static const struct kind kinds[HP_LOCK_KINDS] = {
	[0] = { "?", "?", HP_LOCK_FAMILY_NONE },
	[HP_LOCK_MUTEX] = { "mutex", "pthread_mutex_t", HP_LOCK_FAMILY_MUTEX },
	[HP_LOCK_RWLOCK] = { "rwlock", "pthread_rwlock_t", HP_LOCK_FAMILY_RWLOCK },
	[HP_LOCK_SPIN] = { "spin", "pthread_spinlock_t", HP_LOCK_FAMILY_MUTEX },
	[HP_LOCK_COND] = { "cond", "pthread_cond_t", HP_LOCK_FAMILY_COND },
	[HP_LOCK_SEM] = { "sem", "sem_t", HP_LOCK_FAMILY_SEM },
	[HP_LOCK_BARRIER] = { "barrier", "pthread_barrier_t", HP_LOCK_FAMILY_BARRIER },
	[HP_LOCK_ONCE] = { "once", "pthread_once_t", HP_LOCK_FAMILY_NONE },
	[HP_LOCK_THREAD] = { "join", "pthread_t", HP_LOCK_FAMILY_THREAD },
	[HP_LOCK_FILE] = { "file", "file", HP_LOCK_FAMILY_FILE },
	[HP_LOCK_STREAM] = { "stream", "FILE", HP_LOCK_FAMILY_MUTEX },
	[HP_LOCK_GMUTEX] = { "GMutex", "GMutex", HP_LOCK_FAMILY_MUTEX },
	[HP_LOCK_GRECMUTEX] = { "GRecMutex", "GRecMutex", HP_LOCK_FAMILY_MUTEX },
	[HP_LOCK_GRWLOCK] = { "GRWLock", "GRWLock", HP_LOCK_FAMILY_RWLOCK },
	[HP_LOCK_GCOND] = { "GCond", "GCond", HP_LOCK_FAMILY_COND },
	[HP_LOCK_CHANNEL] = { "channel", "channel", HP_LOCK_FAMILY_CHANNEL },
};

const char *hp_lock_kind_text(uint32_t kind, uint32_t side)
{
	if (kind == HP_LOCK_RWLOCK && side == HP_SIDE_READ)
		return "rwlock read";
	if (kind == HP_LOCK_RWLOCK && side == HP_SIDE_WRITE)
		return "rwlock write";
	if (kind == HP_LOCK_GRWLOCK)
		return side == HP_SIDE_READ ? "GRWLock read" : "GRWLock write";
	if (kind == HP_LOCK_FILE)
		return side == HP_SIDE_READ ? "file shared" : "file exclusive";
	return kinds[kind < HP_LOCK_KINDS ? kind : 0].text;
}

const char *hp_lock_row_kind(const struct hp_lock_row *lock, uint32_t side)
{
	return lock->kind == HP_LOCK_CHANNEL ? hp_channel_kind_text(lock->channel_kind, side)
					     : hp_lock_kind_text(lock->kind, side);
}

const char *hp_lock_type(uint32_t kind)
{
	return kinds[kind < HP_LOCK_KINDS ? kind : 0].type;
}

enum hp_lock_family hp_lock_family(uint32_t kind)
{
	return kinds[kind < HP_LOCK_KINDS ? kind : 0].family;
}
