/* SPDX-License-Identifier: MIT
 *
 * tool: what the front ends that run another program have in common: finding it, running it on a
 * private copy of the source, and taking what it writes.
 */
#ifndef HEDDLE_FRONT_TOOL_H
#define HEDDLE_FRONT_TOOL_H

#include "base/base.h"

typedef struct ProcessResult {
    int error;    /* errno when it could not be started, else 0 */
    int status;   /* exit status; 128 + signal when a signal ended it */
    char *output; /* standard output and standard error together, NUL-terminated */
} ProcessResult;

/* Runs argv[0] (looked for in PATH when it has no slash) with argv, with nothing on its standard
 * input, to its end. Output beyond 256 KB is dropped. Allocates memory only before the program
 * starts. */
void process_run(Arena *arena, const char *const *argv, ProcessResult *out);

typedef enum ToolStatus { TOOL_OK, TOOL_WRONG_SOURCE, TOOL_MISSING, TOOL_IO } ToolStatus;

typedef struct ToolSource {
    const void *data;
    size_t size;
    const char *name; /* for messages */
} ToolSource;

/* A program that turns one file into another. */
typedef struct Tool Tool;
struct Tool {
    Arena *arena;
    DiagSink *sink;
    const char *program;  /* a path, or a name to look for in PATH */
    const char *language; /* what it reads, for messages */
    const char *advice;   /* to those who have not got it */
    ToolSource source;
    const char *const *(*arguments)(Tool *t);
    /* Turns its output into diagnostics; returns the rest of it. */
    const char *(*messages)(Tool *t, char *text);
    void *user;
    /* From here on tool_run's own. */
    char *folder, *input, *output;
    bool made;   /* the folder exists */
    void *bytes; /* the output's */
    size_t n_bytes;
};

/* Where the program `name` is: what the environment's `variable` says, else in libexec/heddle
 * beside the file that this code was loaded from (the same in a build tree, where heddle was
 * installed, and where that was moved), else where heddle was to be installed; else the name, which
 * is looked for in PATH. */
const char *tool_find(Arena *arena, const char *variable, const char *name);
/* Runs the program on a copy of the source, a file of that name in a private folder that is removed
 * afterwards in any case. */
ToolStatus tool_run(Tool *t, const char *input, const char *output);

#endif
