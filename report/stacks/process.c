/* SPDX-License-Identifier: MIT */
/*
 * process.c - see process.h.
 */
#include "report/stacks/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "report/base/behalf.h"
#include "report/base/memory.h"
#include "report/elf/elf_file.h"
#include "report/name/name.h"

#define PAGE 4096
#define FILE_MAX (UINT64_C(1) << 34)	/* bytes of an object's file */
#define VDSO_MAX (64 << 10)
#define IOVECS 512	/* pages of one system call */

/* --- memory --- */

/* The kernel only reads whole iovecs, so each page gets one: all readable pages are read. */
static ssize_t vm_read(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec remote[IOVECS], local = { bytes, 0 };
	size_t count = 0;

	while (size && count < IOVECS) {
		size_t part = PAGE - address % PAGE;

		part = part < size ? part : size;
		remote[count++] = (struct iovec){ (void *)(uintptr_t)address, part };
		local.iov_len += part;
		address += part;
		size -= part;
	}
	return process_vm_readv(pid, &local, 1, remote, count, 0);
}

/* If a filter forbids that call (containers), the file is usually allowed. */
static ssize_t mem_read(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	char path[32];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = pread(fd, bytes, size, (off_t)address);
	got = got < 0 ? -errno : got;
	close(fd);
	return got;
}

ssize_t hp_stack_memory_read(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = vm_read(pid, address + done, (char *)bytes + done, size - done);

		if (got < 0 && (errno == EPERM || errno == ENOSYS))
			got = mem_read(pid, address + done, (char *)bytes + done, size - done);
		if (got <= 0)
			return done ? (ssize_t)done : got < 0 && errno ? -errno : 0;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* --- files --- */

static bool file_page(struct hp_stack_object *object, uint64_t page)
{
	if (object->pages[page])
		return true;
	if (object->fd < 0)
		return false;
	uint8_t *bytes = hp_xcalloc(1, PAGE);
	if (pread(object->fd, bytes, PAGE, (off_t)(page * PAGE)) < 0) {
		free(bytes);
		return false;
	}
	object->pages[page] = bytes;
	return true;
}

static bool file_read(struct hp_stack_object *object, uint64_t offset, void *bytes, size_t size)
{
	char *to = bytes;

	if (!object->pages || offset > object->size || size > object->size - offset)
		return false;
	while (size) {
		size_t from = offset % PAGE, part = PAGE - from < size ? PAGE - from : size;

		if (!file_page(object, offset / PAGE))
			return false;
		memcpy(to, object->pages[offset / PAGE] + from, part);
		to += part;
		offset += part;
		size -= part;
	}
	return true;
}

bool hp_stack_object_read(struct hp_stack_object *object, uint64_t address, void *bytes,
			  size_t size)
{
	uint64_t in_file = address - object->bias;

	for (uint32_t i = 0; i < object->load_count; i++) {
		const Elf64_Phdr *load = &object->loads[i];

		if (in_file >= load->p_vaddr && in_file - load->p_vaddr < load->p_filesz &&
		    size <= load->p_filesz - (in_file - load->p_vaddr))
			return file_read(object, load->p_offset + (in_file - load->p_vaddr), bytes,
					 size);
	}
	return false;
}

/* Only the usual kind of table is supported: four-byte entries relative to the header. */
static void table_read(struct hp_stack_object *object)
{
	struct {
		uint8_t version;
		uint8_t pointer;
		uint8_t count;
		uint8_t table;
		int32_t eh_frame;
		uint32_t entries;
	} header;
	uint64_t size = 0;

	if (!object->eh_frame_hdr ||
	    !hp_stack_object_read(object, object->eh_frame_hdr + object->bias, &header,
				  sizeof(header)))
		return;
	if (header.version != 1 || (header.pointer & 15) != 11 || header.count != 3 ||
	    header.table != 0x3b)
		return;
	for (uint32_t i = 0; i < object->load_count; i++)
		if (object->eh_frame_hdr >= object->loads[i].p_vaddr &&
		    object->eh_frame_hdr - object->loads[i].p_vaddr < object->loads[i].p_filesz)
			size = object->loads[i].p_filesz -
			       (object->eh_frame_hdr - object->loads[i].p_vaddr);
	if (size < sizeof(header) || header.entries > (size - sizeof(header)) / 8)
		return;
	object->table = object->eh_frame_hdr + sizeof(header);
	object->table_count = header.entries;
}

static void program_headers_read(struct hp_stack_object *object)
{
	Elf64_Ehdr header;
	Elf64_Phdr p;

	if (!file_read(object, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(p))
		return;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		if (!file_read(object, header.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return;
		if (p.p_type == PT_GNU_EH_FRAME)
			object->eh_frame_hdr = p.p_vaddr;
		if (p.p_type == PT_LOAD && object->load_count < HP_LOADS_MAX)
			object->loads[object->load_count++] = p;
	}
}

static bool is_file(const char *path, const struct hp_stack_object *object)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       status.st_ino == object->inode;
}

/* The same file, also in another mount namespace, or deleted if it is the program itself. */
static char *file_find(const struct hp_stack_process *process, const struct hp_stack_object *object)
{
	char *path;

	if (is_file(object->path, object))
		return hp_xstrdup(object->path);
	path = hp_xprintf("/proc/%d/root%s", (int)process->mapped, object->path);
	if (is_file(path, object))
		return path;
	free(path);
	path = hp_xprintf("/proc/%d/exe", (int)process->mapped);
	if (is_file(path, object))
		return path;
	free(path);
	return NULL;
}

static void object_open(const struct hp_stack_process *process, struct hp_stack_object *object)
{
	struct stat status;

	object->file = file_find(process, object);
	struct hp_user before = hp_behalf_begin(process->user);
	object->fd = object->file ? hp_elf_open(object->file) : -1;
	hp_behalf_end(before);
	if (object->fd < 0 || fstat(object->fd, &status) < 0 || status.st_size <= 0 ||
	    (uint64_t)status.st_size > FILE_MAX)
		return;
	object->size = (uint64_t)status.st_size;
	object->pages = hp_xcalloc(object->size / PAGE + 1, sizeof(*object->pages));
	program_headers_read(object);
}

/* Uses a copy as the file, because symbol readers open files by path. */
static void vdso_open(const struct hp_stack_process *process, struct hp_stack_object *object,
		      const struct hp_stack_map *map)
{
	uint64_t size = map->end - map->begin;
	char bytes[PAGE];

	object->fd = size <= VDSO_MAX ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	for (uint64_t at = 0; object->fd >= 0 && at < size; at += PAGE)
		if (hp_stack_memory_read(process->mapped, map->begin + at, bytes, PAGE) != PAGE ||
		    write(object->fd, bytes, PAGE) != PAGE)
			return;
	/* It was read by pid. */
	if (object->fd < 0 || !hp_stack_process_is_same(process))
		return;
	object->file = hp_xprintf("/proc/self/fd/%d", object->fd);
	object->size = size;
	object->pages = hp_xcalloc(size / PAGE + 1, sizeof(*object->pages));
	program_headers_read(object);
}

/* --- who it is --- */

/* Reads a file below /proc/PID of that process; "" = it has ended. */
static void text_read(const struct hp_stack_process *process, const char *name, char *text,
		      size_t room)
{
	int fd = openat(process->folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, room - 1);

	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = 0;
}

/* A number of a line of /proc/PID/stat; fields count from 1, and the name is the second. */
static bool stat_field(const char *text, int number, uint64_t *value)
{
	const char *at = strrchr(text, ')');

	for (int i = 2; at && i < number; i++)
		at = strchr(at + 1, ' ');
	*value = at ? strtoull(at, NULL, 10) : 0;
	return at;
}

/* The first thread's files: those of the process add up all its threads. */
static bool identity_read(const struct hp_stack_process *process,
			  struct hp_stack_identity *identity)
{
	char name[40], text[4096];

	snprintf(name, sizeof(name), "task/%d/stat", (int)process->pid);
	text_read(process, name, text, sizeof(text));
	if (!stat_field(text, 22, &identity->started) || !stat_field(text, 28, &identity->stack))
		return false;
	snprintf(name, sizeof(name), "task/%d/status", (int)process->pid);
	text_read(process, name, text, sizeof(text));
	return hp_credentials_of(&identity->ids, text);
}

bool hp_stack_process_is_same(const struct hp_stack_process *process)
{
	const struct hp_stack_identity *was = &process->identity;
	struct hp_stack_identity is;

	return identity_read(process, &is) && is.started == was->started &&
	       (is.stack == was->stack || !is.stack || !was->stack) &&
	       is.ids.user == was->ids.user && is.ids.group == was->ids.group &&
	       is.ids.capabilities == was->ids.capabilities;
}

bool hp_stack_process_has(const struct hp_stack_process *process, pid_t tid)
{
	char name[32];

	snprintf(name, sizeof(name), "task/%d", (int)tid);
	return faccessat(process->folder, name, F_OK, 0) == 0;
}

static void comm_read(struct hp_stack_process *process)
{
	text_read(process, "comm", process->comm, sizeof(process->comm));
	process->comm[strcspn(process->comm, "\n")] = 0;
}

static bool own_ids(struct hp_credentials *ids)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = 0;
	return hp_credentials_of(ids, text);
}

static int identity_init(struct hp_stack_process *process, uint64_t started)
{
	char path[32];
	struct hp_credentials own;

	process->user = hp_user_unknown();
	snprintf(path, sizeof(path), "/proc/%d", (int)process->pid);
	process->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process->folder < 0)
		return -errno;
	if (!identity_read(process, &process->identity) ||
	    (started && started != process->identity.started))
		return -ESRCH;
	if (own_ids(&own))
		process->user = hp_user_beside(&own, &process->identity.ids);
	comm_read(process);
	return 0;
}

/* --- mappings --- */

/*
 * The load bias implied by this code mapping; false = it matches no PT_LOAD. A
 * page of the file may be the end of one load and the start of the next (lld
 * does that).
 */
static bool bias_of(const struct hp_stack_object *object, const struct hp_stack_map *map,
		    uint64_t *bias)
{
	for (uint32_t i = 0; i < object->load_count; i++) {
		const Elf64_Phdr *load = &object->loads[i];
		uint64_t low = load->p_offset & ~(uint64_t)(PAGE - 1);

		if ((load->p_flags & PF_X) && map->offset >= low &&
		    map->offset < load->p_offset + load->p_filesz) {
			*bias = map->begin - map->offset + load->p_offset - load->p_vaddr;
			return true;
		}
	}
	return false;
}

static uint32_t object_new(struct hp_stack_process *process, const struct hp_stack_object *of,
			   const struct hp_stack_map *map)
{
	struct hp_stack_object *object;

	process->objects = hp_xgrow(process->objects, process->object_count, &process->object_room,
				    sizeof(*process->objects));
	object = &process->objects[process->object_count];
	*object = *of;
	object->path = hp_xstrdup(of->path);
	object->is_ours = strcmp(hp_name_file(object->path), "libhotpath.so") == 0;
	if (of->inode)
		object_open(process, object);
	else
		vdso_open(process, object, map);
	if (!bias_of(object, map, &object->bias))
		object->bias = map->begin - map->offset;
	table_read(object);
	return (uint32_t)process->object_count++;
}

/* A file may be mapped more than once, at different biases. */
static uint32_t object_of(struct hp_stack_process *process, const struct hp_stack_object *of,
			  const struct hp_stack_map *map)
{
	for (size_t i = process->object_count; i-- > 0;) {
		const struct hp_stack_object *object = &process->objects[i];
		uint64_t bias;

		if (object->device != of->device || object->inode != of->inode ||
		    strcmp(object->path, of->path) != 0)
			continue;
		if (!bias_of(object, map, &bias) || bias == object->bias)
			return (uint32_t)i;
	}
	return object_new(process, of, map);
}

static bool map_read(struct hp_stack_process *process, char *line, struct hp_stack_map *map)
{
	static const char deleted[] = " (deleted)";
	unsigned major, minor;
	char flags[8];
	int at = 0;
	struct hp_stack_object of = { .fd = -1 };
	size_t length;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &map->begin, &map->end, flags, &map->offset, &major, &minor, &of.inode, &at) < 7)
		return false;
	of.path = line + at;
	of.path[strcspn(of.path, "\n")] = 0;
	length = strlen(of.path);
	if (of.inode && length >= sizeof(deleted) &&
	    strcmp(of.path + length - sizeof(deleted) + 1, deleted) == 0)
		of.path[length - sizeof(deleted) + 1] = 0;
	of.device = makedev(major, minor);
	map->is_readable = flags[0] == 'r';
	map->is_writable = flags[1] == 'w';
	map->is_code = flags[2] == 'x';
	map->is_main_stack = strcmp(of.path, "[stack]") == 0;
	map->object = UINT32_MAX;
	/* The other parts of a file are found through its program headers. */
	if (map->is_code && ((of.inode && of.path[0] == '/') || strcmp(of.path, "[vdso]") == 0))
		map->object = object_of(process, &of, map);
	return true;
}

/* One thread's list of mappings; -1 and errno. It is empty if the thread has ended (ESRCH). */
static int thread_maps_open(const struct hp_stack_process *process, pid_t tid)
{
	char name[32], first;
	int fd;

	snprintf(name, sizeof(name), "task/%d/maps", (int)tid);
	fd = openat(process->folder, name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, &first, 1, 0) == 0) {
		close(fd);
		fd = -1;
		errno = ESRCH;
	}
	return fd;
}

/* The process's mappings: those of its first thread, or of another one after pthread_exit in main. */
static int maps_open(struct hp_stack_process *process)
{
	int fd = thread_maps_open(process, process->mapped);
	struct dirent *entry;

	if (fd >= 0 || errno != ESRCH)
		return fd;
	int list = openat(process->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = list < 0 ? NULL : fdopendir(list);
	if (!folder) {
		if (list >= 0)
			close(list);
		return -1;
	}
	while (fd < 0 && (entry = readdir(folder))) {
		pid_t tid = atoi(entry->d_name);

		fd = tid > 0 ? thread_maps_open(process, tid) : -1;
		process->mapped = fd < 0 ? process->mapped : tid;
	}
	closedir(folder);
	errno = ESRCH;
	return fd;
}

int hp_stack_process_refresh(struct hp_stack_process *process)
{
	struct hp_stack_map *maps = NULL;
	size_t count = 0, room = 0, line_room = 0;
	char *line = NULL;
	int fd = maps_open(process);

	if (fd < 0)
		return -errno;
	/* Asked after the open: the file remains that of the program at that time. */
	FILE *file = hp_stack_process_is_same(process) ? fdopen(fd, "r") : NULL;
	if (!file) {
		close(fd);
		return -ESRCH;
	}
	errno = 0;
	while (getline(&line, &line_room, file) > 0) {
		maps = hp_xgrow(maps, count, &room, sizeof(*maps));
		memset(&maps[count], 0, sizeof(*maps));
		count += map_read(process, line, &maps[count]);
	}
	int error = ferror(file) ? -errno : 0;
	free(line);
	fclose(file);
	if (error || !count) {
		free(maps);
		return error ? error : -ESRCH;
	}
	free(process->maps);
	process->maps = maps;
	process->map_count = count;
	return 0;
}

int hp_stack_process_init(struct hp_stack_process *process, pid_t pid, uint64_t started)
{
	*process = (struct hp_stack_process){ .pid = pid, .mapped = pid, .folder = -1 };
	int error = identity_init(process, started);
	if (!error)
		error = hp_stack_process_refresh(process);
	if (error)
		hp_stack_process_release(process);
	return error;
}

void hp_stack_process_release(struct hp_stack_process *process)
{
	for (size_t i = 0; i < process->object_count; i++) {
		struct hp_stack_object *object = &process->objects[i];

		for (uint64_t k = 0; object->pages && k < object->size / PAGE + 1; k++)
			free(object->pages[k]);
		free(object->pages);
		free(object->path);
		free(object->file);
		if (object->fd >= 0)
			close(object->fd);
	}
	if (process->folder >= 0)
		close(process->folder);
	process->folder = -1;
	free(process->objects);
	free(process->maps);
	process->objects = NULL;
	process->maps = NULL;
	process->object_count = process->map_count = 0;
}

const struct hp_stack_map *hp_stack_process_at(const struct hp_stack_process *process,
					       uint64_t address)
{
	size_t low = 0, high = process->map_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (process->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < process->map_count && process->maps[low].begin <= address ? &process->maps[low]
									       : NULL;
}
