/* SPDX-License-Identifier: MIT
 *
 * Diagnostics: counted in the sink, handed to its callback, and their one textual form.
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_MAX_ERRORS = 20 };

void diag_v(DiagSink *s, DiagSeverity severity, const DiagLoc *loc, const char *rule,
            const char *fmt, va_list args)
{
    if (!s)
        return;
    s->errors += severity == DIAG_ERROR;
    s->warnings += severity == DIAG_WARNING;
    uint32_t max = s->max_errors ? s->max_errors : DEFAULT_MAX_ERRORS;
    if (!s->report || s->errors > max)
        return;

    /* If there is no memory for a message longer than the buffer, it is truncated rather than
     * lost. */
    char local[512], *text = local;
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(local, sizeof(local), fmt, args);
    if (n < 0)
        local[0] = 0;
    if (n >= (int)sizeof(local)) {
        char *longer = malloc((size_t)n + 1);
        if (longer) {
            vsnprintf(longer, (size_t)n + 1, fmt, again);
            text = longer;
        }
    }
    va_end(again);

    Diag d = { .severity = severity, .rule = rule, .message = text };
    if (loc)
        d.loc = *loc;
    s->report(s->user, &d);
    if (text != local)
        free(text);
}

void diag(DiagSink *s, DiagSeverity severity, const DiagLoc *loc, const char *rule, const char *fmt,
          ...)
{
    va_list args;
    va_start(args, fmt);
    diag_v(s, severity, loc, rule, fmt, args);
    va_end(args);
}

typedef struct Out {
    char *data;
    size_t size, len;
} Out;

static PRINTF_LIKE(2, 3) void append(Out *o, const char *fmt, ...)
{
    size_t at = MIN(o->len, o->size);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(o->size ? o->data + at : NULL, o->size - at, fmt, args);
    va_end(args);
    o->len += n > 0 ? (size_t)n : 0;
}

size_t diag_format(const Diag *d, char *out, size_t size)
{
    static const char *const severities[] = { "note", "warning", "error" };
    const DiagLoc *l = &d->loc;
    Out o = { out, size, 0 };

    if (size)
        out[0] = 0;
    if (l->file)
        append(&o, "%s:", l->file);
    if (l->line)
        append(&o, "%u:", l->line);
    if (l->line && l->column)
        append(&o, "%u:", l->column);
    append(&o, "%s%s: %s", o.len ? " " : "", severities[d->severity], d->message ? d->message : "");
    if (l->has_inst) {
        append(&o, " (instruction %u", l->inst);
        if (l->opcode)
            append(&o, ", %s", l->opcode);
        if (l->result)
            append(&o, " %s", l->result);
        append(&o, ")");
    }
    if (d->rule)
        append(&o, " [%s]", d->rule);
    return o.len;
}
