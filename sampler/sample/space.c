/* SPDX-License-Identifier: MIT */
/*
 * space.c - see space.h.
 */
#include "sampler/sample/space.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sampler/base/proc.h"
#include "sampler/base/user.h"
#include "segment/clock.h"
#include "segment/layout/process.h"
#include "util/open_as.h"

#define READ_AGAIN_NS UINT64_C(20000000)	/* between two reads of the same maps, at least */
#define ENDED_MAX 512	/* spaces of ended processes that are kept for a while */
#define OBJECTS_MAX 100000	/* a damaged list must not cause an endless loop */
#define NOTES_MAX 65536

void hp_spaces_init(struct hp_spaces *spaces, const struct hp_segment *segment)
{
	memset(spaces, 0, sizeof(*spaces));
	spaces->segment = segment;
	spaces->self = (uint32_t)getpid();
}

static void space_free(struct hp_space *space)
{
	free(space->maps);
	free(space);
}

void hp_spaces_release(struct hp_spaces *spaces)
{
	for (int i = 0; i < HP_SPACE_BUCKETS; i++) {
		for (struct hp_space *s = spaces->buckets[i], *next; s; s = next) {
			next = s->next;
			space_free(s);
		}
		for (struct hp_code *c = spaces->codes[i], *next; c; c = next) {
			next = c->next;
			if (c->span)
				munmap(c->span, c->span_size);
			free(c->path);
			free(c);
		}
	}
	memset(spaces, 0, sizeof(*spaces));
}

/* ---- objects in the segment ---- */

struct identity {
	uint8_t build_id[32];
	uint32_t build_id_size;
};

static uint64_t text_new(const struct hp_segment *segment, const char *bytes)
{
	size_t length = strlen(bytes);
	uint64_t offset = hp_segment_take(segment, sizeof(struct hp_text) + length + 1, HP_LINE);
	struct hp_text *text = hp_segment_at(segment, offset, sizeof(*text) + length + 1);

	if (!text)
		return 0;
	text->length = (uint32_t)length;
	memcpy(text->bytes, bytes, length);
	return offset;
}

static bool is_path(const struct hp_segment *segment, uint64_t offset, const char *path)
{
	const struct hp_text *text =
		hp_segment_at(segment, offset, sizeof(*text) + strlen(path) + 1);

	/* Not by text->length: a member may write it meanwhile. */
	return text && text->length == strlen(path) && memcmp(text->bytes, path, strlen(path)) == 0;
}

/* An object in the target's own list: found by build-id, since the path may contain links. */
static uint64_t object_known(const struct hp_segment *segment, uint32_t kind, const char *path,
			     const struct identity *id)
{
	uint64_t at = atomic_load_explicit(&segment->header->objects, memory_order_acquire);
	const struct hp_object *object;

	for (int i = 0; i < OBJECTS_MAX; i++, at = object->next) {
		object = hp_segment_at(segment, at, sizeof(*object));
		if (!object)
			return 0;
		if (object->kind != kind || object->build_id_size != id->build_id_size)
			continue;
		if (id->build_id_size
			    ? memcmp(object->build_id, id->build_id, id->build_id_size) == 0
			    : is_path(segment, object->path, path))
			return at;
	}
	return 0;
}

/* One that the session's own processes map, too, belongs to them. */
static void object_share(const struct hp_segment *segment, uint64_t offset,
			 const struct hp_user *user)
{
	struct hp_object *object = hp_segment_at(segment, offset, sizeof(*object));

	if (object && !user->is_other &&
	    atomic_load_explicit(&object->has_user, memory_order_relaxed))
		atomic_store_explicit(&object->has_user, 0, memory_order_relaxed);
}

static uint32_t object_of(const struct hp_segment *segment, uint32_t kind, const char *path,
			  const struct identity *id, const struct hp_user *user)
{
	uint64_t offset = object_known(segment, kind, path, id);

	if (offset) {
		object_share(segment, offset, user);
		return (uint32_t)(offset / HP_LINE);
	}
	offset = hp_segment_take(segment, sizeof(struct hp_object), HP_LINE);
	struct hp_object *object = hp_segment_at(segment, offset, sizeof(*object));
	if (!object)
		return 0;
	object->kind = kind;
	object->build_id_size = id->build_id_size;
	memcpy(object->build_id, id->build_id, sizeof(object->build_id));
	object->path = text_new(segment, path);
	object->user = user->user;
	object->group = user->group;
	object->has_user = user->is_other;
	/* Any process of the session pushes to this list. */
	object->next = atomic_load_explicit(&segment->header->objects, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&segment->header->objects, &object->next,
						      offset, memory_order_release,
						      memory_order_relaxed))
		;
	return (uint32_t)(offset / HP_LINE);
}

uint32_t hp_spaces_kernel(struct hp_spaces *spaces)
{
	static const struct identity none;
	static const struct hp_user ourselves;

	if (!spaces->kernel)
		spaces->kernel =
			object_of(spaces->segment, HP_OBJECT_KERNEL, "[kernel]", &none, &ourselves);
	return spaces->kernel;
}

struct hp_user hp_spaces_user(const struct hp_spaces *spaces)
{
	const struct hp_levels *levels = hp_segment_levels(spaces->segment);

	return spaces->has_others || (levels && levels->count) ? hp_user_unknown()
							       : (struct hp_user){ false, 0, 0 };
}

uint32_t hp_spaces_object(struct hp_spaces *spaces, const char *path, const uint8_t *build_id,
			  size_t size)
{
	struct hp_user user = hp_spaces_user(spaces);
	uint32_t kind = strcmp(path, "[vdso]") == 0 ? HP_OBJECT_VDSO : HP_OBJECT_ELF;
	struct identity id = { .build_id_size = 0 };

	if (size <= sizeof(id.build_id)) {
		id.build_id_size = (uint32_t)size;
		memcpy(id.build_id, build_id, size);
	}
	return object_of(spaces->segment, kind, path, &id, &user);
}

/* ---- files ---- */

static void note_build_id(const uint8_t *notes, size_t size, struct identity *id)
{
	for (size_t at = 0; size - at >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		size_t text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > size - at || text > size - at - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0) {
			id->build_id_size = note.n_descsz < sizeof(id->build_id)
						    ? note.n_descsz
						    : (uint32_t)sizeof(id->build_id);
			memcpy(id->build_id, notes + at + name, id->build_id_size);
			return;
		}
		at += name + text;
	}
}

static void read_notes(int fd, const Elf64_Phdr *header, struct identity *id)
{
	size_t size = header->p_filesz < NOTES_MAX ? (size_t)header->p_filesz : NOTES_MAX;
	uint8_t *notes = malloc(size ? size : 1);
	ssize_t got = notes ? pread(fd, notes, size, (off_t)header->p_offset) : -1;

	if (got > 0)
		note_build_id(notes, (size_t)got, id);
	free(notes);
}

/* ---- call frame information ---- */

#define SPAN_MAX (UINT64_C(1) << 36)
#define PAGE UINT64_C(4096)
#define PE_OMIT 0xff
#define PE_PCREL_4 0x1b	/* a signed distance of 4 bytes: written by every linker */

static const Elf64_Phdr *load_with(const struct hp_code *code, uint64_t address)
{
	for (uint32_t i = 0; i < code->load_count; i++)
		if (address >= code->loads[i].p_vaddr &&
		    address - code->loads[i].p_vaddr < code->loads[i].p_filesz)
			return &code->loads[i];
	return NULL;
}

/*
 * Room for the whole file, so that each of its addresses is unique in our
 * process. None of it is readable yet.
 */
static bool span_take(struct hp_code *code)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < code->load_count; i++) {
		const Elf64_Phdr *p = &code->loads[i];

		low = p->p_vaddr < low ? p->p_vaddr : low;
		high = p->p_vaddr + p->p_memsz > high ? p->p_vaddr + p->p_memsz : high;
	}
	low &= ~(PAGE - 1);
	high = (high + PAGE - 1) & ~(PAGE - 1);
	if (low >= high || high - low > SPAN_MAX)
		return false;
	code->span_size = high - low;
	code->span = mmap(NULL, code->span_size, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (code->span == MAP_FAILED)
		code->span = NULL;
	code->bias = (uint64_t)(uintptr_t)code->span - low;
	return code->span != NULL;
}

/* The start of .eh_frame, according to its header; 0 = unusual encoding. */
static uint64_t frames_of(int fd, const Elf64_Phdr *header)
{
	uint8_t start[8];
	int32_t distance;

	if (pread(fd, start, sizeof(start), (off_t)header->p_offset) != (ssize_t)sizeof(start) ||
	    start[0] != 1 || start[1] != PE_PCREL_4)
		return 0;
	memcpy(&distance, start + 4, sizeof(distance));
	return header->p_vaddr + 4 + (uint64_t)(int64_t)distance;
}

/*
 * A copy, not a mapping: a file that is truncated meanwhile would kill us.
 * Header and frames are adjacent; the bytes after them in their segment are
 * included.
 */
static void cfi_read(struct hp_code *code, int fd, const Elf64_Phdr *header)
{
	uint64_t frames = frames_of(fd, header);
	uint64_t from = frames < header->p_vaddr ? frames : header->p_vaddr;
	const Elf64_Phdr *load = load_with(code, header->p_vaddr);

	if (!frames || !load || load_with(code, frames) != load || !span_take(code))
		return;
	uint64_t end = load->p_vaddr + load->p_filesz;
	uint8_t *to = (uint8_t *)(uintptr_t)(from + code->bias);
	uintptr_t page = (uintptr_t)to & ~(uintptr_t)(PAGE - 1);
	if (mprotect((void *)page, (uintptr_t)to + (end - from) - page, PROT_READ | PROT_WRITE) < 0)
		return;
	/* Accessed at random: see sampler/base/wide.h. */
	madvise((void *)page, (uintptr_t)to + (end - from) - page, MADV_HUGEPAGE);
	ssize_t got = pread(fd, to, end - from, (off_t)(load->p_offset + (from - load->p_vaddr)));
	if (got <= 0 || from + (uint64_t)got <= header->p_vaddr)
		return;
	code->cfi.begin = (uintptr_t)to;
	code->cfi.end = (uintptr_t)to + (uintptr_t)got;
	code->cfi.header = (const uint8_t *)(uintptr_t)(header->p_vaddr + code->bias);
}

/* All processes have the same one, and so do we. */
static void cfi_vdso(struct hp_code *code)
{
	uintptr_t base = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *p;

	if (!base)
		return;
	p = (const Elf64_Phdr *)(base + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD)
			code->cfi.end = base + p[i].p_vaddr + p[i].p_memsz;
		if (p[i].p_type == PT_GNU_EH_FRAME)
			code->cfi.header = (const uint8_t *)(base + p[i].p_vaddr);
	}
	code->cfi.begin = base;
	code->bias = base;
}

/*
 * As the kernel accepts it. One with more file bytes than memory would overwrite other
 * memory of ours.
 */
static bool is_load(const Elf64_Phdr *p)
{
	return p->p_type == PT_LOAD && p->p_filesz <= p->p_memsz &&
	       p->p_memsz <= UINT64_MAX - PAGE && p->p_vaddr <= UINT64_MAX - PAGE - p->p_memsz;
}

/* Loaded segments and build-id of an ELF file for this machine type. */
static void read_elf(struct hp_code *code, int fd, struct identity *id)
{
	Elf64_Phdr frames = { .p_type = PT_NULL };
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
		return;
	for (uint32_t i = 0; i < header.e_phnum; i++) {
		off_t place = (off_t)(header.e_phoff + i * sizeof(Elf64_Phdr));
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p), place) != (ssize_t)sizeof(p))
			return;
		if (p.p_type == PT_NOTE && !id->build_id_size)
			read_notes(fd, &p, id);
		if (is_load(&p) && code->load_count < HP_CODE_LOADS)
			code->loads[code->load_count++] = p;
		if (p.p_type == PT_GNU_EH_FRAME)
			frames = p;
	}
	if (frames.p_type)
		cfi_read(code, fd, &frames);
}

/* Takes over the descriptor; -1 = it is another file. */
static int same_file(const struct hp_code *code, int fd)
{
	struct stat status;

	if (fd < 0 || (fstat(fd, &status) == 0 && status.st_ino == code->inode))
		return fd;
	close(fd);
	return -1;
}

/* By the path in the process's namespace, which may be a pipe by now: do not block on it. */
static int file_open_there(const struct hp_code *code, uint32_t pid, const struct hp_user *user)
{
	char path[64];
	int root, fd;

	hp_proc_path(path, pid, "root");
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	fd = hp_openat_as(user, root, code->path + 1, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	close(root);
	return same_file(code, fd);
}

static int file_open(const struct hp_code *code, uint32_t pid, const struct hp_map_entry *where,
		     const struct hp_user *user)
{
	char path[PATH_MAX];
	int fd = file_open_there(code, pid, user);

	if (fd >= 0)
		return fd;
	/* It has this file mapped, so no rights are checked. */
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid,
		 (unsigned long long)where->begin, (unsigned long long)where->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* The process may be gone, but the file may be at the same path for us. */
	return fd >= 0 ? fd
		       : same_file(code,
				   hp_openat_as(user, AT_FDCWD, code->path,
						O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

/*
 * Records of anonymous memory contain "//anon" (/proc/PID/maps nothing), and the path
 * may meanwhile name a file, whose name would be given to all code made at run time.
 */
static bool is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/';
}

/* Memory with a name and no file: compilers inside the process map their code from it, too. */
static bool is_memory(const char *path)
{
	return strncmp(path, "/memfd:", strlen("/memfd:")) == 0;
}

static void code_fill(struct hp_spaces *spaces, struct hp_code *code, uint32_t pid,
		      const struct hp_map_entry *where)
{
	struct identity id = { .build_id_size = 0 };
	uint32_t kind = HP_OBJECT_ELF;
	struct hp_user user = hp_spaces_user(spaces);
	char name[64];

	hp_proc_user(pid, &user);
	spaces->has_others |= user.is_other;
	if (is_file(code->path)) {
		int fd = file_open(code, pid, where, &user);

		if (fd >= 0) {
			read_elf(code, fd, &id);
			close(fd);
		}
		if (code->load_count || !is_memory(code->path)) {
			code->object = object_of(spaces->segment, kind, code->path, &id, &user);
			return;
		}
	}
	/* Data that compilers inside the process provide for profilers, if any. */
	kind = strcmp(code->path, "[vdso]") == 0 ? HP_OBJECT_VDSO : HP_OBJECT_ANONYMOUS;
	snprintf(name, sizeof(name), "/tmp/perf-%u.map", pid);
	code->object = object_of(spaces->segment, kind, kind == HP_OBJECT_VDSO ? code->path : name,
				 &id, &user);
	if (kind == HP_OBJECT_VDSO) {
		code->load_count = 1;
		code->loads[0] = (Elf64_Phdr){ .p_filesz = UINT64_MAX };
		cfi_vdso(code);
	}
}

static struct hp_code *code_of(struct hp_spaces *spaces, uint32_t pid,
			       const struct hp_map_entry *where, const char *path, uint64_t device,
			       uint64_t inode)
{
	static const char deleted[] = " (deleted)";
	struct hp_code **bucket, *code;
	size_t length = strlen(path);

	if (length > sizeof(deleted) && strcmp(path + length - sizeof(deleted) + 1, deleted) == 0)
		length -= sizeof(deleted) - 1;
	/* Code made at run time belongs to one process. */
	if (!is_file(path) && strcmp(path, "[vdso]") != 0)
		inode = pid;
	bucket = &spaces->codes[(inode * 31 + device) % HP_SPACE_BUCKETS];
	for (code = *bucket; code; code = code->next)
		if (code->inode == inode && code->device == device &&
		    strncmp(code->path, path, length) == 0 && !code->path[length])
			return code;
	code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	code->path = strndup(path, length);
	if (!code->path) {
		free(code);
		return NULL;
	}
	code->device = device;
	code->inode = inode;
	code_fill(spaces, code, pid, where);
	code->next = *bucket;
	*bucket = code;
	return code;
}

/* ---- spaces ---- */

struct hp_space *hp_space_known(const struct hp_spaces *spaces, uint32_t pid)
{
	struct hp_space *space = spaces->buckets[pid % HP_SPACE_BUCKETS];

	while (space && space->pid != pid)
		space = space->next;
	return space;
}

static void forget_ended(struct hp_spaces *spaces)
{
	for (int i = 0; i < HP_SPACE_BUCKETS; i++) {
		struct hp_space **link = &spaces->buckets[i];

		while (*link) {
			struct hp_space *space = *link;

			if (!space->is_ended) {
				link = &space->next;
				continue;
			}
			*link = space->next;
			space_free(space);
			spaces->count--;
		}
	}
	spaces->ended = 0;
}

struct hp_space *hp_space_of(struct hp_spaces *spaces, uint32_t pid)
{
	struct hp_space *space = hp_space_known(spaces, pid);

	if (space)
		return space;
	if (spaces->ended > ENDED_MAX)
		forget_ended(spaces);
	space = calloc(1, sizeof(*space));
	if (!space)
		return NULL;
	space->pid = pid;
	space->mapped = ++spaces->mapped;
	space->next = spaces->buckets[pid % HP_SPACE_BUCKETS];
	spaces->buckets[pid % HP_SPACE_BUCKETS] = space;
	spaces->count++;
	return space;
}

static bool has_room(struct hp_space *space, uint32_t more)
{
	uint32_t room = space->room ? space->room : 16;

	while (room < space->count + more)
		room *= 2;
	if (room == space->room)
		return true;
	struct hp_map_entry *maps = realloc(space->maps, room * sizeof(*maps));
	if (!maps)
		return false;
	space->maps = maps;
	space->room = room;
	return true;
}

/* The number of mappings that end at or before the address. */
static uint32_t below(const struct hp_space *space, uint64_t address)
{
	uint32_t low = 0, high = space->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (space->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert(struct hp_space *space, uint32_t at, struct hp_map_entry entry)
{
	memmove(&space->maps[at + 1], &space->maps[at], (space->count - at) * sizeof(*space->maps));
	space->maps[at] = entry;
	space->count++;
}

/*
 * A session that begins inside this one, since a process cannot reach our socket from its network
 * namespace or has other rights, has a helper of its own. That inherits the events of the process
 * that started it, and so does the report, its child.
 */
static bool is_helper(const struct hp_code *code)
{
	const char *name = strrchr(code->path, '/');

	return name && strcmp(name, "/hotpath-sampler") == 0;
}

/* Replaces older mappings there; a mapping may be split in two. */
static void map_add(struct hp_space *space, struct hp_map_entry new)
{
	uint32_t at = below(space, new.begin), last;

	space->is_ours |= is_helper(new.code);
	if (new.begin >= new.end || !has_room(space, 2))
		return;
	if (at < space->count && space->maps[at].begin < new.begin) {
		struct hp_map_entry rest = space->maps[at];

		space->maps[at].end = new.begin;
		at++;
		if (rest.end > new.end) {
			rest.offset += new.end - rest.begin;
			rest.begin = new.end;
			insert(space, at, rest);
		}
	}
	for (last = at; last < space->count && space->maps[last].end <= new.end;)
		last++;
	memmove(&space->maps[at], &space->maps[last], (space->count - last) * sizeof(*space->maps));
	space->count -= last - at;
	if (at < space->count && space->maps[at].begin < new.end) {
		space->maps[at].offset += new.end - space->maps[at].begin;
		space->maps[at].begin = new.end;
	}
	insert(space, at, new);
}

void hp_space_map(struct hp_spaces *spaces, uint32_t pid, const struct hp_map_entry *where,
		  const char *path, uint64_t device, uint64_t inode)
{
	struct hp_space *space = hp_space_of(spaces, pid);
	struct hp_map_entry entry = *where;

	if (!space)
		return;
	entry.code = code_of(spaces, pid, where, path, device, inode);
	if (!entry.code)
		return;
	space->mapped = ++spaces->mapped;
	map_add(space, entry);
}

bool hp_space_is_ours(const struct hp_spaces *spaces, uint32_t pid)
{
	const struct hp_space *space = hp_space_known(spaces, pid);

	return space && space->is_ours;
}

void hp_space_fork(struct hp_spaces *spaces, uint32_t pid, uint32_t parent)
{
	const struct hp_space *from = hp_space_known(spaces, parent);
	struct hp_space *space = hp_space_of(spaces, pid);

	if (!space)
		return;
	space->mapped = ++spaces->mapped;
	space->count = 0;
	space->is_whole = space->is_ended = false;
	space->foreign_ns = 0;
	space->is_ours = parent == spaces->self || (from && from->is_ours);
	if (!from || !from->is_whole || !has_room(space, from->count))
		return;
	if (from->count)
		memcpy(space->maps, from->maps, from->count * sizeof(*space->maps));
	space->count = from->count;
	space->is_whole = true;
}

void hp_space_exec(struct hp_spaces *spaces, uint32_t pid)
{
	struct hp_space *space = hp_space_of(spaces, pid);

	if (!space)
		return;
	space->mapped = ++spaces->mapped;
	space->count = 0;
	space->is_whole = true;
	space->read_again_ns = 0;
}

void hp_space_end(struct hp_spaces *spaces, uint32_t pid)
{
	struct hp_space *space = hp_space_known(spaces, pid);

	if (!space || space->is_ended)
		return;
	space->is_ended = true;
	spaces->ended++;
}

void hp_spaces_check(struct hp_spaces *spaces)
{
	for (int i = 0; i < HP_SPACE_BUCKETS; i++)
		for (const struct hp_space *s = spaces->buckets[i]; s; s = s->next)
			if (!s->is_ended && kill((pid_t)s->pid, 0) < 0 && errno == ESRCH)
				hp_space_end(spaces, s->pid);
}

/* ---- /proc/PID/maps ---- */

/* The third letter after the addresses. */
static bool is_code(const char *line)
{
	const char *access = strchr(line, ' ');

	return access && access[1] && access[2] && access[3] == 'x';
}

static void read_line(struct hp_spaces *spaces, struct hp_space *space, const char *line)
{
	struct hp_map_entry entry = { .begin = 0 };
	unsigned long long begin, end, offset, inode;
	unsigned major_number, minor_number;
	char access[5];
	int path = 0;

	/* Thousands of threads have as many stacks, and no code. */
	if (!is_code(line))
		return;
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &begin, &end, access, &offset,
		   &major_number, &minor_number, &inode, &path) < 7 ||
	    access[2] != 'x')
		return;
	/* Nothing runs there, and as code without a file it would be an object in each process. */
	if (strcmp(line + path, "[vsyscall]") == 0)
		return;
	entry = (struct hp_map_entry){ .begin = begin, .end = end, .offset = offset };
	entry.code = code_of(spaces, space->pid, &entry, line + path,
			     makedev(major_number, minor_number), inode);
	if (entry.code)
		map_add(space, entry);
}

static void read_maps(struct hp_spaces *spaces, struct hp_space *space)
{
	char path[64], *line = NULL;
	size_t room = 0;
	ssize_t length;
	FILE *in;

	const uint64_t since_ns = hp_proc_own_cpu_ns();

	space->read_again_ns = hp_clock_raw_ns() + READ_AGAIN_NS;
	space->mapped = ++spaces->mapped;
	hp_proc_path(path, space->pid, "maps");
	in = fopen(path, "re");
	if (!in)
		return;
	while ((length = getline(&line, &room, in)) > 0) {
		line[length - (line[length - 1] == '\n')] = '\0';
		read_line(spaces, space, line);
	}
	free(line);
	fclose(in);
	space->is_whole |= space->count != 0;
	uint64_t rest_ns = hp_proc_rest_ns(since_ns);
	space->read_again_ns =
		hp_clock_raw_ns() + (rest_ns > READ_AGAIN_NS ? rest_ns : READ_AGAIN_NS);
}

const struct hp_map_entry *hp_space_entry(const struct hp_space *space, uint64_t address)
{
	uint32_t at = below(space, address);

	return at < space->count && space->maps[at].begin <= address ? &space->maps[at] : NULL;
}

const struct hp_map_entry *hp_space_find(struct hp_spaces *spaces, struct hp_space *space,
					 uint64_t address)
{
	const struct hp_map_entry *entry = hp_space_entry(space, address);

	if (entry)
		return entry;
	if (space->is_shut)
		return NULL;
	if (hp_clock_raw_ns() < space->read_again_ns)
		return NULL;
	read_maps(spaces, space);
	return hp_space_entry(space, address);
}

struct hp_place hp_space_place(const struct hp_map_entry *entry, uint64_t address)
{
	const struct hp_code *code = entry->code;
	uint64_t offset = address - entry->begin + entry->offset;

	for (uint32_t i = 0; i < code->load_count; i++) {
		const Elf64_Phdr *p = &code->loads[i];

		if (offset >= p->p_offset && offset - p->p_offset < p->p_filesz)
			return (struct hp_place){ offset - p->p_offset + p->p_vaddr, code->object };
	}
	return (struct hp_place){ code->load_count ? offset : address, code->object };
}
