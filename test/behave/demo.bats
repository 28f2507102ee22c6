#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# demo.bats - the demo and the installation, where not all is as one would like it.

load helper

@test "demo: offline, a program of ours takes lua's place, and a line says so" {
	mkdir -p "$T/b"
	for product in hotpath hotpath-run hotpath-sampler libhotpath.so; do
		ln -sf "$HP_BUILD/$product" "$T/b/$product"
	done
	export http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 B=$T/b
	cd "$ROOT"
	run scripts/demo
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"cannot fetch the source of lua5.4"* ]]
	[[ "$output" == *"takes lua's place"* ]]
	[[ "$output" == *insert* ]]
}

@test "install: works in its new place and through its links, and leaves nothing behind" {
	make_as_built -C "$ROOT" B="$HP_BUILD" DESTDIR="$T/root" PREFIX=/usr install
	run "$T/root/usr/bin/hotpath-run" sh -c 'exit 5'
	[ "$status" -eq 5 ]
	run "$T/root/usr/bin/hotpath" version
	[ "$status" -eq 0 ]
	make_as_built -C "$ROOT" B="$HP_BUILD" DESTDIR="$T/root" PREFIX=/usr uninstall
	[ -z "$(find "$T/root" ! -type d)" ]
}
