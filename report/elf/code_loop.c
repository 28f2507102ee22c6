/* SPDX-License-Identifier: MIT */
/*
 * code_loop.c - loops that only wait, or that only search; see code.h.
 *
 * A turn of a loop that waits is a function of memory, of the clock, and of registers that the loop does
 * not change: each register that it reads is never written in the loop, or was written before in
 * the same turn.  So nothing in the program's own thread ends it.  A walk through a list, a
 * counter or a checksum reads what the previous turn wrote.  An atomic exchange
 * stores the same value in each turn until it succeeds.
 *
 * In a search through an array, all that a turn leaves to the next one are counters and addresses,
 * to each of which it adds a constant.  A sum, a checksum, a binary search and the next place of a
 * hash table are something else; so is a list, as a hash table's chain looks like it.
 *
 * Instructions: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A.
 */
#include "report/elf/code.h"

#define LOOP_MAX 64	/* bytes */
#define STEPS_MAX 32
#define ELEMENT_MIN 4	/* bytes: a loop over single characters reads a text */

#if defined(__x86_64__)

enum { RAX = 0, RCX = 1, RDX = 2 };

/* Prefixes and operands of an instruction. */
struct decoder {
	const unsigned char *at;
	const unsigned char *end;
	bool is_known;	/* so far */
	bool is_16;	/* 0x66 */
	bool is_rep;	/* 0xf3 */
	unsigned rex;
	/* of the ModRM byte: */
	bool is_memory;
	unsigned reg;
	unsigned rm;	/* if it is a register */
	uint32_t address;	/* registers of the address */
	uint32_t index;	/* of these: the one that is multiplied, */
	unsigned scale;	/* by this */
	int64_t offset;	/* a constant that is added to them */
};

struct step {
	uint32_t reads;	/* registers, as bits */
	uint32_t writes;
	bool is_jump;
	bool is_always;	/* unconditional */
	int64_t by;	/* bytes, from the end of the instruction */
	int64_t adds;	/* a constant to the register that it writes; 0 = it does something else */
	bool is_exchange;	/* of a register and memory, atomic */
	bool is_compare;
	bool is_load;	/* or a comparison with memory: of d->address */
	uint32_t compared;	/* registers, without those of an address */
};

static uint32_t bit(unsigned number)
{
	return UINT32_C(1) << number;
}

static unsigned byte(struct decoder *d)
{
	if (d->at >= d->end) {
		d->is_known = false;
		return 0;
	}
	return *d->at++;
}

/* A signed number. */
static int64_t number(struct decoder *d, size_t size)
{
	uint64_t value = 0, sign = size ? UINT64_C(1) << (8 * size - 1) : 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)byte(d) << 8 * i;
	return (int64_t)((value ^ sign) - sign);
}

static void skip(struct decoder *d, size_t count)
{
	if ((size_t)(d->end - d->at) < count)
		d->is_known = false;
	else
		d->at += count;
}

static void modrm(struct decoder *d)
{
	unsigned value = byte(d), mod = value >> 6, low = value & 7;

	d->reg = (value >> 3 & 7) | (d->rex & 4) << 1;
	d->rm = low | (d->rex & 1) << 3;
	d->is_memory = mod != 3;
	d->address = d->index = 0;
	d->scale = 1;
	d->offset = 0;
	if (!d->is_memory)
		return;
	if (low == 4) {
		unsigned sib = byte(d), index = (sib >> 3 & 7) | (d->rex & 2) << 2;

		if (index != 4)
			d->address = d->index = bit(index);
		d->scale = 1U << (sib >> 6);
		if ((sib & 7) == 5 && mod == 0)
			skip(d, 4);
		else
			d->address |= bit((sib & 7) | (d->rex & 1) << 3);
	} else if (low == 5 && mod == 0) {
		skip(d, 4);	/* relative to the instruction */
	} else {
		d->address |= bit(d->rm);
	}
	d->offset = number(d, mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* What reading the operand r/m reads. */
static uint32_t source(const struct decoder *d)
{
	return d->is_memory ? d->address : bit(d->rm);
}

static size_t immediate(const struct decoder *d, bool is_byte)
{
	return is_byte ? 1 : d->is_16 ? 2 : 4;
}

/* add, or, adc, sbb, and, sub, xor, cmp: 00 to 3d. */
static bool arithmetic(struct decoder *d, unsigned opcode, struct step *step)
{
	bool is_compare = opcode >= 0x38;

	if ((opcode & 6) == 4) {	/* rax and an immediate */
		skip(d, immediate(d, !(opcode & 1)));
		step->reads = bit(RAX);
		step->writes = is_compare ? 0 : bit(RAX);
		step->is_compare = is_compare;
		step->compared = bit(RAX);
		return true;
	}
	modrm(d);
	step->reads = source(d) | bit(d->reg);
	step->is_compare = is_compare;
	step->is_load = d->is_memory;
	step->compared = bit(d->reg) | (d->is_memory ? 0 : bit(d->rm));
	if (is_compare)
		return true;
	if (!(opcode & 2) && d->is_memory)
		return false;
	step->writes = opcode & 2 ? bit(d->reg) : bit(d->rm);
	/* xor and sub of a register with itself. */
	if (!d->is_memory && d->reg == d->rm && (opcode >> 3 == 6 || opcode >> 3 == 5))
		step->reads = 0;
	return true;
}

/* 80, 81, 83: arithmetic with an immediate; c0, c1, d0 to d3: shifts. */
static bool group(struct decoder *d, unsigned opcode, struct step *step)
{
	bool is_shift = opcode >= 0xc0, is_compare;
	int64_t constant = 0;

	modrm(d);
	is_compare = !is_shift && (d->reg & 7) == 7;
	if (opcode < 0xd0)
		constant = number(d, is_shift || opcode != 0x81 ? 1 : immediate(d, false));
	step->reads = source(d) | (opcode == 0xd2 || opcode == 0xd3 ? bit(RCX) : 0);
	step->is_compare = is_compare;
	step->is_load = d->is_memory;
	step->compared = d->is_memory ? 0 : bit(d->rm);
	if (is_compare)
		return true;
	if (!is_shift && !d->is_memory && ((d->reg & 7) == 0 || (d->reg & 7) == 5))
		step->adds = (d->reg & 7) == 0 ? constant : -constant;
	step->writes = bit(d->rm);
	return !d->is_memory;
}

static bool jump(struct decoder *d, bool is_short, struct step *step)
{
	uint32_t by = 0;

	step->is_jump = true;
	for (unsigned i = 0; i < (is_short ? 1U : 4U); i++)
		by |= (uint32_t)byte(d) << 8 * i;
	step->by = is_short ? (int8_t)by : (int32_t)by;
	return true;
}

/* Opcodes after 0f. */
static bool two_bytes(struct decoder *d, struct step *step)
{
	unsigned opcode = byte(d);

	if (opcode >= 0x80 && opcode < 0x90)
		return jump(d, false, step);
	if (opcode == 0x31) {	/* rdtsc */
		step->writes = bit(RAX) | bit(RDX);
		return true;
	}
	if (opcode == 0x01) {	/* rdtscp, of this group */
		step->writes = bit(RAX) | bit(RCX) | bit(RDX);
		return byte(d) == 0xf9;
	}
	modrm(d);
	if (opcode >= 0x90 && opcode < 0xa0) {	/* setcc */
		step->writes = bit(d->rm);
		return !d->is_memory;
	}
	switch (opcode) {
	case 0x1f:	/* nop */
		return true;
	case 0xae:	/* fences */
		return !d->is_memory;
	case 0xb6:	/* movzx, movsx */
	case 0xb7:
	case 0xbe:
	case 0xbf:
		step->reads = source(d);
		step->writes = bit(d->reg);
		step->is_load = d->is_memory;
		return true;
	case 0xb0:	/* cmpxchg */
	case 0xb1:
		step->reads = d->address | bit(d->reg) | bit(RAX);
		step->writes = bit(RAX);
		step->is_exchange = true;
		return d->is_memory;
	case 0xa3:	/* bt */
		step->reads = source(d) | bit(d->reg);
		return true;
	case 0xba:	/* bt with an immediate */
		skip(d, 1);
		step->reads = source(d);
		return (d->reg & 7) == 4;
	}
	return false;
}

static bool move(struct decoder *d, unsigned opcode, struct step *step)
{
	modrm(d);
	switch (opcode) {
	case 0x63:
	case 0x8a:
	case 0x8b:
		step->reads = source(d);
		step->writes = bit(d->reg);
		step->is_load = d->is_memory;
		return true;
	case 0x86:	/* xchg */
	case 0x87:
		step->reads = d->address | bit(d->reg);
		step->writes = bit(d->reg);
		step->is_exchange = true;
		return d->is_memory;
	case 0x88:
	case 0x89:
		step->reads = bit(d->reg);
		step->writes = bit(d->rm);
		return !d->is_memory;
	case 0x8d:	/* lea */
		step->reads = d->address;
		step->writes = bit(d->reg);
		step->adds = d->address == bit(d->reg) && !d->index ? d->offset : 0;
		return d->is_memory;
	case 0xff:	/* inc, dec */
		step->reads = source(d);
		step->writes = bit(d->rm);
		step->adds = (d->reg & 7) == 0 ? 1 : -1;
		return !d->is_memory && (d->reg & 7) <= 1;
	case 0xc6:
	case 0xc7:
		skip(d, immediate(d, opcode == 0xc6));
		step->writes = bit(d->rm);
		return !d->is_memory && (d->reg & 7) == 0;
	}
	return false;
}

static bool test(struct decoder *d, unsigned opcode, struct step *step)
{
	if (opcode == 0xa8 || opcode == 0xa9) {
		skip(d, immediate(d, opcode == 0xa8));
		step->reads = bit(RAX);
		return true;
	}
	modrm(d);
	step->reads = source(d);
	if (opcode < 0xf0) {	/* 84, 85 */
		step->reads |= bit(d->reg);
		return true;
	}
	skip(d, immediate(d, opcode == 0xf6));
	return (d->reg & 7) <= 1;
}

static bool one_byte(struct decoder *d, unsigned opcode, struct step *step)
{
	if (opcode < 0x40)
		return (opcode & 7) < 6 && arithmetic(d, opcode, step);
	if (opcode >= 0x70 && opcode < 0x80)
		return jump(d, true, step);
	if (opcode >= 0xb0 && opcode < 0xc0) {
		step->writes = bit((opcode & 7) | (d->rex & 1) << 3);
		skip(d, opcode < 0xb8 ? 1 : d->rex & 8 ? 8 : immediate(d, false));
		return true;
	}
	switch (opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return group(d, opcode, step);
	case 0x84:
	case 0x85:
	case 0xa8:
	case 0xa9:
	case 0xf6:
	case 0xf7:
		return test(d, opcode, step);
	case 0x90:	/* nop, pause */
		return !(d->rex & 1);
	case 0xe9:
	case 0xeb:
		step->is_always = true;
		return jump(d, opcode == 0xeb, step);
	default:
		return move(d, opcode, step);
	}
}

static bool decode(struct decoder *d, struct step *step)
{
	unsigned opcode = byte(d);

	*step = (struct step){ .reads = 0 };
	d->is_known = true;
	d->is_16 = d->is_rep = false;
	d->rex = 0;
	for (int i = 0; i < 4 && (opcode == 0x66 || opcode == 0xf3 || opcode == 0xf0); i++) {
		d->is_16 |= opcode == 0x66;
		d->is_rep |= opcode == 0xf3;
		opcode = byte(d);
	}
	if (opcode >= 0x40 && opcode < 0x50) {
		d->rex = opcode;
		opcode = byte(d);
	}
	/* Other instructions with this prefix repeat, or are of another set. */
	if (d->is_rep && opcode != 0x90)
		return false;
	if (opcode == 0x0f)
		return two_bytes(d, step) && d->is_known;
	return one_byte(d, opcode, step) && d->is_known;
}

/* The jump back, from an instruction of the loop on. */
static bool find_end(const struct hp_code *code, size_t at, struct hp_code_loop *loop)
{
	struct decoder d = { .at = code->bytes + at, .end = code->bytes + code->size };
	struct step step;

	for (int i = 0; i < STEPS_MAX && decode(&d, &step); i++) {
		int64_t end = d.at - code->bytes, target = end + step.by;

		if (!step.is_jump || target > (int64_t)at || target < 0)
			continue;
		*loop = (struct hp_code_loop){ .begin = (uint64_t)target, .end = (uint64_t)end };
		return end - target <= LOOP_MAX;
	}
	return false;
}

/* True if a turn is as code.h says; `at` is one of its instructions. */
static bool is_wait(const struct hp_code *code, size_t at, struct hp_code_loop *loop)
{
	struct decoder d = { .at = code->bytes + loop->begin, .end = code->bytes + loop->end };
	uint32_t early = 0, written = 0;	/* registers: read before they are written; written */
	bool has_at = false;
	struct step step;

	while (d.at < d.end) {
		has_at |= d.at == code->bytes + at;
		if (!decode(&d, &step))
			return false;
		loop->is_exchange |= step.is_exchange;
		early |= step.reads & ~written;
		written |= step.writes;
		if (step.is_jump && d.at < d.end) {
			int64_t target = d.at - code->bytes + step.by;

			/* What follows is another path, or belongs to an inner loop. */
			if (step.is_always ||
			    (target >= (int64_t)loop->begin && target < (int64_t)loop->end))
				return false;
		}
	}
	return has_at && !(early & written);
}

/* --- searches --- */

/* What the turns of a loop have in common. */
struct turn {
	uint32_t written;
	uint32_t carried;	/* a turn reads what the one before has left there */
	uint32_t of_element;	/* loaded from an address with a carried register */
	int64_t adds[16];	/* to a carried register, in each turn */
	int jumps;
	bool is_search;	/* an element is compared with what stays the same */
};

/* False if it is no such loop: the first pass learns what is carried. */
static bool turn_read(const struct hp_code *code, const struct hp_code_loop *loop,
		      struct turn *turn)
{
	struct decoder d = { .at = code->bytes + loop->begin, .end = code->bytes + loop->end };
	struct step step;

	while (d.at < d.end) {
		if (!decode(&d, &step) || step.is_exchange)
			return false;
		turn->carried |= step.reads & ~turn->written;
		turn->written |= step.writes;
		turn->jumps += step.is_jump;
		if (step.is_jump && d.at < d.end) {
			int64_t target = d.at - code->bytes + step.by;

			if (step.is_always ||
			    (target >= (int64_t)loop->begin && target < (int64_t)loop->end))
				return false;
		}
	}
	turn->carried &= turn->written;
	return turn->jumps >= 2 && turn->carried;
}

/* Bytes from one element to the next, for an address; 0 = it does not move. */
static int64_t stride(const struct decoder *d, const struct turn *turn)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < 16; i++)
		if (d->address & turn->carried & bit(i))
			sum += turn->adds[i] * (d->index == bit(i) ? (int64_t)d->scale : 1);
	return sum < 0 ? -sum : sum;
}

/* True if the loop adds a constant to each carried register, once. */
static bool adds_read(const struct hp_code *code, const struct hp_code_loop *loop,
		      struct turn *turn)
{
	struct decoder d = { .at = code->bytes + loop->begin, .end = code->bytes + loop->end };
	struct step step;

	while (d.at < d.end && decode(&d, &step)) {
		if (!(step.writes & turn->carried))
			continue;
		for (unsigned i = 0; i < 16; i++) {
			if (step.writes != bit(i))
				continue;
			if (!step.adds || turn->adds[i])
				return false;
			turn->adds[i] = step.adds;
		}
	}
	return d.at >= d.end;
}

static void compares_read(const struct hp_code *code, const struct hp_code_loop *loop,
			  struct turn *turn)
{
	struct decoder d = { .at = code->bytes + loop->begin, .end = code->bytes + loop->end };
	struct step step;

	while (d.at < d.end && decode(&d, &step)) {
		bool is_element = step.is_load &&
				  (stride(&d, turn) >= ELEMENT_MIN || d.address & turn->of_element);
		uint32_t element = step.compared & turn->of_element;
		uint32_t others = step.compared & ~element;

		/* With something else than an element of another array. */
		if (step.is_compare && !(others & turn->written) && is_element != (element != 0) &&
		    !(element & (element - 1)))
			turn->is_search = true;
		turn->of_element &= ~step.writes;
		if (is_element && !step.is_compare)
			turn->of_element |= step.writes;
	}
}

bool hp_code_searches(const struct hp_code *code, uint64_t address, struct hp_code_loop *loop)
{
	size_t at = (size_t)(address - code->address);
	struct turn turn = { .written = 0 };

	if (address < code->address || at >= code->size || !find_end(code, at, loop) ||
	    !turn_read(code, loop, &turn) || !adds_read(code, loop, &turn))
		return false;
	compares_read(code, loop, &turn);
	loop->begin += code->address;
	loop->end += code->address;
	return turn.is_search;
}

bool hp_code_waits(const struct hp_code *code, uint64_t address, struct hp_code_loop *loop)
{
	size_t at = (size_t)(address - code->address);

	if (address < code->address || at >= code->size || !find_end(code, at, loop) ||
	    !is_wait(code, at, loop))
		return false;
	loop->begin += code->address;
	loop->end += code->address;
	return true;
}

#else

bool hp_code_waits(const struct hp_code *code, uint64_t address, struct hp_code_loop *loop)
{
	(void)code;
	(void)address;
	(void)loop;
	return false;
}

bool hp_code_searches(const struct hp_code *code, uint64_t address, struct hp_code_loop *loop)
{
	return hp_code_waits(code, address, loop);
}

#endif
