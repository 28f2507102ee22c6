#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# hardening.bats - how the library and the commands were linked, and that the check sees it.

load helper

@test "hardening: what was built is position-independent, read-only after relocation, guarded and checked" {
	"$ROOT/scripts/check-hardening.sh" "$HP_BUILD"
}

@test "hardening: the check reports missing protections" {
	mkdir -p "$T/soft"
	printf 'int main(void) { return 0; }' | gcc -xc -no-pie -fno-stack-protector -Wl,-z,norelro,-z,lazy,-z,execstack -o "$T/one" -
	for name in libhotpath.so hotpath hotpath-run hotpath-live hotpath-console hotpath-sampler hotpath-report.so hotpath-samply; do
		cp "$T/one" "$T/soft/$name"
	done
	run "$ROOT/scripts/check-hardening.sh" "$T/soft"
	[ "$status" = 1 ]
	for word in PIE relro now execstack stack-protector FORTIFY; do
		[[ $output == *$word* ]] || { echo "no word of $word: $output"; return 1; }
	done
}
