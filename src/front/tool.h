/* SPDX-License-Identifier: MIT
 *
 * tool: what the front ends that run another program have in common: running it and taking what it
 * writes, and a private folder with the file it reads and the one it makes.
 */
#ifndef HEDDLE_FRONT_TOOL_H
#define HEDDLE_FRONT_TOOL_H

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

typedef struct ToolFiles {
    char *folder, *input, *output;  /* paths */
    bool made;                      /* the folder exists */
} ToolFiles;

/* Takes the memory for all paths before anything exists that must be removed again. */
void tool_name_files(Arena *arena, ToolFiles *f, const char *input, const char *output);
/* The folder, and the input with those bytes. False with errno and the path that it is about. */
bool tool_make_files(ToolFiles *f, const void *bytes, size_t size, const char **about);
/* The output's bytes. False with errno. */
bool tool_read_output(Arena *arena, const ToolFiles *f, void **bytes, size_t *size);
void tool_remove_files(const ToolFiles *f);

#endif
