/* SPDX-License-Identifier: MIT
 *
 * A run: all kernels of the family, then random ones as long as there is time.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tester/internal.h"

typedef struct Session {
    const TesterOptions *o;
    TesterNotes *notes;
    TesterWorker w;
    Arena scratch;       /* of one case */
    double start, first; /* of all; of the first kernel, from which on time counts */
    HeddleLog *log;
} Session;

static void tell(const Session *s, const char *kernel, bool reducing)
{
    const TesterReport *r = &s->notes->report;
    TesterProgress p = { .findings = s->notes->findings.len,
                         .kernel = kernel,
                         .reducing = reducing,
                         .seconds = clock_seconds() - s->start };
    for (uint32_t v = 0; v < TESTER_N_VERDICTS; v++)
        p.kernels += r->count[v];
    if (s->o->progress)
        s->o->progress(s->o->user, &p);
}

static HeddleResult look_into(Session *s, const TesterCase *c, TesterVerdict v)
{
    if (!s->o->folder || v == TESTER_NO_TEST)
        return note_finding(s->notes, &s->w, c, v, s->log);
    tell(s, c->name, true);
    s->w.judges = true;
    TesterCase small = reduce_case(&s->scratch, &s->w, c, v);
    HeddleResult r = note_finding(s->notes, &s->w, &small, v, s->log);
    s->w.judges = false;
    return r;
}

static HeddleResult run_one(Session *s, const TesterCase *c)
{
    TesterReport *r = &s->notes->report;
    tell(s, c->name, false);
    s->w.judges = false;
    TesterVerdict v = worker_run(&s->w, c);
    r->count[v]++;
    r->lowered += s->w.box->n_lowered != 0;
    if (v == TESTER_LACKS)
        note_refusal(s->notes, s->w.box->message);
    return v <= TESTER_LACKS ? HEDDLE_OK : look_into(s, c, v);
}

/* One of the family; false past the last. */
static bool run_listed(Session *s, uint32_t *at, HeddleResult *r)
{
    TesterCase c;
    if (!tester_case(&s->scratch, s->w.box, *at, &c))
        return false;
    *at += MAX(s->o->step, 1);
    s->notes->report.n_listed++;
    *r = run_one(s, &c);
    arena_free(&s->scratch);
    return true;
}

static bool run_random(Session *s, const GenTarget *t, HeddleResult *r)
{
    TesterReport *report = &s->notes->report;
    TesterCase c;
    if (!s->o->seconds || (s->o->most && report->n_seeds >= s->o->most))
        return false;
    tester_random(&s->scratch, s->w.box, t, report->first_seed + report->n_seeds++, &c);
    *r = run_one(s, &c);
    arena_free(&s->scratch);
    return true;
}

static bool is_over(const Session *s)
{
    double seconds = clock_seconds() - s->first;
    return (s->o->stop_at_first && s->notes->findings.len) ||
           (s->o->seconds && seconds >= s->o->seconds);
}

/* Kernels of the family and random ones by turns. */
static HeddleResult run_all(Session *s)
{
    Arena a = { 0 };
    HeddleResult r = HEDDLE_OK;
    GenTarget t = tester_target(&a, &s->w);
    bool listed = true, random = true;
    s->first = clock_seconds();
    uint32_t at = 0;
    s->notes->report.first_seed = s->o->first_seed ? s->o->first_seed : 1;
    s->notes->report.all_listed = tester_n_cases(s->w.box);
    while (!r && (listed || random)) {
        if (listed && !is_over(s))
            listed = run_listed(s, &at, &r);
        if (random && !r && !is_over(s))
            random = run_random(s, &t, &r);
        if (is_over(s))
            break;
    }
    arena_free(&a);
    return r;
}

static HeddleResult run_session(Session *s)
{
    TesterReport *report = &s->notes->report;
    HeddleResult r = worker_open(&s->w, s->o, s->log);
    if (!r && s->o->folder && mkdir(s->o->folder, 0777) && errno != EEXIST)
        r = HEDDLE_ERROR_IO;
    if (r)
        return r;
    report->device = arena_strdup(&s->notes->arena, s->w.box->device);
    report->driver = arena_strdup(&s->notes->arena, s->w.box->driver);
    r = run_all(s);
    report->seconds = clock_seconds() - s->start;
    HeddleResult written = write_summary(s->notes, s->o, s->log);
    return r ? r : written;
}

HeddleResult tester_run(const TesterOptions *o, TesterReport **out, HeddleLog *log)
{
    Session s = { .o = o, .log = log, .start = clock_seconds() };
    *out = NULL;
    s.notes = calloc(1, sizeof *s.notes);
    if (!s.notes)
        return HEDDLE_ERROR_MEMORY;
    jmp_buf oom, scratch_oom;
    volatile HeddleResult r = HEDDLE_ERROR_MEMORY;
    if (!ARENA_GUARD(&s.notes->arena, oom) && !ARENA_GUARD(&s.scratch, scratch_oom))
        r = run_session(&s);
    worker_close(&s.w);
    arena_free(&s.scratch);
    if (r)
        tester_free(&s.notes->report);
    else
        *out = &s.notes->report;
    return r;
}

void tester_free(TesterReport *r)
{
    TesterNotes *n = (TesterNotes *)r;
    if (!n)
        return;
    arena_free(&n->arena);
    free(n);
}
