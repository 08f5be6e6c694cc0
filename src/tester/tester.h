/* SPDX-License-Identifier: MIT
 *
 * tester: kernels with cooperative matrices, and random ones, on a Vulkan driver and on the
 * reference device. A driver runs in a process of its own, so that what it does to itself is a
 * finding and not the end.
 */
#ifndef HEDDLE_TESTER_H
#define HEDDLE_TESTER_H

#include "heddle/heddle.h"

/* What became of a kernel. */
typedef enum TesterVerdict {
    TESTER_SAME,
    TESTER_LACKS, /* the driver does not have what the kernel needs, or heddle does not lower it */
    TESTER_DIFFERS, /* from the reference device, by more than the specification lets it */
    TESTER_FAILS,   /* the driver refuses a pipeline, or loses the device */
    TESTER_CRASHES,
    TESTER_HANGS,
    TESTER_NO_TEST, /* the reference device does not run it: the kernel is to blame, or heddle */
    TESTER_N_VERDICTS
} TesterVerdict;
const char *tester_verdict(TesterVerdict v); /* "differs" */

typedef struct TesterFinding {
    const char *kernel; /* its name: "khr/muladd f16*f16->f32 16x16x16, ..." or "random 17" */
    TesterVerdict verdict;
    const char *what;   /* one line */
    const char *judged; /* whose fault it seems to be: "the driver's", "the lowering's", "open" */
    const char *known;  /* the reason that --known gives; NULL: it is not known */
    const char *folder; /* with the module, its inputs, what was expected, what came; or NULL */
    uint32_t instructions, times; /* of the module; kernels that come down to the same one */
} TesterFinding;

typedef struct TesterProgress {
    uint32_t kernels, findings;
    const char *kernel; /* the one that is next */
    bool reducing;
    double seconds;
} TesterProgress;

struct SpvModule;

typedef struct TesterOptions {
    uint32_t ordinal;    /* of the Vulkan device */
    double seconds;      /* how long to go on; 0: all but random kernels */
    double patience;     /* what a kernel may take before the driver is said to hang; 0 = 20 */
    uint64_t first_seed; /* of random kernels; 0 = 1 */
    uint32_t most;       /* random kernels; 0: as many as there is time for */
    uint32_t step;       /* of the other kernels each step-th; 0 = 1 */
    const char *folder;  /* for findings; NULL: none is written, or made small */
    const char *known;   /* text: a pattern, blanks, a reason a line; NULL: nothing is */
    void (*progress)(void *user, const TesterProgress *p); /* before every kernel; may be NULL */
    void *user;
    /* A fault that the driver is to seem to have: changes the module that it gets. False: there is
     * nothing in it to change. NULL: none. Called in the driver's process. */
    bool (*plant)(void *user, struct SpvModule *m);
    void *plant_user;
    bool stop_at_first; /* finding */
} TesterOptions;

typedef struct TesterReport {
    const char *device, *driver;
    uint32_t count[TESTER_N_VERDICTS], lowered; /* kernels; those that heddle lowered */
    uint32_t n_listed, all_listed; /* kernels of the family: those that were run, all */
    uint64_t first_seed, n_seeds;
    double seconds;
    const TesterFinding *findings;
    uint32_t n_findings;
    const char *markdown; /* all that as text */
} TesterReport;

/* Errors: what opening the device says, IO (the folder). The report is freed by tester_free. */
HeddleResult tester_run(const TesterOptions *o, TesterReport **out, HeddleLog *log);
void tester_free(TesterReport *r);

#endif
