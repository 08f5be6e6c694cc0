/* SPDX-License-Identifier: MIT
 *
 * lines: from an address in a kernel's machine code to the place in its source.
 */
#ifndef HEDDLE_CPU_MACHINE_LINES_H
#define HEDDLE_CPU_MACHINE_LINES_H

#include "base/base.h"

/* From `offset` in the code on, up to the next one. */
typedef struct CpuLine {
    uint64_t offset;
    uint32_t file, line, column; /* line 0: of no line. file: in CpuLines.files */
} CpuLine;

/* A function in the code, by its symbol. */
typedef struct CpuFunction {
    char *name;
    uint64_t offset, size;
} CpuFunction;

typedef struct CpuLines {
    CpuLine *lines; /* by offset */
    uint32_t n_lines;
    char **files;
    uint32_t n_files;
    CpuFunction *functions;
    uint32_t n_functions;
    uintptr_t start; /* where the code lies */
    uint64_t size;
} CpuLines;

/* Adds the lines of a .debug_line section of DWARF 4 that is not relocated and is of one stretch
 * of code, which begins at offset 0. False where it is something else or memory runs out. */
bool cpu_lines_read(CpuLines *l, const void *section, size_t size);
/* NULL: the address is not in the code, or of no line. */
const CpuLine *cpu_lines_find(const CpuLines *l, uintptr_t address);
/* Where it is in the source, for a diagnostic. l may be NULL. */
DiagLoc cpu_lines_loc(const CpuLines *l, uintptr_t address);
void cpu_lines_free(CpuLines *l); /* NULL is fine */

#endif
