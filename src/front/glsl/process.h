/* SPDX-License-Identifier: MIT
 *
 * process: runs a program and takes what it writes. Private to the folder.
 */
#ifndef HEDDLE_GLSL_PROCESS_H
#define HEDDLE_GLSL_PROCESS_H

#include "base/base.h"

typedef struct ProcessResult {
    int error;          /* errno when it could not be started, else 0 */
    int status;         /* exit status; 128 + signal when a signal ended it */
    char *output;       /* standard output and standard error together, NUL-terminated */
} ProcessResult;

/* Runs argv[0] (looked for in PATH when it has no slash) with argv, with nothing on its standard
 * input, to its end. Output beyond 256 KB is dropped. Takes memory before the program starts
 * only. */
void process_run(Arena *arena, const char *const *argv, ProcessResult *out);

#endif
