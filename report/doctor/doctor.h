/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - `hotpath doctor`: checks of this machine or of a program.
 *
 * Folder: report/doctor - `hotpath doctor`: checks of this machine, or of
 *   a program
 * May use: report/base report/elf report/name report/store segment
 */
#ifndef HP_REPORT_DOCTOR_DOCTOR_H
#define HP_REPORT_DOCTOR_DOCTOR_H

/* Gets its own argv and returns the exit status, report/base/exit.h. */
int hp_cmd_doctor(int argc, char **argv);

#endif
