/* SPDX-License-Identifier: MIT
 *
 * HeddleLog: keeps every diagnostic in one allocation of its own (struct and strings), so that what
 * heddle_log_get hands out stays put, and passes it on to the caller's callback. When there is no
 * memory to keep one, the callback still hears of it and the error still counts.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/internal.h"

struct HeddleLog {
    HeddleReportFn *report;
    void *user;
    HeddleDiagnostic **entries;
    size_t count, capacity, errors;
};

HeddleLog *heddle_log_new(HeddleReportFn *report, void *user)
{
    HeddleLog *log = calloc(1, sizeof *log);
    if (log) {
        log->report = report;
        log->user = user;
    }
    return log;
}

void heddle_log_clear(HeddleLog *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < log->count; i++)
        free(log->entries[i]);
    log->count = 0;
    log->errors = 0;
}

void heddle_log_free(HeddleLog *log)
{
    if (!log)
        return;
    heddle_log_clear(log);
    free(log->entries);
    free(log);
}

size_t heddle_log_count(const HeddleLog *log) { return log ? log->count : 0; }
size_t heddle_log_errors(const HeddleLog *log) { return log ? log->errors : 0; }

const HeddleDiagnostic *heddle_log_get(const HeddleLog *log, size_t i)
{
    return log && i < log->count ? log->entries[i] : NULL;
}

void heddle_print_to_stderr(void *user, const HeddleDiagnostic *diagnostic)
{
    (void)user;
    fprintf(stderr, "%s\n", diagnostic->text);
}

/* Copies s to *at, advances *at past it and returns where it went. */
static const char *pack_text(char **at, const char *s)
{
    if (!s)
        return NULL;
    char *to = *at;
    size_t n = strlen(s) + 1;
    memcpy(to, s, n);
    *at += n;
    return to;
}

static size_t room(const char *s) { return s ? strlen(s) + 1 : 0; }

static HeddleDiagnostic *copy(const HeddleDiagnostic *d)
{
    size_t size = sizeof *d + room(d->file) + room(d->opcode) + room(d->id) + room(d->rule) +
                  room(d->message) + room(d->text);
    HeddleDiagnostic *c = malloc(size);
    if (!c)
        return NULL;
    char *at = (char *)(c + 1);
    *c = *d;
    c->file = pack_text(&at, d->file);
    c->opcode = pack_text(&at, d->opcode);
    c->id = pack_text(&at, d->id);
    c->rule = pack_text(&at, d->rule);
    c->message = pack_text(&at, d->message);
    c->text = pack_text(&at, d->text);
    return c;
}

static bool keep(HeddleLog *log, const HeddleDiagnostic *d)
{
    if (log->count == log->capacity) {
        size_t capacity = log->capacity ? 2 * log->capacity : 16;
        HeddleDiagnostic **entries = realloc(log->entries, capacity * sizeof *entries);
        if (!entries)
            return false;
        log->entries = entries;
        log->capacity = capacity;
    }
    HeddleDiagnostic *c = copy(d);
    if (!c)
        return false;
    log->entries[log->count++] = c;
    return true;
}

static void report(void *user, const Diag *diag)
{
    HeddleLog *log = user;
    char fixed[1024];
    size_t need = diag_format(diag, fixed, sizeof fixed) + 1;
    char *text = need > sizeof fixed ? malloc(need) : NULL;
    if (text)
        diag_format(diag, text, need);
    HeddleDiagnostic d = {
        .struct_size = sizeof d,
        .severity = diag->severity == DIAG_ERROR     ? HEDDLE_ERROR
                    : diag->severity == DIAG_WARNING ? HEDDLE_WARNING
                                                     : HEDDLE_NOTE,
        .file = diag->loc.file,
        .line = diag->loc.line,
        .column = diag->loc.column,
        .has_instruction = diag->loc.has_inst,
        .instruction = diag->loc.inst,
        .opcode = diag->loc.opcode,
        .id = diag->loc.result,
        .rule = diag->rule,
        .message = diag->message,
        .text = text ? text : fixed,
    };
    if (d.severity == HEDDLE_ERROR)
        log->errors++;
    bool kept = keep(log, &d);
    if (log->report)
        log->report(log->user, kept ? log->entries[log->count - 1] : &d);
    free(text);
}

void log_move(HeddleLog *to, HeddleLog *from)
{
    for (size_t i = 0; to && i < from->count; i++) {
        const HeddleDiagnostic *d = from->entries[i];
        to->errors += d->severity == HEDDLE_ERROR;
        bool kept = keep(to, d);
        if (to->report)
            to->report(to->user, kept ? to->entries[to->count - 1] : d);
    }
    heddle_log_clear(from);
}

DiagSink log_sink(HeddleLog *log)
{
    return log ? (DiagSink){ .report = report, .user = log } : (DiagSink){ 0 };
}

HeddleResult log_fail(HeddleLog *log, HeddleResult result, const char *fmt, ...)
{
    DiagSink sink = log_sink(log);
    va_list args;
    va_start(args, fmt);
    diag_v(&sink, DIAG_ERROR, NULL, NULL, fmt, args);
    va_end(args);
    return result;
}

HeddleResult log_guarded(HeddleLog *log, Arena *arena, HeddleResult (*work)(void *user), void *user)
{
    jmp_buf here;
    if (setjmp(here)) {
        arena->on_failure = NULL;
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    }
    arena->on_failure = &here;
    HeddleResult result = work(user);
    arena->on_failure = NULL;
    return result;
}

HeddleResult log_failed_stage(const DiagSink *sink, HeddleLog *log, HeddleResult result,
                              const char *what)
{
    if (sink->errors || result == HEDDLE_ERROR_MEMORY) /* which log_guarded has reported */
        return result;
    return log_fail(log, result, "%s failed", what);
}
