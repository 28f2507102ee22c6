# SPDX-License-Identifier: MIT
#
# Everything is built below $(B).  The sources of segment/ are compiled twice,
# since they go into the library (pic/) and into the commands (obj/), and with
# the sanitizers once more for the unit tests (san/).  A new file needs no line
# here.  `make help` lists targets and knobs.

B ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := 0.1.0
V ?= 0
DEBUG ?= 0
SANITIZE ?=
STRICT ?=
CFLAGS ?= $(if $(filter-out 0,$(DEBUG)),-O0 -g3,-O2 -g)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
	-Wpointer-arith -Wundef -Wvla -Wformat=2
BASE = -std=gnu11 $(WARN) -I. -I$(B)/gen -D_GNU_SOURCE -DHP_VERSION='"$(VERSION)"' -MMD -MP \
	$(if $(filter-out 0,$(DEBUG)),-DHP_DEBUG=$(DEBUG)) $(CPPFLAGS) $(CFLAGS)
# Hardening flags.  In the library only for parts outside the hot paths; its stand-ins have the
# names that _FORTIFY_SOURCE redefines.
GUARDED := -fstack-protector-strong
HARDEN := $(GUARDED) -fPIC -fvisibility=hidden $(if $(findstring -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN_LINK := -pie -Wl,-z,relro -Wl,-z,now
# No pairs of words in vector registers: loading a pair that was just stored word by word stalls.
# Tail calls also with -O1: HP_TAIL of preload/heap/hook_alloc.h needs them.
# Stacks of waiting threads are walked without the frame pointer (sampler/sample/outside.h), whatever
# CFLAGS say.
PIC = $(BASE) $(STRICT) $(TOLD) $(GUARD) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-tree-slp-vectorize \
	-foptimize-sibling-calls -fomit-frame-pointer -ffunction-sections
# For linkers that read such a script.
ORDER = $(shell echo 'int x;' | $(CC) $(CFLAGS) $(LDFLAGS) -shared -fPIC -x c - -o /dev/null -Wl,-T,preload/order.ld 2>/dev/null && \
	echo -Wl,-T,preload/order.ld)
# Build flags for HOTPATH_VERBOSE.
%/verbose.o: TOLD = -DHP_BUILD_FLAGS='"$(subst ",\",$(subst ',,$(CFLAGS)))"'
SANITIZED := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OBJ = $(HARDEN) $(BASE) $(STRICT) $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer)
# Separate parts of glibc before 2.34; in later versions these libraries are empty.
LIBC_PARTS := -lpthread -ldl
REPORT_LIBS := -Wl,--as-needed -ldw -lelf -lcjson -lz -liberty -lm $(LIBC_PARTS)
LIVE_LIBS := $(REPORT_LIBS) -lmicrohttpd
CONSOLE_LIBS := $(LIVE_LIBS) -lcurl -lncursesw -ltinfo
INSTALL = B='$(B)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' DESTDIR='$(DESTDIR)' VERSION=$(VERSION) scripts/install
DATE = $(shell date -u -d @$${SOURCE_DATE_EPOCH:-$$(date +%s)} +%F)
Q := $(if $(filter-out 0,$(V)),,@)

# objects KIND,FOLDERS: the objects of all sources below these folders.
objects = $(patsubst %.c,$(B)/$(1)/%.o,$(sort $(shell find $(2) -name '*.c')))
LIB_O := $(call objects,pic,preload segment unwind)
TRUTH_O := $(call objects,truth,preload segment unwind)
SAMPLER_O := $(filter-out $(B)/obj/sampler/samply/%,$(call objects,obj,sampler segment unwind))
SAMPLY_O := $(call objects,obj,sampler/samply)
RUN_O := $(B)/obj/report/command/run_main.o
REPORT_O := $(filter-out $(RUN_O) %/report_main.o,$(call objects,obj,report segment))
CONSOLE_O := $(filter-out $(RUN_O) %/report_main.o %/report/command/main.o %/live/command/main.o,$(call objects,obj,live report segment))
LIVE_O := $(B)/obj/live/command/main.o $(filter-out $(B)/obj/live/console/%,$(CONSOLE_O))
PARTS_O := $(filter-out %main.o,$(call objects,san,segment report live sampler unwind))
GUEST_O := $(call objects,san,preload)
UNIT := $(patsubst test/unit/%.c,$(B)/test/%,$(wildcard test/unit/*_test.c))
EXAMPLES := $(basename $(patsubst test/examples/%,$(B)/examples/%,$(wildcard test/examples/*.c test/examples/*.cc)))
PRODUCTS := $(addprefix $(B)/,libhotpath.so hotpath-sampler hotpath-report.so hotpath-samply hotpath-live \
	hotpath-console hotpath hotpath-run)

.PHONY: all preload faulty demo smoke test test-all check bench fuzz fuzzers replay race examples unit man install uninstall clean help FORCE
all: $(PRODUCTS)	## the library, the sampler, the commands (default)

preload: $(B)/libhotpath.so	## the library alone

$(B)/libhotpath.so: $(LIB_O) preload/order.ld
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) -shared -Wl,-soname,libhotpath.so -Wl,--sort-section=name -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,-z,text -Wl,--as-needed \
		-Wl,--version-script=preload/versions.map $(ORDER) $(CFLAGS) $(LDFLAGS) -o $@ $(LIB_O) $(LIBC_PARTS)
# The build that judges its own estimates (preload/call/truth.h), for tests.
$(B)/truth/libhotpath.so: $(TRUTH_O)
	$(Q)$(CC) -shared -Wl,-soname,libhotpath.so -Wl,--version-script=preload/versions.map \
		$(CFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(LIBC_PARTS)
$(B)/truth/%.o: %.c $(B)/flags
	$(call compile,$(PIC) -DHP_TRUTH)
# The same objects with calls that a test can make fail (test/fault).
FAULTY := $(addprefix $(B)/fault/,libhotpath.so hotpath-sampler hotpath hotpath-run hotpath-live)
FAULT_WRAP = $(shell sed -n 's/^\([a-z_0-9]*\) .*/-Wl,--wrap=\1/p' test/fault/wrap.list)
$(B)/fault/libhotpath.so: $(LIB_O) $(B)/fault/libhotpath.so.o
	$(Q)$(CC) -shared -Wl,-soname,libhotpath.so -Wl,-z,now -Wl,--as-needed -Wl,--version-script=preload/versions.map \
		$(FAULT_WRAP) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(B)/fault/libhotpath.so.entry.o
$(B)/fault/hotpath-sampler: $(SAMPLER_O) $(B)/fault/hotpath-sampler.o
	$(Q)$(CC) $(FAULT_WRAP) -pie $(LDFLAGS) -o $@ $^ $(B)/fault/hotpath-sampler.entry.o
$(B)/fault/hotpath: $(REPORT_O) $(B)/fault/hotpath.o
	$(Q)$(CC) $(FAULT_WRAP) -pie $(LDFLAGS) -o $@ $^ $(B)/fault/hotpath.entry.o $(REPORT_LIBS)
$(B)/fault/hotpath-run: $(RUN_O) $(B)/fault/hotpath-run.o $(B)/obj/libreport.a
	$(Q)$(CC) $(FAULT_WRAP) -pie $(LDFLAGS) -o $@ $^ $(B)/fault/hotpath-run.entry.o
$(B)/fault/hotpath-live: $(LIVE_O) $(B)/fault/hotpath-live.o
	$(Q)$(CC) $(FAULT_WRAP) -pie $(LDFLAGS) -o $@ $^ $(B)/fault/hotpath-live.entry.o $(LIVE_LIBS)
$(B)/fault/%.o: test/fault/fault.c test/fault/fault.S test/fault/wrap.list
	@mkdir -p $(B)/fault/gen
	$(Q)sed -n 's/^\([a-z_0-9]*\) \([a-z]*\)$$/\1 \2/p' test/fault/wrap.list | \
		awk '{ print "X(" NR ", " $$1 ", " $$2 ")" }' >$(B)/fault/gen/$*.h
	$(Q)$(CC) -std=gnu11 $(WARN) -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -mgeneral-regs-only \
		-DFAULT_PART='"$*"' -DFAULT_LIST='"$*.h"' -I$(B)/fault/gen -c -o $@ test/fault/fault.c
	$(Q)$(CC) -DFAULT_LIST='"$*.h"' -I$(B)/fault/gen -c -o $(B)/fault/$*.entry.o test/fault/fault.S
faulty: $(FAULTY)
$(B)/hotpath-sampler: $(SAMPLER_O)
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(OBJ) $(HARDEN_LINK) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(LIBC_PARTS)
# It links the parts of the sampler that it calls.
$(B)/obj/libsampler.a: $(filter-out %/main.o,$(SAMPLER_O))
	$(Q)rm -f $@ && ar rcsP $@ $^
$(B)/hotpath-samply: $(SAMPLY_O) $(B)/obj/libsampler.a
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(OBJ) $(HARDEN_LINK) $(LDFLAGS) -o $@ $^ -Wl,--as-needed -lcjson -lz $(LIBC_PARTS)
$(B)/hotpath: $(REPORT_O)
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(OBJ) $(HARDEN_LINK) $(LDFLAGS) -o $@ $^ $(REPORT_LIBS)
$(B)/hotpath-live: $(LIVE_O)
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(OBJ) $(HARDEN_LINK) $(LDFLAGS) -o $@ $^ $(LIVE_LIBS)
$(B)/hotpath-console: $(CONSOLE_O)
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(OBJ) $(HARDEN_LINK) $(LDFLAGS) -o $@ $^ $(CONSOLE_LIBS)
# Only the parts that it needs: it is the first thing of each run.
$(B)/obj/libreport.a: $(filter-out %/main.o,$(REPORT_O))
	$(Q)rm -f $@ && ar rcsP $@ $^
$(B)/hotpath-run: $(RUN_O) $(B)/obj/libreport.a
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(OBJ) $(HARDEN_LINK) $(LDFLAGS) -o $@ $^ $(REPORT_LIBS)

# The report for a copy of the sampler's process.
$(B)/hotpath-report.so: $(B)/obj/report/command/report_main.o $(B)/obj/libreport.a report/command/report_main.map
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(OBJ) -shared -Wl,-z,relro -Wl,-z,now -Wl,-z,text -Wl,--version-script=report/command/report_main.map \
		$(LDFLAGS) -o $@ $(filter-out %.map,$^) $(REPORT_LIBS)

# Objects built with other flags are rebuilt: this file changes only with the flags.  It is itself
# a makefile, for a second make with the same ones.
FLAGS = $(foreach flag,CC CPPFLAGS CFLAGS LDFLAGS DEBUG SANITIZE STRICT VERSION HARDEN,'$(flag) = $(subst ','\'',$($(flag)))')
$(B)/flags $(B)/fuzz/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(FLAGS) | cmp -s - $@ || printf '%s\n' $(FLAGS) >$@
FORCE:

define compile
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC   $@")
	$(Q)$(CC) $(1) -c -o $@ $<
endef
$(B)/pic/segment/%.o $(B)/pic/preload/guest/%.o $(B)/pic/preload/thread/%.o $(B)/pic/preload/hook/%.o: GUARD = $(GUARDED)
$(B)/pic/%.o: %.c $(B)/flags
	$(call compile,$(PIC))
$(B)/obj/%.o: %.c $(B)/flags
	$(call compile,$(OBJ))
$(B)/san/%.o: %.c $(B)/flags
	$(call compile,$(BASE) $(SANITIZED))
# Read by the assembler; and hashes of them, for what a saved page may execute.
$(B)/obj/report/view/asset.o $(B)/san/report/view/asset.o: $(wildcard report/view/web/*)
$(B)/obj/report/view/page.o $(B)/san/report/view/page.o $(B)/fuzz/report/view/page.o: $(B)/gen/report/view/web_hash.h
$(B)/gen/report/view/web_hash.h: scripts/web-hash $(wildcard report/view/web/*)
	@mkdir -p $(@D)
	$(Q)scripts/web-hash report/view/web/*.css report/view/web/*.js >$@.new && mv $@.new $@
$(B)/libhp.a: $(PARTS_O) $(GUEST_O)
	$(Q)rm -f $@ && ar rcsP $@ $^
# The C library first: it has _exit, wait and others that preload/ interposes.
$(UNIT): $(B)/test/%: $(B)/san/test/unit/%.o $(B)/san/test/test.o $(B)/libhp.a
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZED) $(LDFLAGS) -o $@ $(filter %.o,$^) -lc $(B)/libhp.a $(CONSOLE_LIBS)
unit: $(UNIT)

# Data that threads share without a lock, under ThreadSanitizer.
RACE := $(patsubst test/race/%.c,$(B)/race/%,$(wildcard test/race/*_test.c))
RACE_PARTS_O := $(filter-out %/main.o $(B)/tsan/sampler/samply/%,$(call objects,tsan,segment unwind sampler)) \
	$(B)/tsan/test/race/expected.o $(B)/tsan/test/test.o
$(B)/tsan/%.o: %.c $(B)/flags
	$(call compile,$(BASE) -O1 -g -fsanitize=thread -fno-omit-frame-pointer \
		$(if $(findstring clang,$(CC)),,-Wno-tsan))
$(RACE): $(B)/race/%: $(B)/tsan/test/race/%.o $(RACE_PARTS_O)
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LINK $@")
	$(Q)rm -f $@.a && ar rcsP $@.a $(filter-out $<,$^)
	$(Q)$(CC) $(CFLAGS) -fsanitize=thread $(LDFLAGS) -o $@ $< $(B)/tsan/test/test.o \
		$(B)/tsan/test/race/expected.o $@.a -lpthread
race: $(RACE)

# Targets of test/fuzz: with libFuzzer, and without it to give them their corpus.
FUZZ := $(patsubst test/fuzz/%_fuzz.c,%,$(wildcard test/fuzz/*_fuzz.c))
fuzz_shared = $(patsubst %.c,$(B)/$(1)/%.o,$(filter-out %_fuzz.c %_program.c %/replay.c %/flip.c %/mutate.c,$(wildcard test/fuzz/*.c)))
FUZZ_PARTS_O := $(filter-out %main.o,$(call objects,fuzz,segment report live sampler unwind)) \
	$(call fuzz_shared,fuzz)
$(B)/fuzz/%.o: %.c $(B)/fuzz/flags
	$(call compile,$(BASE) $(SANITIZED) -fsanitize=fuzzer-no-link)
$(B)/fuzz/report/view/asset.o: $(wildcard report/view/web/*)
$(B)/fuzz/libhp.a: $(FUZZ_PARTS_O)
	$(Q)rm -f $@ && ar rcsP $@ $^
$(patsubst %,$(B)/fuzz/%_fuzz,$(FUZZ)): $(B)/fuzz/%: $(B)/fuzz/test/fuzz/%.o $(B)/fuzz/libhp.a
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZED) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(CONSOLE_LIBS)
fuzzers: $(patsubst %,$(B)/fuzz/%_fuzz,$(FUZZ))
$(addprefix $(B)/replay/,$(FUZZ)): $(B)/replay/%: $(B)/san/test/fuzz/%_fuzz.o $(B)/san/test/fuzz/replay.o \
		$(call fuzz_shared,san) $(B)/libhp.a
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZED) $(LDFLAGS) -o $@ $(filter %.o,$^) -lc $(B)/libhp.a $(CONSOLE_LIBS)
# The same readers, given a run with each byte changed in turn.
$(B)/replay/flip: $(addprefix $(B)/san/test/fuzz/,flip.o kept_fuzz.o) $(call fuzz_shared,san) $(B)/libhp.a
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZED) $(LDFLAGS) -o $@ $(filter %.o,$^) -lc $(B)/libhp.a $(CONSOLE_LIBS)
# And a run that a writer changes meanwhile.
$(B)/replay/mutate: $(B)/san/test/fuzz/mutate.o $(call fuzz_shared,san) $(B)/libhp.a
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LINK $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZED) $(LDFLAGS) -o $@ $(filter %.o,$^) -lc $(B)/libhp.a $(CONSOLE_LIBS)
replay: $(addprefix $(B)/replay/,$(FUZZ)) $(B)/replay/flip $(B)/replay/mutate

$(B)/examples/%: test/examples/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -finstrument-functions -DHOTPATH -Iinclude $(WARN) -o $@ $< -lm -lpthread
$(B)/examples/%: test/examples/%.cc
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -O2 -g -finstrument-functions -DHOTPATH -Iinclude -Wall -Wextra -o $@ $< -lpthread
examples: $(EXAMPLES)	## the programs of test/examples, instrumented

demo:	## installs missing packages, profiles lua from Debian's source, prints the report
	@scripts/setup demo
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc)) all
	@B=$(B) scripts/demo
test:	## installs packages for the tests and runs them: unit, behaviour, golden
	@case "$(CURDIR)" in *[[:blank:]:]*) \
		echo "make test: the loader splits LD_PRELOAD at blanks and colons; use a path without" >&2; exit 1;; esac
	@scripts/setup test
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc)) all unit race replay examples man \
		$(B)/truth/libhotpath.so faulty
	@HP_BUILD="$$(realpath "$(B)")" V=$(V) test/run $(UNIT) $(RACE) $(wildcard test/behave/*.bats test/golden/*.bats)
smoke:	## profiles a program of known shares here, and checks the tables
	@scripts/setup build
	@$(MAKE) --no-print-directory all $(B)/examples/smoke
	@B=$(B) scripts/smoke
test-all:	## the long ones too, all of it with assertions, and a fresh Debian in a directory
	@scripts/setup test-all
	@HP_TEST_FULL=1 $(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory B='$(B)/assert' DEBUG=1 CFLAGS='-O2 -g' test
	@test/fresh
CHECK_CC ?= gcc clang
check: all unit replay	## layers, exports, hardening, format, assertions, generated text, and no warning from gcc and clang
	@scripts/check-layers.sh . $(B)
	@scripts/check-exports.sh $(B)/libhotpath.so
	@scripts/check-hardening.sh $(B)
	@scripts/check-format.sh
	@scripts/check-tests.sh
	@scripts/check-generated.sh $(B)
	@for cc in $(CHECK_CC); do \
		$(MAKE) --no-print-directory B=$(B)/check-$$cc CC=$$cc STRICT=-Werror CFLAGS=-O0 all || exit; done
fuzz:	## each parser with libFuzzer, FUZZ_SECONDS=60 each
	@scripts/setup fuzz
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory CC=clang fuzzers
	@HP_BUILD="$$(realpath "$(B)")" test/fuzz/run $(FUZZ)
bench:	## ns per call of what test/bench holds, ours beside others'
	@scripts/setup bench
	@$(MAKE) --no-print-directory all
	@HP_BUILD="$$(realpath "$(B)")" test/bench/run

# The command writes the tables of variables, options and sections from the code's own.
$(B)/man/%: doc/man/% $(B)/hotpath
	@mkdir -p $(@D)
	@$(if $(Q),echo "  MAN  $@")
	$(Q)$(B)/hotpath help --roff >$@.table && $(B)/hotpath help --sections-roff >$@.sections && \
		sed -e 's/@VERSION@/$(VERSION)/; s/@DATE@/$(DATE)/' \
		-e '/@VARIABLES@/r $@.table' -e '/@VARIABLES@/d' \
		-e '/@SECTIONS@/r $@.sections' -e '/@SECTIONS@/d' $< >$@; rm -f $@.table $@.sections
man: $(addprefix $(B)/man/,$(notdir $(wildcard doc/man/*)))	## manual pages; view with man -l build/man/hotpath.1
install: all man	## below $(DESTDIR)$(PREFIX), the library in $(LIBDIR)
	@$(INSTALL) install
uninstall:	## what install put there, and the folders that it made
	@$(INSTALL) uninstall

help:	## this text
	@echo "make TARGET [PREFIX=/usr/local LIBDIR= DESTDIR= B=build V=1 DEBUG=1 SANITIZE=address,undefined CC=clang]"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1|\2/p' Makefile | column -t -s '|'
clean:	## remove build products
	rm -rf $(B)

-include $(shell find $(B) -path $(B)/source -prune -o -path $(B)/upstream -prune -o -path $(B)/demo -prune -o -type f -name "*.d" -print 2>/dev/null)
