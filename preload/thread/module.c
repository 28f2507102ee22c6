/* SPDX-License-Identifier: MIT */
/*
 * module.c - which object an address belongs to.
 *
 * Called once per function and thread. It searches the recorded modules, then
 * uses _dl_find_object (glibc 2.35), which takes no lock and so is safe in
 * signal handlers and in a forked child where the loader's lock stayed locked.
 * Older C libraries only have dl_iterate_phdr.
 */
#include "preload/thread/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "preload/guest/above.h"
#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/thread/process.h"
#include "util/find_object.h"
#include "util/hash.h"

/* The loader's information about an address. */
struct found {
	uintptr_t begin, end, bias;
	const char *name;	/* "" = the executable */
};

/* 64 bits: a program that keeps opening and closing libraries passes 2^32 within hours. */
static uint64_t generation;

uint64_t hp_module_generation(void)
{
	return __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
}

struct question {
	uintptr_t address;
	struct found *answer;
};

static int phdr_look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct question *question = data;
	struct found span = { .begin = UINTPTR_MAX,
			      .bias = info->dlpi_addr,
			      .name = info->dlpi_name };
	bool holds = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;

		if (p->p_type != PT_LOAD)
			continue;
		holds |= question->address >= begin && question->address < end;
		span.begin = begin < span.begin ? begin : span.begin;
		span.end = end > span.end ? end : span.end;
	}
	if (!holds)
		return 0;
	*question->answer = span;
	return 1;
}

static bool ask(uintptr_t address, struct found *found)
{
	struct question question = { address, found };
	struct hp_find_object object;

	if (!hp_find_object)
		return dl_iterate_phdr(phdr_look, &question) == 1;
	if (hp_find_object((void *)address, &object) != 0 || !object.link_map)
		return false;
	*found = (struct found){ .begin = (uintptr_t)object.map_start,
				 .end = (uintptr_t)object.map_end,
				 .bias = object.link_map->l_addr,
				 .name = object.link_map->l_name };
	return true;
}

/* The executable, which is never unloaded: each forked child needs it. `end` is set last. */
static struct {
	uintptr_t begin, bias;
	_Atomic uintptr_t end;
} program;

static void program_keep(const struct found *found)
{
	if (found->name[0] || atomic_load_explicit(&program.end, memory_order_relaxed))
		return;
	/* Threads that do this at once store the same. */
	__atomic_store_n(&program.begin, found->begin, __ATOMIC_RELAXED);
	__atomic_store_n(&program.bias, found->bias, __ATOMIC_RELAXED);
	atomic_store_explicit(&program.end, found->end, memory_order_release);
}

static bool find(uintptr_t address, struct found *found)
{
	uintptr_t end = atomic_load_explicit(&program.end, memory_order_acquire);

	if (address < end && address >= program.begin) {
		*found = (struct found){ program.begin, end, program.bias, "" };
		return true;
	}
	if (!ask(address, found))
		return false;
	program_keep(found);
	return true;
}

/* The NT_GNU_BUILD_ID of a mapped ELF file: its size, 0 = none. */
static uint32_t note_build_id(const char *note, const char *end, uint8_t id[32])
{
	while (end - note >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)note;
		const char *name = note + sizeof(*n);
		const char *text = name + ((n->n_namesz + 3u) & ~3u);

		if (n->n_namesz > 4096 || n->n_descsz > 4096 || text + n->n_descsz > end)
			return 0;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
		    memcmp(name, "GNU", 4) == 0) {
			uint32_t size = n->n_descsz < 32 ? n->n_descsz : 32;

			memcpy(id, text, size);
			return size;
		}
		note = text + ((n->n_descsz + 3u) & ~3u);
	}
	return 0;
}

/* What tells an object from others. */
struct identity {
	const char *path;
	uint8_t id[32];	/* the build-id */
	uint32_t id_size;
	uint64_t shape;	/* see hp_object */
};

/* The program headers; NULL = they are not there. */
static const ElfW(Phdr) * headers_of(const struct found *found)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)found->begin;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > 4096 ||
	    header->e_phnum > 64)
		return NULL;
	return (const ElfW(Phdr) *)(found->begin + header->e_phoff);
}

/* NULL = not within the object. */
static const char *part_of(const struct found *found, const ElfW(Phdr) * p)
{
	uintptr_t begin = found->bias + p->p_vaddr;
	bool is_inside =
		begin >= found->begin && begin <= found->end && p->p_memsz <= found->end - begin;

	return is_inside ? (const char *)begin : NULL;
}

static void build_id(const struct found *found, const ElfW(Phdr) * p, struct identity *identity)
{
	const char *note = part_of(found, p);

	if (note && !identity->id_size)
		identity->id_size = note_build_id(note, note + p->p_memsz, identity->id);
}

/* Sizes in the file's headers: another build of it hardly has the same ones. */
static uint64_t shape_of(const ElfW(Ehdr) * header, const ElfW(Phdr) * p)
{
	uint64_t hash = hp_hash_add(header->e_entry, header->e_shoff);

	for (int i = 0; i < header->e_phnum; i++) {
		hash = hp_hash_add(hash, p[i].p_vaddr);
		hash = hp_hash_add(hash, (uint64_t)p[i].p_type << 32 ^ p[i].p_memsz);
	}
	return hash | 1;
}

static void identify(const struct found *found, struct identity *identity)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)found->begin;
	const ElfW(Phdr) *p = headers_of(found);

	if (!p)
		return;
	for (int i = 0; i < header->e_phnum; i++)
		if (p[i].p_type == PT_NOTE)
			build_id(found, &p[i], identity);
	identity->shape = shape_of(header, p);
}

static uint64_t text_new(const char *bytes, size_t length, bool is_searched)
{
	uint64_t size = sizeof(struct hp_text) + length + 1;
	uint64_t offset = is_searched ? hp_segment_take_searched(&hp_segment, size)
				      : hp_segment_take(&hp_segment, size, HP_LINE);
	struct hp_text *text = hp_segment_at(&hp_segment, offset, size);

	if (!text)
		return 0;
	text->length = (uint32_t)length;
	memcpy(text->bytes, bytes, length);
	return offset;
}

uint64_t hp_text_new(const char *bytes, size_t length)
{
	return text_new(bytes, length, false);
}

static bool is_same(const struct hp_object *object, const struct identity *identity)
{
	const struct hp_text *text =
		(const struct hp_text *)((char *)hp_segment.header + object->path);

	return object->shape == identity->shape && object->build_id_size == identity->id_size &&
	       memcmp(object->build_id, identity->id, identity->id_size) == 0 && object->path &&
	       strcmp(text->bytes, identity->path) == 0;
}

static struct hp_object *object_known(const struct identity *identity)
{
	uint64_t at = atomic_load_explicit(&hp_segment.header->objects, memory_order_acquire);

	while (at) {
		struct hp_object *o = (struct hp_object *)((char *)hp_segment.header + at);

		if (is_same(o, identity))
			return o;
		at = o->next;
	}
	return NULL;
}

static uint64_t object_at(const struct found *found, const char *path)
{
	struct identity identity = { .path = path };
	struct hp_object *object;
	uint64_t offset;

	identify(found, &identity);
	object = object_known(&identity);
	if (object)
		return hp_segment_offset(&hp_segment, object);
	offset = hp_segment_take_searched(&hp_segment, sizeof(*object));
	object = hp_segment_at(&hp_segment, offset, sizeof(*object));
	if (!object)
		return 0;
	object->kind = HP_OBJECT_ELF;
	object->build_id_size = identity.id_size;
	memcpy(object->build_id, identity.id, sizeof(identity.id));
	object->shape = identity.shape;
	object->path = text_new(path, strlen(path), true);
	hp_list_push(&hp_segment.header->objects, offset, &object->next);
	return offset;
}

/* As passed to execve: useless unless absolute, since the current folder may have changed. */
static void name_without_proc(char path[HP_PAGE])
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	size_t size = name && *name == '/' ? strnlen(name, HP_PAGE - 1) : 0;

	memcpy(path, name, size);
	path[size] = 0;
}

static uint64_t executable;	/* inherited by forked children, which may not be allowed to read it */

void hp_module_forget(void)
{
	__atomic_store_n(&executable, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
}

/* The executable's path goes to one of our pages, since we may be on a small signal stack. */
static uint64_t object_of(const struct found *found)
{
	uint64_t object = __atomic_load_n(&executable, __ATOMIC_RELAXED);
	char *path;
	int saved = errno;
	ssize_t size;

	if (found->name[0])
		return object_at(found, found->name);
	if (object || hp_is_confined())
		return object;
	path = hp_page_borrow();
	if (!path)
		return 0;
	size = readlink("/proc/self/exe", path, HP_PAGE - 1);
	if (size >= 0)
		path[size] = 0;
	else
		name_without_proc(path);
	object = object_at(found, path);
	__atomic_store_n(&executable, object, __ATOMIC_RELAXED);
	hp_page_return(path);
	errno = saved;
	return object;
}

static struct hp_module *module_new(const struct found *found, uint64_t object)
{
	struct hp_process *process = hp_self->process;
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(struct hp_module), HP_LINE);
	struct hp_module *module = hp_segment_at(&hp_segment, offset, sizeof(*module));

	if (!module)
		return NULL;
	module->object = object;
	module->bias = found->bias;
	module->begin = found->begin;
	module->end = found->end;
	module->from = atomic_load_explicit(&process->generation, memory_order_relaxed);
	if (!module->object)
		return NULL;
	hp_list_push(&process->modules, offset, &module->next);
	return module;
}

static struct hp_module *module_next(uint64_t at)
{
	return at ? (struct hp_module *)((char *)hp_segment.header + at) : NULL;
}

static struct hp_module *module_first(void)
{
	struct hp_process *process = hp_self->process;

	return process ? module_next(atomic_load_explicit(&process->modules, memory_order_acquire))
		       : NULL;
}

static struct hp_module *module_known(uintptr_t address)
{
	for (struct hp_module *m = module_first(); m; m = module_next(m->next))
		if (address >= m->begin && address < m->end &&
		    atomic_load_explicit(&m->to, memory_order_relaxed) == 0)
			return m;
	return NULL;
}

/* The same object was loaded before and is back. */
static struct hp_module *module_back(const struct found *found, uint64_t object)
{
	for (struct hp_module *m = module_first(); m && object; m = module_next(m->next))
		if (m->object == object && m->bias == found->bias && m->begin == found->begin &&
		    m->end == found->end) {
			atomic_store_explicit(&m->to, 0, memory_order_relaxed);
			return m;
		}
	return NULL;
}

const struct hp_module *hp_module_of(uintptr_t address)
{
	struct hp_module *module;
	struct found found;
	uint64_t object;

	if (!hp_self->process)
		return NULL;
	module = module_known(address);
	if (module)
		return module;
	if (!find(address, &found))
		return NULL;
	object = object_of(&found);
	module = module_back(&found, object);
	return module ? module : module_new(&found, object);
}

const struct hp_module *hp_module_with(uint64_t object)
{
	for (const struct hp_module *m = module_first(); m; m = module_next(m->next))
		if (m->object == object && atomic_load_explicit(&m->to, memory_order_relaxed) == 0)
			return m;
	return NULL;
}

/* Is it an object of this file? Any process of the session may have written it, at any time. */
static bool is_of(uint64_t object, const char *file)
{
	const struct hp_object *o = hp_segment_at(&hp_segment, object, sizeof(*o));
	size_t size = strlen(file) + 1;
	const struct hp_text *text =
		o ? hp_segment_at(&hp_segment, o->path, sizeof(*text) + size) : NULL;

	return text && memcmp(text->bytes, file, size) == 0;
}

/* Objects that were loaded with the program: this one, whose stand-ins are on many paths, and those behind it. */
static uintptr_t loaded_at(uint32_t i)
{
	return i ? hp_real_object(i - 1) : (uintptr_t)&generation;
}

const struct hp_module *hp_module_loaded(uint64_t object)
{
	const struct hp_module *module = hp_module_with(object);
	uintptr_t begin;
	struct found found;

	for (uint32_t i = 0; !module && (begin = loaded_at(i)); i++)
		if (find(begin, &found) && found.name[0] && is_of(object, found.name) &&
		    !module_known(begin) && object_at(&found, found.name) == object)
			return module_new(&found, object);
	return module;
}

bool hp_module_span(uintptr_t address, struct hp_module *module)
{
	struct found found;

	if (!find(address, &found))
		return false;
	module->begin = found.begin;
	module->end = found.end;
	module->bias = found.bias;
	return true;
}

/* Unloaded, or replaced by another object at the same place, perhaps of the same size. */
static bool is_gone(const struct hp_module *module)
{
	struct found found;

	return !find(module->begin, &found) || found.begin != module->begin ||
	       found.end != module->end || found.bias != module->bias ||
	       (found.name[0] && object_at(&found, found.name) != module->object);
}

/* 0 says that the module is there. */
static uint32_t generation_next(struct hp_process *process)
{
	uint32_t now = atomic_fetch_add_explicit(&process->generation, 1, memory_order_relaxed) + 1;

	return now ? now : generation_next(process);
}

static void module_end(struct hp_module *module)
{
	atomic_store_explicit(&module->to, generation_next(hp_self->process), memory_order_relaxed);
	__atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
	HP_ABOVE(forget, module->begin, module->end);
}

/* Inside dl_iterate_phdr: no object is loaded or unloaded while we hold the loader's lock. */
static int sweep(struct dl_phdr_info *info, size_t size, void *data)
{
	/* Last seen number of unloaded objects; guarded by the loader's lock. */
	static uint64_t gone;

	(void)data;
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
		if (info->dlpi_subs == gone)
			return 1;
		gone = info->dlpi_subs;
	}
	for (struct hp_module *m = module_first(); m; m = module_next(m->next))
		if (atomic_load_explicit(&m->to, memory_order_relaxed) == 0 && is_gone(m))
			module_end(m);
	return 1;
}

void hp_module_sweep(void)
{
	dl_iterate_phdr(sweep, NULL);
}

void hp_module_leaves(uintptr_t address)
{
	struct hp_module *module = module_known(address);

	if (module)
		module_end(module);
}
