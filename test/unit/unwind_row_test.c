/* SPDX-License-Identifier: MIT */
/*
 * unwind_row_test.c - where a walker keeps its rows.
 */
#include <string.h>

#include "test/test.h"
#include "unwind/walk.h"

static struct hp_cfi_row rows[HP_WALK_NEAR] __attribute__((aligned(64)));
static struct hp_walker walker;

static void make(void)
{
	memset(rows, 0, sizeof(rows));
	walker = (struct hp_walker){ .rows = rows, .row_shift = 62 };
}

static struct hp_cfi_row *find(uintptr_t pc)
{
	return hp_walk_near(&walker, hp_walk_pair(&walker, pc), pc);
}

TEST(row, rows_without_room_in_their_pair_are_in_another_one)
{
	make();
	for (uintptr_t pc = 1; pc <= HP_WALK_NEAR; pc++)
		hp_walk_keep(&walker, &(struct hp_cfi_row){ .pc = pc, .cfa_offset = (int)pc });
	for (uintptr_t pc = 1; pc <= HP_WALK_NEAR; pc++) {
		CHECK(find(pc) != NULL);
		CHECK_EQ(find(pc)->cfa_offset, (int)pc);
	}
	CHECK(find(HP_WALK_NEAR + 1) == NULL);
}

TEST(row, a_row_is_kept_even_if_there_is_no_room)
{
	int found = 0;

	make();
	for (uintptr_t pc = 1; pc <= HP_WALK_NEAR + 1; pc++)
		hp_walk_keep(&walker, &(struct hp_cfi_row){ .pc = pc });
	for (uintptr_t pc = 1; pc <= HP_WALK_NEAR + 1; pc++)
		found += find(pc) != NULL;
	CHECK_EQ(found, HP_WALK_NEAR);
	CHECK(hp_walk_pair(&walker, HP_WALK_NEAR + 1)->pc == HP_WALK_NEAR + 1);
}
