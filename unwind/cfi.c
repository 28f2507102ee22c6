/* SPDX-License-Identifier: MIT */
/*
 * cfi.c - reads .eh_frame_hdr and .eh_frame (LSB 5.0, DWARF 5 section 6.4).
 *
 * It runs a program from the start of its function up to the pc. The result is
 * one rule each for the CFA, the frame pointer and the return address. Rules of
 * other registers are skipped, so a CFA that depends on one of them is not
 * followed.
 */
#include "unwind/cfi.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#if defined(__aarch64__)
#define REG_FP 29
#define REG_SP 31
#define REG_RA 30
#else
#define REG_FP 6
#define REG_SP 7
#define REG_RA 16
#endif

#define SAVED_MAX 8	/* nested DW_CFA_remember_state */
#define STACK_MAX 16	/* of an expression */
#define WORD ((int64_t)sizeof(uintptr_t))

/* Encodings of pointers. */
enum {
	PE_OMIT = 0xff,
	PE_FORM = 0x0f,
	PE_BASE = 0x70,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_INDIRECT = 0x80,
};

/* A place in the information; reading beyond `end` gives 0 and sets `is_bad`. */
struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool is_bad;
};

static uint64_t read_bytes(struct cursor *c, unsigned size)
{
	uint64_t value = 0;

	if (c->is_bad || (uintptr_t)(c->end - c->at) < size) {
		c->is_bad = true;
		return 0;
	}
	memcpy(&value, c->at, size);
	c->at += size;
	return value;
}

static uint64_t read_u8(struct cursor *c)
{
	return read_bytes(c, 1);
}

static uint64_t read_uleb(struct cursor *c)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = read_u8(c);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !c->is_bad);
	return value;
}

static int64_t read_sleb(struct cursor *c)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = read_u8(c);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !c->is_bad);
	if (byte & 0x40 && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

static uint64_t read_form(struct cursor *c, unsigned form)
{
	switch (form) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return read_bytes(c, 8);
	case 0x01:
		return read_uleb(c);
	case 0x02:
		return read_bytes(c, 2);
	case 0x03:
		return read_bytes(c, 4);
	case 0x09:
		return (uint64_t)read_sleb(c);
	case 0x0a:
		return (uint64_t)(int16_t)read_bytes(c, 2);
	case 0x0b:
		return (uint64_t)(int32_t)read_bytes(c, 4);
	default:
		c->is_bad = true;
		return 0;
	}
}

/* `base` is for PE_DATAREL.  Indirect pointers (of personality routines) are not followed. */
static uintptr_t read_pointer(struct cursor *c, unsigned encoding, uintptr_t base)
{
	uintptr_t place = (uintptr_t)c->at;
	uintptr_t value = (uintptr_t)read_form(c, encoding & PE_FORM);

	switch (encoding & PE_BASE) {
	case 0:
		return value;
	case PE_PCREL:
		return value + place;
	case PE_DATAREL:
		return value + base;
	default:
		c->is_bad = true;
		return 0;
	}
}

/* --- from a pc to its program --- */

struct cie {
	uint64_t code_align;
	int64_t data_align;
	struct cursor initial;	/* instructions */
	unsigned encoding;	/* of pointers */
	bool has_size;	/* its FDEs say the size of their augmentation data */
	bool is_signal;
};

struct fde {
	uintptr_t first;	/* code */
	uintptr_t last;	/* its end */
	struct cursor program;
};

static struct cursor cursor_at(const struct hp_cfi *cfi, uintptr_t address)
{
	struct cursor c = { .at = (const uint8_t *)address, .end = (const uint8_t *)cfi->end };

	c.is_bad = address < cfi->begin || address >= cfi->end;
	return c;
}

/* The record at `address`, without its length; its end is the cursor's. */
static struct cursor record_at(const struct hp_cfi *cfi, uintptr_t address)
{
	struct cursor c = cursor_at(cfi, address);
	uint64_t length = read_bytes(&c, 4);

	if (length == 0xffffffff)
		length = read_bytes(&c, 8);
	if (c.is_bad || length == 0 || length > (uintptr_t)(c.end - c.at))
		c.is_bad = true;
	else
		c.end = c.at + length;
	return c;
}

/* The letters behind 'z' describe the augmentation data. */
static void read_letters(struct cursor *c, const uint8_t *letters, struct cie *cie)
{
	for (; *letters && !c->is_bad; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = (unsigned)read_u8(c);
			break;
		case 'L':
			read_u8(c);
			break;
		case 'P': {
			unsigned encoding = (unsigned)read_u8(c);

			read_pointer(c, encoding & ~(unsigned)PE_INDIRECT, 0);
			break;
		}
		case 'S':
			cie->is_signal = true;
			break;
		case 'B':	/* arm64: signed by the other key */
		case 'G':	/* arm64: memory tags */
			break;
		default:
			return;	/* the data's size is known */
		}
	}
}

static bool read_cie(const struct hp_cfi *cfi, uintptr_t address, struct cie *cie)
{
	struct cursor c = record_at(cfi, address);
	const uint8_t *letters, *zero;
	uint64_t version;

	memset(cie, 0, sizeof(*cie));
	read_bytes(&c, 4);
	version = read_u8(&c);
	letters = c.at;
	zero = c.is_bad ? NULL : memchr(c.at, 0, (uintptr_t)(c.end - c.at));
	if (!zero || (version != 1 && version != 3))
		return false;
	c.at = zero + 1;
	cie->code_align = read_uleb(&c);
	cie->data_align = read_sleb(&c);
	if (version == 1)
		read_u8(&c);
	else
		read_uleb(&c);
	if (*letters == 'z') {
		uint64_t size = read_uleb(&c);
		const uint8_t *data = c.at;

		if (c.is_bad || size > (uintptr_t)(c.end - c.at))
			return false;
		cie->has_size = true;
		read_letters(&c, letters + 1, cie);
		c.at = data + size;
	} else if (*letters) {
		return false;
	}
	cie->initial = c;
	return !c.is_bad;
}

/* Where the FDE says its CIE is; 0 = nowhere. */
static uintptr_t cie_of(const struct hp_cfi *cfi, uintptr_t address)
{
	struct cursor c = record_at(cfi, address);
	uintptr_t place = (uintptr_t)c.at;
	uint64_t back = read_bytes(&c, 4);

	return c.is_bad || back == 0 ? 0 : place - (uintptr_t)back;
}

static bool read_fde(const struct hp_cfi *cfi, uintptr_t address, const struct cie *cie,
		     struct fde *fde)
{
	struct cursor c = record_at(cfi, address);

	read_bytes(&c, 4);
	fde->first = read_pointer(&c, cie->encoding, 0);
	fde->last = fde->first + (uintptr_t)read_form(&c, cie->encoding & PE_FORM);
	if (cie->has_size) {
		uint64_t size = read_uleb(&c);

		if (c.is_bad || size > (uintptr_t)(c.end - c.at))
			return false;
		c.at += size;
	}
	fde->program = c;
	return !c.is_bad;
}

/* Binary search; the usual table holds pairs of 32-bit distances from the header. */
static uintptr_t search(const struct hp_cfi *cfi, uintptr_t pc)
{
	uintptr_t base = (uintptr_t)cfi->header;
	struct cursor c = cursor_at(cfi, base);
	uint64_t version = read_u8(&c);
	unsigned frame_encoding = (unsigned)read_u8(&c);
	unsigned count_encoding = (unsigned)read_u8(&c);
	unsigned table_encoding = (unsigned)read_u8(&c);
	int64_t wanted = (int64_t)(pc - base);
	uint64_t low = 0, high;

	if (version != 1 || count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | 0x0b))
		return 0;
	read_pointer(&c, frame_encoding, base);
	high = read_pointer(&c, count_encoding, base);
	if (c.is_bad || high == 0 || high > (uintptr_t)(c.end - c.at) / 8)
		return 0;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		int32_t first;

		memcpy(&first, c.at + middle * 8, 4);
		if (first <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	c.at += (low - 1) * 8 + 4;
	return base + (uintptr_t)(int64_t)(int32_t)read_bytes(&c, 4);
}

/* --- the program --- */

enum rule_kind { RULE_SAME = 0, RULE_OFFSET, RULE_EXPRESSION, RULE_UNDEFINED, RULE_OTHER };

struct block {
	const uint8_t *at;
	const uint8_t *end;
};

struct rule {
	enum rule_kind kind;
	int64_t offset;	/* of RULE_OFFSET, from the CFA; bytes */
	struct block expression;
};

struct rules {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct block cfa_expression;	/* at NULL = register and offset */
	struct rule fp;
	struct rule ra;
};

struct machine {
	uint64_t code_align;
	int64_t data_align;
	struct rules now;
	struct rules initial;
	unsigned depth;
	uintptr_t at;	/* code address that the rules hold from */
	uintptr_t end;	/* and up to, once they are those of `pc` */
	uintptr_t pc;	/* the pc to find */
	bool is_found;	/* the rules are those of `pc` */
	bool is_bad;
	struct rules saved[SAVED_MAX];	/* of these the first `depth` hold something */
};

/* The rule of a register; NULL = it is not followed. */
static struct rule *rule_of(struct rules *rules, uint64_t number)
{
	if (number == REG_FP)
		return &rules->fp;
	return number == REG_RA ? &rules->ra : NULL;
}

static void set_rule(struct machine *m, uint64_t number, enum rule_kind kind, int64_t offset)
{
	struct rule *rule = rule_of(&m->now, number);

	if (rule)
		*rule = (struct rule){ .kind = kind, .offset = offset };
}

static void restore_rule(struct machine *m, uint64_t number)
{
	struct rule *rule = rule_of(&m->now, number);

	if (rule)
		*rule = *rule_of(&m->initial, number);
}

static struct block read_block(struct cursor *c)
{
	uint64_t size = read_uleb(c);
	struct block block = { c->at, c->at };

	if (c->is_bad || size > (uintptr_t)(c->end - c->at))
		c->is_bad = true;
	else
		c->at = block.end = c->at + size;
	return block;
}

static void set_expression(struct machine *m, struct cursor *c)
{
	struct rule *rule = rule_of(&m->now, read_uleb(c));
	struct block block = read_block(c);

	if (rule)
		*rule = (struct rule){ .kind = RULE_EXPRESSION, .expression = block };
}

static void def_cfa(struct machine *m, uint64_t number, int64_t offset)
{
	m->now.cfa_register = number;
	m->now.cfa_offset = offset;
	m->now.cfa_expression.at = NULL;
}

static void push_state(struct machine *m)
{
	if (m->depth < SAVED_MAX)
		m->saved[m->depth++] = m->now;
	else
		m->is_bad = true;
}

static void pop_state(struct machine *m)
{
	if (m->depth)
		m->now = m->saved[--m->depth];
	else
		m->is_bad = true;
}

/* A factored offset. Values larger than any stack may wrap; they are refused later. */
static int64_t scaled(uint64_t factored, int64_t align)
{
	return (int64_t)(factored * (uint64_t)align);
}

/* The rules so far hold for the next `delta` bytes. */
static void advance(struct machine *m, uint64_t delta)
{
	uintptr_t next = m->at + (uintptr_t)delta;

	m->is_bad |= next < m->at;
	m->is_found = next > m->pc;
	*(m->is_found ? &m->end : &m->at) = next;
}

/* The instructions without an operand in their first byte. */
static void execute_extended(struct machine *m, struct cursor *c, unsigned op)
{
	int64_t data = m->data_align;
	uint64_t number;

	switch (op) {
	case 0x00:	/* nop */
		return;
	case 0x02:	/* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		advance(m, read_bytes(c, 1u << (op - 2)) * m->code_align);
		return;
	case 0x05:	/* offset_extended */
		number = read_uleb(c);
		set_rule(m, number, RULE_OFFSET, scaled(read_uleb(c), data));
		return;
	case 0x06:	/* restore_extended */
		restore_rule(m, read_uleb(c));
		return;
	case 0x07:	/* undefined */
		set_rule(m, read_uleb(c), RULE_UNDEFINED, 0);
		return;
	case 0x08:	/* same_value */
		set_rule(m, read_uleb(c), RULE_SAME, 0);
		return;
	case 0x09:	/* register */
		number = read_uleb(c);
		read_uleb(c);
		set_rule(m, number, RULE_OTHER, 0);
		return;
	case 0x0a:
		push_state(m);
		return;
	case 0x0b:
		pop_state(m);
		return;
	case 0x0c:	/* def_cfa */
		number = read_uleb(c);
		def_cfa(m, number, (int64_t)read_uleb(c));
		return;
	case 0x0d:	/* def_cfa_register */
		def_cfa(m, read_uleb(c), m->now.cfa_offset);
		return;
	case 0x0e:	/* def_cfa_offset */
		m->now.cfa_offset = (int64_t)read_uleb(c);
		return;
	case 0x0f:	/* def_cfa_expression */
		m->now.cfa_expression = read_block(c);
		return;
	case 0x10:	/* expression */
		set_expression(m, c);
		return;
	case 0x11:	/* offset_extended_sf */
		number = read_uleb(c);
		set_rule(m, number, RULE_OFFSET, scaled((uint64_t)read_sleb(c), data));
		return;
	case 0x12:	/* def_cfa_sf */
		number = read_uleb(c);
		def_cfa(m, number, scaled((uint64_t)read_sleb(c), data));
		return;
	case 0x13:	/* def_cfa_offset_sf */
		m->now.cfa_offset = scaled((uint64_t)read_sleb(c), data);
		return;
	case 0x14:	/* val_offset, val_offset_sf */
	case 0x15:
		number = read_uleb(c);
		read_uleb(c);
		set_rule(m, number, RULE_OTHER, 0);
		return;
	case 0x16:	/* val_expression */
		number = read_uleb(c);
		read_block(c);
		set_rule(m, number, RULE_OTHER, 0);
		return;
	case 0x2d:	/* arm64: the return address is signed from here on; the user strips it */
		return;
	case 0x2e:	/* GNU_args_size */
		read_uleb(c);
		return;
	case 0x2f:	/* GNU_negative_offset_extended */
		number = read_uleb(c);
		set_rule(m, number, RULE_OFFSET, scaled(-read_uleb(c), data));
		return;
	default:	/* set_loc too, which no assembler writes into .eh_frame */
		m->is_bad = true;
	}
}

/* Runs `c` until the rules are those of the code address `m->pc`, or to its end. */
static void execute(struct machine *m, struct cursor *c)
{
	while (c->at < c->end && !c->is_bad && !m->is_bad && !m->is_found) {
		unsigned byte = (unsigned)read_u8(c), low = byte & 0x3f;

		switch (byte >> 6) {
		case 1:
			advance(m, low * m->code_align);
			break;
		case 2:
			set_rule(m, low, RULE_OFFSET, scaled(read_uleb(c), m->data_align));
			break;
		case 3:
			restore_rule(m, low);
			break;
		default:
			execute_extended(m, c, low);
		}
	}
	m->is_bad |= c->is_bad;
}

/*
 * A function of thousands of calls has a program of as many instructions, which would be run from
 * its start for each return address. The calls mostly happen in the order of their addresses, so
 * the last state is kept: that of a long program also while short ones are run.
 */
#define RUN_LONG 64	/* bytes */

struct run {
	const uint8_t *header;	/* its object's */
	uintptr_t address;	/* of the FDE; 0 = nothing that can be continued */
	struct fde fde;
	bool is_signal;
	struct cursor next;	/* instruction */
	struct machine machine;
};

/* What all functions of a CIE begin with; most objects have one or two. */
struct start {
	const uint8_t *header;
	uintptr_t address;	/* 0 = nothing */
	struct cie cie;
	struct rules rules;
};

static bool start_read(const struct hp_cfi *cfi, uintptr_t address, struct start *start,
		       struct machine *m)
{
	struct cursor initial;

	if (start->address == address && start->header == cfi->header)
		return true;
	start->address = 0;
	if (!read_cie(cfi, address, &start->cie))
		return false;
	memset(m, 0, offsetof(struct machine, saved));
	m->code_align = start->cie.code_align;
	m->data_align = start->cie.data_align;
	m->now.cfa_register = REG_SP;
	m->pc = UINTPTR_MAX;
	initial = start->cie.initial;
	execute(m, &initial);
	start->rules = m->now;
	start->header = cfi->header;
	if (!m->is_bad)
		start->address = address;
	return !m->is_bad;
}

static bool run_read(const struct hp_cfi *cfi, uintptr_t address, struct start *start,
		     struct run *run)
{
	uintptr_t cie = cie_of(cfi, address);
	struct machine *m = &run->machine;

	if (!cie || !start_read(cfi, cie, start, m) ||
	    !read_fde(cfi, address, &start->cie, &run->fde))
		return false;
	run->is_signal = start->cie.is_signal;
	m->code_align = start->cie.code_align;
	m->data_align = start->cie.data_align;
	m->initial = start->rules;
	return true;
}

static void run_start(struct run *run, uintptr_t pc)
{
	struct machine *m = &run->machine;

	m->now = m->initial;
	m->depth = 0;
	m->at = run->fde.first;
	m->end = run->fde.last;
	m->pc = pc;
	m->is_found = m->is_bad = false;
	run->next = run->fde.program;
}

/* False = `pc` is before the place that was reached. */
static bool run_continue(struct run *run, uintptr_t pc)
{
	struct machine *m = &run->machine;

	if (pc < m->at)
		return false;
	m->pc = pc;
	if (m->is_found && pc >= m->end) {
		m->at = m->end;
		m->end = run->fde.last;
		m->is_found = false;
	}
	return true;
}

struct evaluation {
	struct hp_cfi_registers registers;
	hp_cfi_load load;
	void *context;
	uint64_t stack[STACK_MAX];
	unsigned depth;
	bool is_bad;
};

/* Lies in hp_cfi.room, because the caller's stack may be small. */
struct work {
	struct run runs[2];
	const struct run *run;	/* the last one */
	uint32_t kept;	/* of `runs`: the last one of a long program */
	struct start start;
	struct evaluation one;
	struct evaluation other;
};

static_assert(sizeof(struct work) <= HP_CFI_ROOM, "callers give so much");

/* The run of this FDE, or another one. */
static struct run *run_of(const struct hp_cfi *cfi, struct work *work, uintptr_t address)
{
	if (!cfi->has_kept) {
		work->runs[0].address = work->runs[1].address = work->start.address = 0;
		work->kept = 0;
	}
	for (int i = 0; i < 2; i++)
		if (work->runs[i].address == address && work->runs[i].header == cfi->header)
			return &work->runs[i];
	return &work->runs[!work->kept];
}

/* The rules at `pc`, in work->run; false = none, or unsupported ones. */
static bool rules_at(const struct hp_cfi *cfi, uintptr_t pc, struct work *work)
{
	uintptr_t address = search(cfi, pc);
	struct run *run = run_of(cfi, work, address);
	bool is_known = address && run->address == address;

	/* If a signal handler leaves this function by a jump, the run is in no known state. */
	run->address = 0;
	work->run = run;
	if (!address || (!is_known && !run_read(cfi, address, &work->start, run)) ||
	    pc < run->fde.first || pc >= run->fde.last)
		return false;
	if (!is_known || !run_continue(run, pc))
		run_start(run, pc);
	execute(&run->machine, &run->next);
	if (run->machine.is_bad)
		return false;
	run->header = cfi->header;
	__asm__ volatile("" ::: "memory");
	run->address = address;
	if (run->next.at - run->fde.program.at >= RUN_LONG)
		work->kept = run != work->runs;
	return true;
}

/* --- expressions --- */

static void push(struct evaluation *e, uint64_t value)
{
	if (e->depth < STACK_MAX)
		e->stack[e->depth++] = value;
	else
		e->is_bad = true;
}

static uint64_t pop(struct evaluation *e)
{
	if (e->depth)
		return e->stack[--e->depth];
	e->is_bad = true;
	return 0;
}

static void push_register(struct evaluation *e, unsigned number, int64_t offset)
{
	uint64_t value = number == REG_SP   ? e->registers.sp
			 : number == REG_FP ? e->registers.fp
					    : e->registers.pc;

	if (number != REG_SP && number != REG_FP && number != REG_RA)
		e->is_bad = true;
	push(e, value + (uint64_t)offset);
}

static void dereference(struct evaluation *e)
{
	uintptr_t word = 0;

	if (!e->load || !e->load(e->context, (uintptr_t)pop(e), &word))
		e->is_bad = true;
	push(e, word);
}

static uint64_t combine(unsigned op, uint64_t a, uint64_t b, bool *is_bad)
{
	switch (op) {
	case 0x1a:
		return a & b;
	case 0x1c:
		return a - b;
	case 0x1e:
		return a * b;
	case 0x21:
		return a | b;
	case 0x22:
		return a + b;
	case 0x24:
		return b < 64 ? a << b : 0;
	case 0x25:
		return b < 64 ? a >> b : 0;
	case 0x29:
		return a == b;
	case 0x2a:
		return (int64_t)a >= (int64_t)b;
	case 0x2b:
		return (int64_t)a > (int64_t)b;
	case 0x2c:
		return (int64_t)a <= (int64_t)b;
	case 0x2d:
		return (int64_t)a < (int64_t)b;
	case 0x2e:
		return a != b;
	default:
		*is_bad = true;
		return 0;
	}
}

/* The operators that take their operand from the program. */
static bool evaluate_constant(struct evaluation *e, struct cursor *c, unsigned op)
{
	if (op >= 0x30 && op <= 0x4f) {	/* lit0.. */
		push(e, op - 0x30);
	} else if (op >= 0x70 && op <= 0x8f) {	/* breg0.. */
		push_register(e, op - 0x70, read_sleb(c));
	} else if (op >= 0x08 && op <= 0x0f) {	/* const1u, const1s, const2u.. */
		unsigned size = 1u << ((op - 8) / 2);
		uint64_t value = read_bytes(c, size);

		if (op & 1 && size < 8)
			value = (uint64_t)((int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size));
		push(e, value);
	} else if (op == 0x10) {
		push(e, read_uleb(c));
	} else if (op == 0x11) {
		push(e, (uint64_t)read_sleb(c));
	} else if (op == 0x23) {	/* plus_uconst */
		push(e, pop(e) + read_uleb(c));
	} else {
		return false;
	}
	return true;
}

static bool evaluate(struct evaluation *e, struct block block, uintptr_t *result)
{
	struct cursor c = { .at = block.at, .end = block.end };

	while (c.at < c.end && !c.is_bad && !e->is_bad) {
		unsigned op = (unsigned)read_u8(&c);

		if (evaluate_constant(e, &c, op))
			continue;
		if (op == 0x06) {
			dereference(e);
		} else if (op == 0x12) {	/* dup */
			uint64_t top = pop(e);

			push(e, top);
			push(e, top);
		} else if (op == 0x13) {	/* drop */
			pop(e);
		} else if (op == 0x96) {
			;	/* nop */
		} else {
			uint64_t b = pop(e), a = pop(e);

			push(e, combine(op, a, b, &e->is_bad));
		}
	}
	*result = (uintptr_t)pop(e);
	return !c.is_bad && !e->is_bad;
}

/* --- rows --- */

/* [breg fp, OFFSET][deref]: a function that realigns its stack keeps the CFA itself there. */
static bool is_fp_load(struct block block, int64_t *offset, bool is_loaded)
{
	struct cursor c = { .at = block.at, .end = block.end };

	if (read_u8(&c) != 0x70 + REG_FP)
		return false;
	*offset = read_sleb(&c);
	if (is_loaded && read_u8(&c) != 0x06)
		return false;
	return !c.is_bad && c.at == c.end;
}

/*
 * An expression without loads or the frame pointer, as in the PLT: for a given
 * pc it is the stack pointer plus a constant.
 */
static bool is_sp_constant(struct work *work, uintptr_t pc, int64_t *offset)
{
	const uintptr_t sp = (uintptr_t)1 << 40, fp = (uintptr_t)3 << 50;
	const struct block program = work->run->machine.now.cfa_expression;
	uintptr_t a, b;

	work->one = (struct evaluation){ .registers = { .pc = pc, .sp = sp, .fp = fp } };
	work->other = (struct evaluation){ .registers = { .pc = pc, .sp = 2 * sp, .fp = 2 * fp } };
	if (!evaluate(&work->one, program, &a) || !evaluate(&work->other, program, &b))
		return false;
	*offset = (int64_t)(a - sp);
	return b - 2 * sp == a - sp && *offset >= 0 && *offset < 1 << 20;
}

static bool fits_words(int64_t bytes, int64_t most)
{
	return bytes % WORD == 0 && bytes / WORD <= most && bytes / WORD >= -most;
}

/* Rules that a row can hold. */
static enum hp_row_kind fill_cfa(struct work *work, uintptr_t pc, struct hp_cfi_row *row)
{
	const struct rules *rules = &work->run->machine.now;
	int64_t offset = rules->cfa_offset;
	enum hp_row_kind kind = HP_ROW_ODD;

	if (rules->cfa_expression.at) {
		if (is_fp_load(rules->cfa_expression, &offset, true))
			kind = HP_ROW_FP_LOAD;
		else if (is_sp_constant(work, pc, &offset))
			kind = HP_ROW_SP;
	} else if (rules->cfa_register == REG_SP) {
		kind = HP_ROW_SP;
	} else if (rules->cfa_register == REG_FP) {
		kind = HP_ROW_FP;
	}
	if (offset > INT32_MAX || offset < INT32_MIN)
		return HP_ROW_ODD;
	row->cfa_offset = (int32_t)offset;
	return kind;
}

static bool fill_saved(const struct rules *rules, enum hp_row_kind kind, struct hp_cfi_row *row)
{
	int64_t fp = 0;

	if (rules->ra.kind != RULE_OFFSET || !fits_words(rules->ra.offset, INT8_MAX))
		return false;
	row->ra_offset = (int8_t)(rules->ra.offset / WORD);
	if (kind == HP_ROW_FP_LOAD) {
		if (rules->fp.kind != RULE_EXPRESSION ||
		    !is_fp_load(rules->fp.expression, &fp, false))
			return false;
	} else if (rules->fp.kind == RULE_OFFSET) {
		fp = rules->fp.offset;
		if (fp == 0)
			return false;
	} else if (rules->fp.kind == RULE_EXPRESSION || rules->fp.kind == RULE_OTHER) {
		return false;
	}
	if (!fits_words(fp, INT16_MAX))
		return false;
	row->fp_offset = (int16_t)(fp / WORD);
	return true;
}

/* The rules hold for their whole span; a row computed from an expression may hold for `pc` only. */
static struct hp_cfi_span span_of(const struct machine *m, uintptr_t pc, enum hp_row_kind kind)
{
	bool is_reckoned = m->now.cfa_expression.at && kind != HP_ROW_FP_LOAD;

	if (is_reckoned || m->at > pc || m->end <= pc)
		return (struct hp_cfi_span){ pc, pc };
	return (struct hp_cfi_span){ m->at, m->end - 1 };
}

void hp_cfi_find_span(const struct hp_cfi *cfi, uintptr_t pc, struct hp_cfi_row *row,
		      struct hp_cfi_span *span)
{
	struct work *work = cfi->room;
	const struct rules *rules;
	enum hp_row_kind kind;

	*row = (struct hp_cfi_row){ .pc = pc, .kind = HP_ROW_NONE };
	*span = (struct hp_cfi_span){ pc, pc };
	if (!rules_at(cfi, pc, work))
		return;
	rules = &work->run->machine.now;
	if (rules->ra.kind == RULE_UNDEFINED) {
		row->kind = HP_ROW_END;
		return;
	}
	kind = work->run->is_signal ? HP_ROW_ODD : fill_cfa(work, pc, row);
	row->kind = kind != HP_ROW_ODD && fill_saved(rules, kind, row) ? kind : HP_ROW_ODD;
	*span = span_of(&work->run->machine, pc, kind);
}

void hp_cfi_find_call(const struct hp_cfi *cfi, uintptr_t pc, struct hp_cfi_row *row)
{
	struct hp_cfi_span span;

	hp_cfi_find_call_span(cfi, pc, row, &span);
}

void hp_cfi_find_call_span(const struct hp_cfi *cfi, uintptr_t pc, struct hp_cfi_row *row,
			   struct hp_cfi_span *span)
{
	struct hp_cfi_span behind;

	hp_cfi_find_span(cfi, pc, row, span);
	if (row->kind != HP_ROW_NONE)
		return;
	hp_cfi_find_span(cfi, pc + 1, row, &behind);
	*row = (struct hp_cfi_row){ .pc = pc,
				    .kind = row->kind == HP_ROW_NONE ? HP_ROW_NONE : HP_ROW_END };
}

/* Where a register was saved. */
static bool place_of(struct evaluation *e, const struct rule *rule, uintptr_t cfa, uintptr_t *place)
{
	*place = cfa + (uintptr_t)rule->offset;
	if (rule->kind == RULE_OFFSET)
		return true;
	e->depth = 0;
	push(e, cfa);	/* DWARF: the CFA is on the stack when a rule's expression starts */
	return rule->kind == RULE_EXPRESSION && evaluate(e, rule->expression, place);
}

static bool cfa_of(struct evaluation *e, const struct rules *rules, uintptr_t *cfa)
{
	const struct hp_cfi_registers *now = &e->registers;

	if (rules->cfa_expression.at)
		return evaluate(e, rules->cfa_expression, cfa);
	*cfa = (rules->cfa_register == REG_SP ? now->sp : now->fp) + (uintptr_t)rules->cfa_offset;
	return rules->cfa_register == REG_SP || rules->cfa_register == REG_FP;
}

bool hp_cfi_step(const struct hp_cfi *cfi, struct hp_cfi_registers *registers, hp_cfi_load load,
		 void *context)
{
	struct work *work = cfi->room;
	const struct rules *rules;
	struct hp_cfi_registers next = *registers;
	uintptr_t cfa, place;

	if (!rules_at(cfi, registers->pc - !registers->is_exact, work))
		return false;
	rules = &work->run->machine.now;
	work->one = (struct evaluation){ .registers = next, .load = load, .context = context };
	if (!cfa_of(&work->one, rules, &cfa) || !place_of(&work->one, &rules->ra, cfa, &place) ||
	    !load(context, place, &next.pc))
		return false;
	if (rules->fp.kind != RULE_SAME && rules->fp.kind != RULE_UNDEFINED &&
	    (!place_of(&work->one, &rules->fp, cfa, &place) || !load(context, place, &next.fp)))
		return false;
	next.sp = cfa;
	next.is_exact = work->run->is_signal;
	*registers = next;
	return true;
}
