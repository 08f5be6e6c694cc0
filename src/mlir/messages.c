/* SPDX-License-Identifier: MIT
 *
 * The messages of heddle-mlir, including MLIR's diagnostics. Each is a line of fields separated by
 * \037 on standard output; src/front/mlir turns them into heddle's diagnostics.
 *
 * MLIR reads a text in which rotations have another form (syntax.c): columns are those of the
 * source after subtraction of what was inserted before them.
 */
#include <mlir-c/Diagnostics.h>
#include <stdio.h>

#include "mlir/mlir.h"

/* Without what would end the field or the line. */
static void write_text(const char *s)
{
    for (; *s; s++)
        putchar(*s == '\n' || *s == '\037' ? ' ' : *s);
}

void message_write(void *user, const Diag *d)
{
    (void)user;
    static const char *const names[] = { "note", "warning", "error" };
    printf("%s\037%u\037%u\037", names[d->severity], d->loc.line, d->loc.column);
    write_text(d->loc.file ? d->loc.file : "");
    putchar('\037');
    write_text(d->message);
    putchar('\n');
}

void message_figure(const char *name, const char *key, uint32_t a, uint32_t b)
{
    printf("%s\037%u\037%u\037%s\037\n", name, a, b, key);
}

/* ---- positions ------------------------------------------------------------------------------- */

static uint32_t source_column(const HmJob *j, uint32_t line, uint32_t column)
{
    int32_t shift = 0;
    for (uint32_t i = 0; i < j->shifts.len && j->shifts.data[i].line <= line; i++) {
        const HmShift *s = &j->shifts.data[i];
        if (s->line == line && s->column <= column)
            shift += s->by;
    }
    return (uint32_t)MAX((int64_t)column + shift, 1);
}

/* The innermost position that a file has: the first that is one, of fused ones. */
static MlirLocation file_location(HmJob *j, MlirLocation loc)
{
    if (mlirLocationIsAName(loc))
        return file_location(j, mlirLocationNameGetChildLoc(loc));
    if (mlirLocationIsACallSite(loc))
        return file_location(j, mlirLocationCallSiteGetCallee(loc));
    if (!mlirLocationIsAFused(loc))
        return loc;
    unsigned n = mlirLocationFusedGetNumLocations(loc);
    MlirLocation *parts = NEW_ARRAY(j->arena, MlirLocation, n + 1);
    mlirLocationFusedGetLocations(loc, parts);
    for (unsigned i = 0; i < n; i++) {
        MlirLocation part = file_location(j, parts[i]);
        if (mlirLocationIsAFileLineColRange(part))
            return part;
    }
    return loc;
}

DiagLoc location_of(HmJob *j, MlirLocation loc)
{
    loc = file_location(j, loc);
    if (!mlirLocationIsAFileLineColRange(loc))
        return (DiagLoc){ .file = j->name };
    MlirStringRef file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(loc));
    DiagLoc d = { .file = arena_strndup(j->arena, file.data, file.length),
                  .line = (uint32_t)mlirLocationFileLineColRangeGetStartLine(loc),
                  .column = (uint32_t)mlirLocationFileLineColRangeGetStartColumn(loc) };
    if (!strcmp(d.file, "-")) { /* what MLIR calls a text that it gets from memory */
        d.file = j->name;
        d.column = source_column(j, d.line, d.column);
    }
    return d;
}

void complain_at(HmJob *j, MlirLocation loc, const char *fmt, ...)
{
    DiagLoc at = location_of(j, loc);
    va_list args;
    va_start(args, fmt);
    diag_v(j->sink, DIAG_ERROR, &at, "MLIR", fmt, args);
    va_end(args);
}

/* ---- MLIR's ---------------------------------------------------------------------------------- */

static const char *message_text(HmJob *j, MlirDiagnostic d)
{
    HmText t = { .arena = j->arena };
    mlirDiagnosticPrint(d, text_add, &t);
    return t.str.data ? t.str.data : "";
}

/* Notes that print the operation again are of no use beside its position. */
static void report(HmJob *j, MlirDiagnostic d, DiagSeverity severity)
{
    const char *text = message_text(j, d);
    if (!strncmp(text, "see current operation", 21))
        return;
    DiagLoc at = location_of(j, mlirDiagnosticGetLocation(d));
    diag(j->sink, severity, &at, severity == DIAG_NOTE ? NULL : "MLIR", "%s", text);
    for (intptr_t i = 0; i < mlirDiagnosticGetNumNotes(d); i++)
        report(j, mlirDiagnosticGetNote(d, i), DIAG_NOTE);
}

/* Passes emit remarks about patterns that do not match. */
static MlirLogicalResult handle(MlirDiagnostic d, void *user)
{
    HmJob *j = user;
    MlirDiagnosticSeverity severity = mlirDiagnosticGetSeverity(d);
    if (severity == MlirDiagnosticRemark)
        return mlirLogicalResultSuccess();
    if (severity == MlirDiagnosticError && j->hold) {
        if (!j->held) {
            j->held = message_text(j, d);
            j->held_at = mlirDiagnosticGetLocation(d);
        }
        return mlirLogicalResultSuccess();
    }
    report(j, d,
           severity == MlirDiagnosticError     ? DIAG_ERROR
           : severity == MlirDiagnosticWarning ? DIAG_WARNING
                                               : DIAG_NOTE);
    return mlirLogicalResultSuccess();
}

void messages_attach(HmJob *j) { mlirContextAttachDiagnosticHandler(j->context, handle, j, NULL); }
