/* SPDX-License-Identifier: MIT
 *
 * What the files of tester/ share: a case, the process that runs it, making it small. Private to
 * tester/.
 */
#ifndef HEDDLE_TESTER_INTERNAL_H
#define HEDDLE_TESTER_INTERNAL_H

#include "random/random.h"
#include "spirv/spirv.h"
#include "tester/tester.h"

#include <sys/types.h>

/* ---- a case: a module, and the memory that it runs on ---------------------------------------- */

enum { TESTER_BUFFERS = 8, TESTER_NAME = 160 };

typedef struct TesterBuffer {
    uint32_t at, size; /* bytes, in the case's data */
    bool compared;
    HeddleType type;  /* numbers that are compared as such; NO_TYPE: words are */
    double tolerance; /* relative to 1 + |expected| */
} TesterBuffer;

typedef struct TesterCase {
    char name[TESTER_NAME];
    const uint32_t *words;
    size_t size; /* bytes */
    uint32_t subgroup_size, groups;
    uint32_t n_buffers; /* at the bindings of set 0 from 0 on */
    TesterBuffer buffers[TESTER_BUFFERS];
    const uint8_t *data; /* of all buffers, before it runs */
    size_t data_size;
} TesterCase;

/* ---- worker.c: the driver's process ---------------------------------------------------------- */

enum { TESTER_WORDS = 4 << 20, TESTER_DATA = 8 << 20, TESTER_MESSAGE = 400, TESTER_SHAPES = 256 };

/* What both processes see: the parent writes a case, the child what came of it. */
typedef struct TesterMailbox {
    TesterCase c; /* its pointers mean nothing in here */
    bool checked; /* the reference device looks for mistakes of the kernel */
    bool keeps;   /* `expected` is what came of the same kernel before */
    volatile uint32_t at_driver;
    TesterVerdict verdict;
    char message[TESTER_MESSAGE];
    bool judged_by_lowered; /* the reference device ran the lowered module as well, */
    bool lowering_differs;  /* which does not do what the original does */
    uint32_t n_lowered;
    size_t emitted_size; /* of what the driver got */
    /* of the device */
    HeddleResult opened;
    char device[128], driver[128];
    char profile[8192];
    uint32_t subgroup_size; /* by default */
    HeddleMatrixShape shapes[TESTER_SHAPES];
    uint32_t n_shapes;
    uint8_t words[TESTER_WORDS], emitted[TESTER_WORDS], data[TESTER_DATA], expected[TESTER_DATA],
        got[TESTER_DATA];
} TesterMailbox;

typedef struct TesterWorker {
    const TesterOptions *o;
    TesterMailbox *box;
    pid_t pid; /* 0: there is none */
    int to, from;
    double patience; /* seconds that a case may take */
    bool judges;     /* of what is lowered and differs it is asked whose fault that is */
} TesterWorker;

/* Opens the device in a new process. */
HeddleResult worker_open(TesterWorker *w, const TesterOptions *o, HeddleLog *log);
void worker_close(TesterWorker *w);
/* Runs a case; what came is in the mailbox. `box->checked` and `keeps` are the caller's. */
TesterVerdict worker_run(TesterWorker *w, const TesterCase *c);

/* ---- compare.c ------------------------------------------------------------------------------- */

/* Where they differ, as text; false where they do not. */
bool compare_buffers(const TesterCase *c, const uint8_t *expected, const uint8_t *got, char *text,
                     size_t size);

/* ---- kernels.c: kernels of the family -------------------------------------------------------- */

/* The i-th of all that the device is to be asked; false past the end. `c->words` is NULL where its
 * source does not compile. */
bool tester_case(Arena *a, const TesterMailbox *device, uint32_t i, TesterCase *c);
uint32_t tester_n_cases(const TesterMailbox *device);
/* What random kernels for the device may have; asks the driver. */
GenTarget tester_target(Arena *a, TesterWorker *w);
bool tester_random(Arena *a, const TesterMailbox *device, const GenTarget *t, uint64_t seed,
                   TesterCase *c);
/* SPIR-V of a source in `a`; NULL after an error. */
const uint32_t *tester_compile(Arena *a, const char *source, const HeddleModuleOptions *o,
                               size_t *size);

/* ---- tidy.c, reduce.c ------------------------------------------------------------------------ */

/* Drops what nothing needs: blocks that are not reached, results that are not used, functions that
 * are not called, declarations. What still uses what is gone gets nulls. */
void tidy_module(SpvModule *m, Arena *scratch);
/* The case with as little as possible of its module, still with that verdict; in `a`. */
TesterCase reduce_case(Arena *a, TesterWorker *w, const TesterCase *c, TesterVerdict v);
/* Opcodes in functions but the commonest, each once, in order: what findings are told apart by. */
const char *tester_signature(Arena *a, const TesterCase *c, uint32_t *instructions);

/* ---- report.c -------------------------------------------------------------------------------- */

/* What reports consist of, besides what callers see. */
typedef struct TesterNotes {
    TesterReport report; /* first: it is what callers get */
    Arena arena;
    VEC(TesterFinding) findings;
    VEC(const char *) signatures; /* by finding */
    VEC(const char *) lacks;      /* what kernels were refused for, each once */
} TesterNotes;

void note_refusal(TesterNotes *n, const char *message);
/* Writes the folder, unless the finding is one that was seen before. */
HeddleResult note_finding(TesterNotes *n, const TesterWorker *w, const TesterCase *c,
                          TesterVerdict v, HeddleLog *log);
HeddleResult write_summary(TesterNotes *n, const TesterOptions *o, HeddleLog *log);

#endif
