/* SPDX-License-Identifier: MIT */
/*
 * hook_file.c - stand-ins for stdio functions that open, read and close a
 * FILE.
 *
 * All may be cancelled, and reads may be left by a jump: everything is counted
 * after the real call, and nothing is held across it. Not covered: the scanf
 * family and wide characters; of getc_unlocked as a macro, only that it fills
 * the buffer. Bytes of regular files are correct nevertheless.
 */
/*
 * We define functions that <bits/stdio.h> would define inline; clang takes no
 * attributes after that.
 */
#include <features.h>
#undef __USE_EXTERN_INLINES

#include "preload/stream/file.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "preload/channel/channel.h"
#include "preload/guest/real.h"

/* Functions, not the header's macros. */
#undef fread_unlocked
#undef fgets_unlocked
#undef getc
#undef getchar
#undef getc_unlocked
#undef getchar_unlocked

/* --- opening --- */

static FILE *opened(FILE *file, const char *path, const char *mode, uintptr_t caller)
{
	if (HP_LIKELY(file != NULL))
		hp_file_opened(file, path, mode, caller);
	return file;
}

HP_EXPORT FILE *fopen(const char *path, const char *mode)
{
	return opened(hp_real()->fopen(path, mode), path, mode, HP_CALLER);
}

HP_EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return opened(hp_real()->fopen64(path, mode), path, mode, HP_CALLER);
}

HP_EXPORT FILE *popen(const char *command, const char *mode)
{
	return opened(hp_real()->popen(command, mode), NULL, mode, HP_CALLER);
}

/* stdio uses descriptors inside the C library. */
HP_EXPORT FILE *fdopen(int fd, const char *mode)
{
	FILE *file = hp_real()->fdopen(fd, mode);

	if (file)
		hp_channel_veil(fd);
	return opened(file, NULL, mode, HP_CALLER);
}

/* --- closing: by the C library, without close --- */

static void closes(FILE *file)
{
	int saved;

	if (!file || hp_is_early())
		return;
	saved = errno;
	hp_file_closes(file);
	hp_channel_forget(fileno(file));
	errno = saved;
}

HP_EXPORT int fclose(FILE *file)
{
	closes(file);
	return hp_real()->fclose(file);
}

HP_EXPORT int pclose(FILE *file)
{
	closes(file);
	return hp_real()->pclose(file);
}

HP_EXPORT FILE *freopen(const char *path, const char *mode, FILE *file)
{
	closes(file);
	return opened(hp_real()->freopen(path, mode, file), path, mode, HP_CALLER);
}

HP_EXPORT FILE *freopen64(const char *path, const char *mode, FILE *file)
{
	closes(file);
	return opened(hp_real()->freopen64(path, mode, file), path, mode, HP_CALLER);
}

/*
 * The function behind a stand-in, by its place in struct hp_real: the usual case must not pay
 * for a lookup.
 */
static const void *real_at(size_t place)
{
	const void *real;

	memcpy(&real, (const char *)hp_real() + place, sizeof(real));
	return real;
}

/* Not inlined, so that the usual case needs no stack; but not cold: all calls on a pipe come here. */
#define WATCHED __attribute__((noinline))

/*
 * Streams are not requested: the stand-in jumps to the real function.  Looked at only by a call
 * that was not counted, so it costs the usual case nothing.  NULL = the table is not filled yet.
 */
#define IS_OFF(name) HP_UNLIKELY(!hp_stream_is_wanted && hp_real_table.name)

#define AT(name) offsetof(struct hp_real, name)
#define REAL(type, place) ((type)(uintptr_t)real_at(place))

/* --- lines --- */

typedef char *(*hp_gets)(char *, int, FILE *);
typedef char *(*hp_gets_checked)(char *, size_t, int, FILE *);

static void text_read(const struct hp_file_call *call, FILE *file, const char *text, int size)
{
	hp_file_end(call, file, text != NULL,
		    text && call->part ? hp_file_text_size(call, file, text, (size_t)size) : 0);
}

static WATCHED char *gets_watched(char *text, int size, FILE *file, size_t place, uintptr_t caller)
{
	struct hp_file_call call;
	char *result;

	if (!hp_stream_is_wanted)
		return REAL(hp_gets, place)(text, size, file);
	hp_file_begin(&call, file, caller);
	result = REAL(hp_gets, place)(text, size, file);
	text_read(&call, file, result, size);
	return result;
}

static WATCHED char *gets_checked_watched(char *text, size_t room, int size, FILE *file,
					  size_t place, uintptr_t caller)
{
	struct hp_file_call call;
	char *result;

	if (!hp_stream_is_wanted)
		return REAL(hp_gets_checked, place)(text, room, size, file);
	hp_file_begin(&call, file, caller);
	result = REAL(hp_gets_checked, place)(text, room, size, file);
	text_read(&call, file, result, size);
	return result;
}

#define GETS(name) \
	HP_EXPORT char *name(char *text, int size, FILE *file) \
	{ \
		if (HP_LIKELY(hp_file_count(file)) || IS_OFF(name)) \
			return hp_real_table.name(text, size, file); \
		return gets_watched(text, size, file, AT(name), HP_CALLER); \
	}

#define GETS_CHECKED(name) \
	char *name(char *text, size_t room, int size, FILE *file); \
	HP_EXPORT char *name(char *text, size_t room, int size, FILE *file) \
	{ \
		if (HP_LIKELY(hp_file_count(file)) || IS_OFF(name)) \
			return hp_real_table.name(text, room, size, file); \
		return gets_checked_watched(text, room, size, file, AT(name), HP_CALLER); \
	}

GETS(fgets)
GETS(fgets_unlocked)
GETS_CHECKED(__fgets_chk)
GETS_CHECKED(__fgets_unlocked_chk)

typedef ssize_t (*hp_delimited)(char **, size_t *, int, FILE *);

static WATCHED ssize_t delimited_watched(char **line, size_t *room, int delimiter, FILE *file,
					 size_t place, uintptr_t caller)
{
	struct hp_file_call call;
	ssize_t result;

	if (!hp_stream_is_wanted)
		return REAL(hp_delimited, place)(line, room, delimiter, file);
	hp_file_begin(&call, file, caller);
	result = REAL(hp_delimited, place)(line, room, delimiter, file);
	hp_file_end(&call, file, result > 0, result > 0 ? (uint64_t)result : 0);
	return result;
}

#define DELIMITED(name) \
	HP_EXPORT ssize_t name(char **line, size_t *room, int delimiter, FILE *file) \
	{ \
		if (HP_LIKELY(hp_file_count(file)) || IS_OFF(name)) \
			return hp_real_table.name(line, room, delimiter, file); \
		return delimited_watched(line, room, delimiter, file, AT(name), HP_CALLER); \
	}

DELIMITED(__getdelim)
DELIMITED(getdelim)

static WATCHED ssize_t line_watched(char **line, size_t *room, FILE *file, uintptr_t caller)
{
	struct hp_file_call call;
	ssize_t result;

	hp_file_begin(&call, file, caller);
	result = hp_real()->getline(line, room, file);
	hp_file_end(&call, file, result > 0, result > 0 ? (uint64_t)result : 0);
	return result;
}

HP_EXPORT ssize_t getline(char **line, size_t *room, FILE *file)
{
	if (HP_LIKELY(hp_file_count(file)) || IS_OFF(getline))
		return hp_real_table.getline(line, room, file);
	return line_watched(line, room, file, HP_CALLER);
}

/* --- blocks --- */

typedef size_t (*hp_read)(void *, size_t, size_t, FILE *);
typedef size_t (*hp_read_checked)(void *, size_t, size_t, size_t, FILE *);

static WATCHED size_t read_watched(void *to, size_t size, size_t count, FILE *file, size_t place,
				   uintptr_t caller)
{
	struct hp_file_call call;
	size_t result;

	if (!hp_stream_is_wanted)
		return REAL(hp_read, place)(to, size, count, file);
	hp_file_begin(&call, file, caller);
	result = REAL(hp_read, place)(to, size, count, file);
	hp_file_end(&call, file, result > 0, result * size);
	return result;
}

static WATCHED size_t read_checked_watched(void *to, size_t room, size_t size, size_t count,
					   FILE *file, uintptr_t caller, size_t place)
{
	struct hp_file_call call;
	size_t result;

	hp_file_begin(&call, file, caller);
	result = REAL(hp_read_checked, place)(to, room, size, count, file);
	hp_file_end(&call, file, result > 0, result * size);
	return result;
}

/* All of it is in the buffer. */
static HP_HOT bool count_block(FILE *file, size_t size, size_t count)
{
	size_t bytes;

	return !__builtin_mul_overflow(size, count, &bytes) && bytes &&
	       hp_file_count_near(file, bytes);
}

#define READ(name) \
	HP_EXPORT size_t name(void *to, size_t size, size_t count, FILE *file) \
	{ \
		if (HP_LIKELY(count_block(file, size, count)) || IS_OFF(name)) \
			return hp_real_table.name(to, size, count, file); \
		return read_watched(to, size, count, file, AT(name), HP_CALLER); \
	}

#define READ_CHECKED(name) \
	size_t name(void *to, size_t room, size_t size, size_t count, FILE *file); \
	HP_EXPORT size_t name(void *to, size_t room, size_t size, size_t count, FILE *file) \
	{ \
		if (HP_LIKELY(count_block(file, size, count)) || IS_OFF(name)) \
			return hp_real_table.name(to, room, size, count, file); \
		return read_checked_watched(to, room, size, count, file, HP_CALLER, AT(name)); \
	}

READ(fread)
READ(fread_unlocked)
READ_CHECKED(__fread_chk)
READ_CHECKED(__fread_unlocked_chk)

/* --- characters --- */

typedef int (*hp_character)(FILE *);

static WATCHED int character_watched(FILE *file, size_t place, uintptr_t caller)
{
	struct hp_file_call call;
	int result;

	if (!hp_stream_is_wanted)
		return REAL(hp_character, place)(file);
	hp_file_begin(&call, file, caller);
	result = REAL(hp_character, place)(file);
	hp_file_end(&call, file, result != EOF, 1);
	return result;
}

#define CHARACTER(name) \
	HP_EXPORT int name(FILE *file) \
	{ \
		if (HP_LIKELY(hp_file_count_near(file, 1)) || IS_OFF(name)) \
			return hp_real_table.name(file); \
		return character_watched(file, AT(name), HP_CALLER); \
	}

int _IO_getc(FILE *file);
CHARACTER(getc)
CHARACTER(fgetc)
CHARACTER(_IO_getc)
CHARACTER(getc_unlocked)
CHARACTER(fgetc_unlocked)

/* getc_unlocked as a macro calls it when the buffer is empty, and returns its first character. */
HP_EXPORT int __uflow(FILE *file)
{
	struct hp_file_call call;
	int result;

	hp_file_begin(&call, file, HP_CALLER);
	result = hp_real()->__uflow(file);
	hp_file_end_refill(&call, file, result != EOF);
	return result;
}

/* `stdin` is an address that the loader relocates. */
#define FROM_STDIN(name) \
	static WATCHED int name##_watched(uintptr_t caller) \
	{ \
		struct hp_file_call call; \
		FILE *file = stdin; \
		int result; \
\
		hp_file_begin(&call, file, caller); \
		result = hp_real()->name(); \
		hp_file_end(&call, file, result != EOF, 1); \
		return result; \
	} \
\
	HP_EXPORT int name(void) \
	{ \
		if (HP_UNLIKELY(hp_is_early())) \
			return hp_real()->name(); \
		if (HP_LIKELY(hp_file_count_near(stdin, 1)) || IS_OFF(name)) \
			return hp_real_table.name(); \
		return name##_watched(HP_CALLER); \
	}

FROM_STDIN(getchar)
FROM_STDIN(getchar_unlocked)

/* --- seeks --- */

#define SEEK(result_type, name, arguments, ...) \
	HP_EXPORT result_type name arguments \
	{ \
		result_type result; \
\
		hp_file_seeks(file); \
		result = hp_real()->name(__VA_ARGS__); \
		hp_file_sought(file); \
		return result; \
	}

SEEK(int, fseek, (FILE * file, long offset, int whence), file, offset, whence)
SEEK(int, fseeko, (FILE * file, off_t offset, int whence), file, offset, whence)
SEEK(int, fseeko64, (FILE * file, off64_t offset, int whence), file, offset, whence)
SEEK(int, fsetpos, (FILE * file, const fpos_t *position), file, position)
SEEK(int, fsetpos64, (FILE * file, const fpos64_t *position), file, position)

HP_EXPORT void rewind(FILE *file)
{
	hp_file_seeks(file);
	hp_real()->rewind(file);
	hp_file_sought(file);
}
