/* SPDX-License-Identifier: MIT */
/*
 * alloc.c - reads the heaps of a segment and sums them up.
 *
 * As in report/read/model.c every record is copied before it is examined, and each step
 * is accepted only if its caller was read before.  The counters of paths are
 * read by site.c.
 */
#include "report/section/memory/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "report/section/memory/site.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "segment/layout/process.h"
#include "util/hash.h"

#define LEAVE_STEPS (1 << 18) /* some 4 MiB of the segment */

/* Facts about a heap.  Steps never change, and new ones come after them. */
struct known {
	uint64_t chunk;	/* the newest one read */
	uint32_t count;	/* of its steps */
	struct hp_alloc_sites sites;
};

/* State that outlives a refresh of a running program: the tree of paths, and their sums. */
struct hp_alloc_build {
	struct hp_map objects;	/* offset -> place + 1 */
	struct hp_map heaps;	/* offset -> place in known */
	struct known *known;
	size_t known_count;
	size_t known_room;
	struct hp_alloc_places places;
	struct hp_alloc_tree tree;
	struct hp_alloc_change *pending;	/* blocks that are in no site yet, at the last refresh */
	size_t pending_count;
	size_t pending_room;
	bool is_once;	/* no refresh was expected: the next one starts from scratch, too */
	bool is_broken;	/* something was missing: the next refresh starts from scratch */
};

struct build {
	struct hp_alloc_build *kept;
	struct hp_alloc *alloc;
	struct hp_model *model;
	size_t thread_room;
	size_t map_room;
	uint64_t *chunks;
	size_t chunk_room;
};

/* --- steps --- */

/* It may have grown, and moved. */
static void tree_tell(struct hp_alloc *alloc)
{
	const struct hp_alloc_tree *tree = &alloc->build->tree;

	alloc->steps = tree->steps;
	alloc->count = tree->count;
	alloc->code_count = tree->code_count;
}

static bool is_object(struct build *b, const struct hp_object *record,
		      const struct hp_model_object *object)
{
	char *path;
	bool is_it;

	if (record->build_id_size != object->build_id_size || record->kind != object->kind ||
	    record->device != object->device || record->inode != object->inode ||
	    memcmp(record->build_id, object->build_id, object->build_id_size) != 0)
		return false;
	path = hp_reader_text(&b->model->reader, record->path);
	is_it = strcmp(path ? path : "", object->path) == 0;
	free(path);
	return is_it;
}

/* The place of the model's object at `offset`, or HP_NONE. */
static uint32_t object_place(struct build *b, uint64_t offset)
{
	struct hp_object record;
	const uint32_t *known = hp_map_find(&b->kept->objects, offset);
	uint32_t *place;
	bool is_new;

	if (known)
		return *known - 1;
	if (!offset || !hp_reader_copy(&b->model->reader, offset, &record, sizeof(record)))
		return HP_NONE;
	place = hp_map_at(&b->kept->objects, offset, &is_new);
	for (size_t i = 0; i < b->model->object_count; i++)
		if (is_object(b, &record, &b->model->objects[i]))
			*place = (uint32_t)i + 1;
	/* Newer than the model's list, or the segment is damaged. */
	b->kept->is_broken |= *place == 0;
	return *place - 1;
}

static void add_step(struct build *b, uint64_t id, const struct hp_step *record)
{
	struct hp_alloc_step step = { .object = HP_NONE };

	/* A missing caller attaches the path to the root. */
	step.caller = hp_alloc_place_of(&b->kept->places, record->caller);
	if (record->object & HP_STEP_PLAIN) {
		step.address = (uint64_t)(record->object & ~HP_STEP_PLAIN) << 32 | record->address;
	} else if (record->object) {
		step.object = object_place(b, (uint64_t)record->object * HP_LINE);
		step.address = record->address;
	} else {
		step.mark = record->address ? record->address : HP_STEP_OTHER;
	}
	if (id < b->kept->places.count)
		b->kept->places.of[id] = hp_alloc_tree_step(&b->kept->tree, &step);
}

static uint32_t steps_in(const struct hp_steps *chunk)
{
	return chunk->count < chunk->capacity ? chunk->count : chunk->capacity;
}

/* The steps of a chunk from the `first` on; returns how many there are. */
static uint32_t read_chunk(struct build *b, uint64_t at, uint32_t first)
{
	struct hp_steps chunk;
	const struct hp_step *steps;
	uint32_t count;

	if (!hp_reader_copy(&b->model->reader, at, &chunk, sizeof(chunk))) {
		b->kept->is_broken = true;
		return 0;
	}
	count = steps_in(&chunk);
	steps = hp_reader_take(&b->model->reader, at + sizeof(chunk), count * sizeof(*steps));
	for (uint32_t i = first; steps && i < count; i++) {
		struct hp_step step;

		memcpy(&step, &steps[i], sizeof(step));
		add_step(b, (at + sizeof(chunk)) / sizeof(step) + i, &step);
	}
	return count;
}

static struct known *known_of(struct build *b, uint64_t heap)
{
	struct hp_alloc_build *kept = b->kept;
	bool is_new;
	uint32_t *place = hp_map_at(&kept->heaps, heap, &is_new);

	if (is_new) {
		kept->known = hp_xgrow(kept->known, kept->known_count, &kept->known_room,
				       sizeof(*kept->known));
		*place = (uint32_t)kept->known_count++;
		kept->known[*place] = (struct known){ .chunk = 0 };
	}
	return &kept->known[*place];
}

/* The list is newest first, and a caller is older than its callees. */
static void read_steps(struct build *b, uint64_t heap, uint64_t first)
{
	struct known *known = known_of(b, heap);
	struct hp_steps chunk;
	size_t count = 0;
	uint64_t at = first, steps = 0, most;

	for (; at != known->chunk && hp_reader_step(&b->model->reader, at, &chunk, sizeof(chunk));
	     at = chunk.next) {
		b->chunks = hp_xgrow(b->chunks, count, &b->chunk_room, sizeof(*b->chunks));
		b->chunks[count++] = at;
		steps += steps_in(&chunk);
	}
	b->kept->is_broken |= at != known->chunk;
	/* A damaged segment may contain any number. */
	most = b->model->reader.segment.size / sizeof(struct hp_step);
	hp_alloc_tree_reserve(&b->kept->tree, steps < most ? steps : most);
	if (known->chunk)
		known->count = read_chunk(b, known->chunk, known->count);
	while (count-- > 0)
		known->count = read_chunk(b, b->chunks[count], 0);
	known->chunk = first;
	tree_tell(b->alloc);
	if (b->kept->is_once && steps >= LEAVE_STEPS)
		hp_reader_pages_leave(&b->model->reader);
}

/* --- sites --- */

/* A block pending at the previous refresh is in its site now, or pending again. */
static void pending_take_back(struct hp_alloc *alloc)
{
	static const struct hp_alloc_sum none = { .count = 0 };
	struct hp_alloc_build *kept = alloc->build;

	for (size_t i = 0; i < kept->pending_count; i++) {
		struct hp_alloc_sum less = hp_alloc_difference(&none, &kept->pending[i].sum);

		hp_alloc_count(alloc, kept->pending[i].place, &less);
	}
	kept->pending_count = 0;
}

/* The newest block of the heap's thread is in no site yet. */
static void add_pending(struct build *b, const struct hp_heap *heap, bool is_peak_now)
{
	struct hp_alloc_sum sum = { .count = 1,
				    .bytes = heap->pending_bytes,
				    .live = 1,
				    .live_bytes = (int64_t)heap->pending_bytes };
	struct hp_alloc_build *kept = b->kept;
	struct hp_site site;
	uint32_t step;

	if (!heap->pending ||
	    !hp_reader_copy(&b->model->reader, heap->pending, &site, sizeof(site)))
		return;
	sum.peak_bytes = is_peak_now ? sum.live_bytes : 0;
	step = hp_alloc_place_of(&kept->places, site.step);
	hp_alloc_count(b->alloc, step, &sum);
	kept->pending = hp_xgrow(kept->pending, kept->pending_count, &kept->pending_room,
				 sizeof(*kept->pending));
	kept->pending[kept->pending_count++] = (struct hp_alloc_change){ step, sum };
}

static void read_sites(struct build *b, struct known *known, const struct hp_heap *heap,
		       const struct hp_alloc_peak *peak)
{
	known->sites.is_once = b->kept->is_once;
	if (!hp_alloc_sites_look(&known->sites, b->alloc, &b->model->reader, heap->sites, peak,
				 &b->kept->places))
		b->kept->is_broken = true;
	add_pending(b, heap, peak->is_now);
}

struct hp_alloc_sampled hp_alloc_sampled(struct hp_model *model,
					 const struct hp_alloc_spread *spread)
{
	struct hp_alloc_sampled sampled = { .sizes = { 0 } };
	struct hp_spread_of_blocks record;

	if (!hp_reader_copy(&model->reader, spread->offset, &record, sizeof(record)))
		return sampled;
	for (int i = 0; i < HP_SIZE_CLASSES; i++)
		sampled.sizes[i] = record.sizes[i];
	for (int i = 0; i < HP_LIFE_CLASSES; i++)
		sampled.lives[i] = record.lives[i];
	return sampled;
}

/* --- direct maps --- */

static void add_map(struct build *b, const struct hp_site *site, const struct hp_alloc_sum *sum)
{
	struct hp_alloc *alloc = b->alloc;

	alloc->maps = hp_xgrow(alloc->maps, alloc->map_count, &b->map_room, sizeof(*alloc->maps));
	alloc->maps[alloc->map_count++] = (struct hp_alloc_map){
		.step = hp_alloc_place_of(&b->kept->places, site->step),
		.kinds = (uint32_t)site->kinds,
		.sum = *sum,
	};
}

static void read_map_sites(struct build *b, const struct hp_heap *heap, const struct hp_maps *maps)
{
	struct hp_alloc_peak peak = {
		.epoch = maps->epoch,
		.is_now = hp_alloc_minus(maps->live, maps->folded_live) > maps->peak,
	};
	struct hp_site site;

	for (uint64_t at = heap->map_sites;
	     hp_reader_step(&b->model->reader, at, &site, sizeof(site)); at = site.next) {
		struct hp_alloc_sum sum = hp_alloc_site_sum(&site, &peak);

		sum.live = hp_alloc_plus(sum.live, (int64_t)site.splits);
		if (sum.count)
			add_map(b, &site, &sum);
	}
}

/* The heaps of the threads that mapped something lead to the process's one record. */
static bool find_maps(struct build *b, const struct hp_process *process, struct hp_maps *maps)
{
	struct hp_heap heap;

	for (uint64_t at = process->heaps;
	     hp_reader_step(&b->model->reader, at, &heap, sizeof(heap)); at = heap.next)
		if (heap.maps && hp_reader_copy(&b->model->reader, heap.maps, maps, sizeof(*maps)))
			return true;
	return false;
}

static void read_maps(struct build *b, const struct hp_process *process)
{
	struct hp_alloc_mapped *mapped = &b->alloc->mapped;
	struct hp_maps maps;
	struct hp_heap heap;
	int64_t now;

	if (!find_maps(b, process, &maps))
		return;
	for (uint64_t at = process->heaps;
	     hp_reader_step(&b->model->reader, at, &heap, sizeof(heap)); at = heap.next)
		read_map_sites(b, &heap, &maps);
	now = hp_alloc_minus(maps.live, maps.folded_live);
	mapped->lost += maps.lost;
	mapped->fault = mapped->fault ? mapped->fault : maps.fault;
	mapped->peak_bytes =
		hp_alloc_plus(mapped->peak_bytes,
			      hp_alloc_plus(maps.folded_peak, now > maps.peak ? now : maps.peak));
}

/* --- heaps and processes --- */

static void add_thread(struct build *b, const struct hp_heap *heap)
{
	struct hp_alloc *alloc = b->alloc;
	uint64_t bytes = heap->bytes + heap->temporary_bytes;
	struct hp_alloc_thread *thread;

	alloc->threads = hp_xgrow(alloc->threads, alloc->thread_count, &b->thread_room,
				  sizeof(*alloc->threads));
	thread = &alloc->threads[alloc->thread_count++];
	*thread = (struct hp_alloc_thread){
		.pid = heap->pid,
		.tid = heap->tid,
		.bytes = bytes - heap->first_bytes,
		.all_bytes = bytes,
		.all_freed_bytes = bytes - (uint64_t)heap->live,
	};
	thread->freed_bytes =
		thread->bytes - (uint64_t)hp_alloc_minus(heap->live, heap->first_live);
	/* The pending block is allocated and not freed. */
	thread->bytes += heap->pending_bytes;
	thread->all_bytes += heap->pending_bytes;
}

static void add_sampled(struct hp_alloc *alloc, const struct hp_heap *heap)
{
	for (int i = 0; i < HP_SIZE_CLASSES; i++)
		alloc->sampled.sizes[i] += heap->sizes[i];
	for (int i = 0; i < HP_LIFE_CLASSES; i++)
		alloc->sampled.lives[i] += heap->lives[i];
	alloc->sampled_lost += heap->sampled_lost;
}

static void add_stats(struct hp_alloc_stats *stats, const struct hp_heap *heap)
{
	stats->walks += heap->walks;
	stats->incomplete += heap->incomplete;
	stats->cut += heap->cut;
	stats->unproven += heap->unproven;
	stats->proofs += heap->proofs;
	stats->mismatches += heap->mismatches;
	stats->strange_frees += heap->strange_frees;
	stats->folded += heap->folded_sites;
}

/* True if the process holds more now than at its last noted peak. */
static bool is_peak_at_end(struct build *b, const struct hp_process *process)
{
	struct hp_heap heap;
	int64_t live = 0;

	for (uint64_t at = process->heaps;
	     hp_reader_step(&b->model->reader, at, &heap, sizeof(heap)); at = heap.next)
		live = hp_alloc_plus(
			live, hp_alloc_minus(hp_alloc_plus(heap.live, (int64_t)heap.pending_bytes),
					     heap.folded_live));
	return live > process->heap_peak;
}

/* The current ones: the steps of the sites of the heap's copy are included. */
static uint64_t steps_now(struct build *b, uint64_t heap)
{
	const struct hp_heap *there = hp_reader_see(&b->model->reader, heap, sizeof(*there));

	return there ? atomic_load_explicit(&there->steps, memory_order_acquire) : 0;
}

static char *allocator_file(struct build *b, const struct hp_process *process)
{
	return process->allocator_file ? hp_label_text(&b->model->reader, process->allocator_file)
				       : NULL;
}

/* Blocks of the process, or of an earlier one of its record, are in no figure. */
static void read_unseen(struct build *b, const struct hp_process *process)
{
	uint32_t kind = process->allocator & ~(HP_ALLOCATOR_NEW | HP_ALLOCATOR_EARLIER);
	bool is_unseen = kind == HP_ALLOCATOR_INSIDE || kind == HP_ALLOCATOR_BEFORE;
	struct hp_alloc *alloc = b->alloc;
	char *file;

	alloc->has_unseen_more |= (process->allocator & HP_ALLOCATOR_EARLIER) != 0;
	if (!is_unseen)
		return;
	file = allocator_file(b, process);
	if (!alloc->unseen_kind) {
		alloc->unseen_kind = kind;
		alloc->unseen_file = file;
		return;
	}
	alloc->has_unseen_more |=
		!file || !alloc->unseen_file || strcmp(file, alloc->unseen_file) != 0;
	free(file);
}

static void read_process(struct build *b, const struct hp_process *process)
{
	struct hp_alloc_peak peak = { .epoch = process->heap_epoch,
				      .is_now = is_peak_at_end(b, process) };
	struct hp_heap heap;

	b->alloc->is_recorded |= process->heaps != 0;
	if (process->allocator &&
	    (!b->alloc->allocator || process->pid == b->model->reader.header.root_pid)) {
		b->alloc->allocator =
			process->allocator & ~(HP_ALLOCATOR_NEW | HP_ALLOCATOR_EARLIER);
		b->alloc->has_new = process->allocator & HP_ALLOCATOR_NEW;
		free(b->alloc->allocator_file);
		b->alloc->allocator_file = allocator_file(b, process);
	}
	read_unseen(b, process);
	for (uint64_t at = process->heaps;
	     hp_reader_step(&b->model->reader, at, &heap, sizeof(heap)); at = heap.next) {
		read_steps(b, at, steps_now(b, at));
		read_sites(b, known_of(b, at), &heap, &peak);
		add_thread(b, &heap);
		add_stats(&b->alloc->stats, &heap);
		add_sampled(b->alloc, &heap);
		b->alloc->leak_scans += heap.leak_scans;
		b->alloc->left += heap.left;
		b->alloc->left_bytes += heap.left_bytes;
		if (heap.leak_state && process->pid == b->model->reader.header.root_pid)
			b->alloc->leak_state = heap.leak_state;
	}
	read_maps(b, process);
}

/* All that only a refresh needs, except the steps. */
static void build_finish(struct hp_alloc_build *kept)
{
	hp_map_release(&kept->objects);
	hp_alloc_tree_finish(&kept->tree);
	hp_map_release(&kept->heaps);
	for (size_t i = 0; i < kept->known_count; i++)
		hp_alloc_sites_release(&kept->known[i].sites);
	free(kept->known);
	kept->known = NULL;
	kept->known_count = 0;
	hp_xsparse_free(kept->places.of, kept->places.count, sizeof(*kept->places.of));
	kept->places = (struct hp_alloc_places){ .of = NULL };
}

static void build_free(struct hp_alloc_build *kept)
{
	if (!kept)
		return;
	build_finish(kept);
	hp_alloc_tree_release(&kept->tree);
	free(kept->pending);
	free(kept);
}

static void places_grow(struct hp_alloc_places *places, size_t count)
{
	if (count <= places->count)
		return;
	count += count / 4;
	places->of = hp_xsparse(places->of, places->count, count, sizeof(*places->of));
	places->count = count;
}

/* Sums of a damaged segment may overflow. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t value)
{
	return (int64_t)(0 - (uint64_t)value);
}

/* Kept from refresh to refresh. */
static void clear(struct hp_alloc *alloc)
{
	int64_t raised = alloc->raised;

	free(alloc->threads);
	free(alloc->maps);
	free(alloc->allocator_file);
	free(alloc->unseen_file);
	*alloc = (struct hp_alloc){ .build = alloc->build,
				    .steps = alloc->steps,
				    .count = alloc->count,
				    .code_count = alloc->code_count,
				    .sums = alloc->sums,
				    .sum_count = alloc->sum_count,
				    .sum_room = alloc->sum_room,
				    .all = alloc->all,
				    .spreads = alloc->spreads,
				    .spread_count = alloc->spread_count,
				    .spread_room = alloc->spread_room,
				    .changes = alloc->changes };
	alloc->all.peak_bytes = plus(alloc->all.peak_bytes, minus(raised));
	pending_take_back(alloc);
}

static void begin(struct hp_alloc *alloc)
{
	if (alloc->build && (alloc->build->is_broken || alloc->build->is_once))
		hp_alloc_release(alloc);
	if (alloc->build) {
		clear(alloc);
		return;
	}
	memset(alloc, 0, sizeof(*alloc));
	alloc->is_fresh = true;
	alloc->build = hp_xcalloc(1, sizeof(*alloc->build));
	alloc->sums = hp_xgrow(NULL, 0, &alloc->sum_room, sizeof(*alloc->sums));
	alloc->sums[alloc->sum_count++] = (struct hp_alloc_sum){ .count = 0 };
	hp_alloc_tree_reserve(&alloc->build->tree, 0);
	tree_tell(alloc);
}

static void look(struct hp_alloc *alloc, struct hp_model *model, bool is_once)
{
	struct hp_reader *reader = &model->reader;
	struct build b = { .alloc = alloc, .model = model };
	uint64_t at = hp_reader_processes(reader);
	struct hp_process process;

	begin(alloc);
	b.kept = alloc->build;
	b.kept->is_once = is_once;
	places_grow(&b.kept->places, reader->segment.size / sizeof(struct hp_step));
	/* Enough steps for heaps that are walked four times. */
	hp_reader_restart(reader, 4);
	for (; hp_reader_step(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next))
		read_process(&b, &process);
	/* Threads notice a peak only within their grain: it was not below the current size. */
	if (alloc->all.peak_bytes < alloc->all.live_bytes)
		alloc->raised = plus(alloc->all.live_bytes, minus(alloc->all.peak_bytes));
	alloc->all.peak_bytes = plus(alloc->all.peak_bytes, alloc->raised);
	free(b.chunks);
	if (is_once) {
		build_finish(b.kept);
		hp_reader_pages_leave(reader);
	}
}

void hp_alloc_look(struct hp_alloc *alloc, struct hp_model *model)
{
	look(alloc, model, false);
}

void hp_alloc_init(struct hp_alloc *alloc, struct hp_model *model)
{
	memset(alloc, 0, sizeof(*alloc));
	look(alloc, model, true);
}

void hp_alloc_release(struct hp_alloc *alloc)
{
	free(alloc->threads);
	free(alloc->maps);
	free(alloc->allocator_file);
	free(alloc->unseen_file);
	free(alloc->spreads);
	free(alloc->sums);
	hp_alloc_changes_release(&alloc->changes);
	build_free(alloc->build);
	memset(alloc, 0, sizeof(*alloc));
}
