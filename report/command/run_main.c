/* SPDX-License-Identifier: MIT */
/*
 * run_main.c - `hotpath-run`, which is `hotpath run`.
 *
 * A program of its own: every run starts it first, and `hotpath` has libraries and relocations
 * that only reports need. A script would take a millisecond.
 */
#include "report/command/run.h"

int main(int argc, char **argv)
{
	static char name[] = "run";

	if (argc > 0)
		argv[0] = name;
	return hp_cmd_run(argc, argv);
}
