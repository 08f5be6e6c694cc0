/* SPDX-License-Identifier: MIT
 *
 * What a run leaves: a folder for each finding, and a page about all.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tester/internal.h"

static const char *const verdicts[TESTER_N_VERDICTS] = {
    [TESTER_SAME] = "agrees",        [TESTER_LACKS] = "is refused", [TESTER_DIFFERS] = "differs",
    [TESTER_FAILS] = "fails",        [TESTER_CRASHES] = "crashes",  [TESTER_HANGS] = "hangs",
    [TESTER_NO_TEST] = "is no test",
};

const char *tester_verdict(TesterVerdict v) { return verdicts[v]; }

/* ---- known differences ----------------------------------------------------------------------- */

/* Lines of a pattern in quotes or without blanks, and the reason. '#' begins a remark. */
static const char *known_reason(Arena *a, const char *list, const TesterFinding *f,
                                const char *signature)
{
    char *line = arena_strdup(a, list ? list : ""), *rest = NULL;
    for (line = strtok_r(line, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        bool quoted = *line == '"';
        char *pattern = line + quoted, *end = pattern + strcspn(pattern, quoted ? "\"" : " \t");
        if (*line == '#' || !*end)
            continue;
        *end = 0;
        const char *reason = end + 1 + strspn(end + 1, " \t");
        if (!fnmatch(pattern, f->kernel, 0) || !fnmatch(pattern, signature, 0))
            return reason;
    }
    return NULL;
}

void note_refusal(TesterNotes *n, const char *message)
{
    for (uint32_t k = 0; k < n->lacks.len; k++)
        if (!strcmp(n->lacks.data[k], message))
            return;
    if (n->lacks.len < 20)
        vec_push(&n->arena, &n->lacks, arena_strdup(&n->arena, message));
}

/* ---- a finding's folder ---------------------------------------------------------------------- */

static HeddleResult put_file(Arena *a, const char *folder, const char *name, const void *data,
                             size_t size)
{
    DiagSink quiet = { 0 };
    const char *path = arena_printf(a, "%s/%s", folder, name);
    return file_write(path, data, size, NULL, 0, &quiet) ? HEDDLE_OK : HEDDLE_ERROR_IO;
}

static bool make_folder(const char *path) { return !mkdir(path, 0777) || errno == EEXIST; }

static const char *disassembly(Arena *a, const void *words, size_t size)
{
    DiagSink quiet = { 0 };
    SpvModule *m = size ? spv_read(a, words, size, "finding", &quiet) : NULL;
    return m ? spv_disassemble(a, m, false) : NULL;
}

static const char *story(Arena *a, const TesterNotes *n, const TesterWorker *w, const TesterCase *c,
                         const TesterFinding *f)
{
    Str s = { 0 };
    str_printf(
        a, &s,
        "%s\n\nkernel: %s\ndevice: %s\ndriver: %s\nverdict: %s; %s\n\n"
        "One dispatch of %u workgroup%s, subgroups of %u. kernel.spv is what the driver got%s."
        "\nBuffers of set 0, a file each, 16 bytes or more:\n",
        f->what, f->kernel, n->report.device, n->report.driver, verdicts[f->verdict], f->judged,
        c->groups, c->groups > 1 ? "s" : "", c->subgroup_size,
        w->box->n_lowered ? ", original.spv what heddle lowered it from" : "");
    for (uint32_t k = 0; k < c->n_buffers; k++)
        str_printf(a, &s, "  binding %u: %u bytes%s%s\n", k, c->buffers[k].size,
                   c->buffers[k].compared ? ", compared as " : "",
                   !c->buffers[k].compared ? ""
                   : c->buffers[k].type    ? heddle_type_name(c->buffers[k].type)
                                           : "words");
    str_add(a, &s, "\nAgain, by heddle, on one device and the other:\n  heddle run original.spv");
    str_printf(a, &s, " --device vulkan --subgroup-size %u --groups %u", c->subgroup_size,
               c->groups);
    for (uint32_t k = 0; k < c->n_buffers; k++)
        str_printf(a, &s, " --bind %u=@input%u.bin", k, k);
    str_add(a, &s, "\n");
    return s.data;
}

static HeddleResult put_buffers(Arena *a, const char *folder, const char *name, const TesterCase *c,
                                const uint8_t *data)
{
    HeddleResult r = HEDDLE_OK;
    for (uint32_t k = 0; k < c->n_buffers && !r; k++)
        r = put_file(a, folder, arena_printf(a, "%s%u.bin", name, k), data + c->buffers[k].at,
                     c->buffers[k].size);
    return r;
}

static HeddleResult write_folder(TesterNotes *n, const TesterWorker *w, const TesterCase *c,
                                 TesterFinding *f)
{
    const TesterMailbox *box = w->box;
    Arena a = { 0 };
    const char *text, *folder = f->folder;
    bool emitted = box->emitted_size != 0;
    const void *words = emitted ? (const void *)box->emitted : c->words;
    size_t size = emitted ? box->emitted_size : c->size;
    HeddleResult r = make_folder(folder) ? HEDDLE_OK : HEDDLE_ERROR_IO;
    r = r ? r : put_file(&a, folder, "kernel.spv", words, size);
    r = r ? r : put_file(&a, folder, "original.spv", c->words, c->size);
    if (!r && (text = disassembly(&a, words, size)))
        r = put_file(&a, folder, "kernel.spvasm", text, strlen(text));
    r = r ? r : put_buffers(&a, folder, "input", c, c->data);
    if (!r && f->verdict == TESTER_DIFFERS) {
        r = put_buffers(&a, folder, "expected", c, box->expected);
        r = r ? r : put_buffers(&a, folder, "got", c, box->got);
    }
    text = story(&a, n, w, c, f);
    r = r ? r : put_file(&a, folder, "README", text, strlen(text));
    arena_free(&a);
    return r;
}

static const char *judge(const TesterMailbox *box, TesterVerdict v)
{
    if (v == TESTER_NO_TEST)
        return "heddle's fault: the reference device does not run it";
    if (!box->n_lowered)
        return v == TESTER_DIFFERS ? "the driver's fault, or the reference device's"
                                   : "the driver's fault";
    if (v == TESTER_DIFFERS && box->judged_by_lowered)
        return box->lowering_differs
                   ? "heddle's fault: what it was lowered to differs on the reference device too"
                   : "the driver's fault: what it was lowered to agrees on the reference device";
    return "open: it was lowered";
}

HeddleResult note_finding(TesterNotes *n, const TesterWorker *w, const TesterCase *c,
                          TesterVerdict v, HeddleLog *log)
{
    Arena *a = &n->arena;
    TesterFinding f = { .kernel = arena_strdup(a, c->name),
                        .verdict = v,
                        .times = 1,
                        .judged = judge(w->box, v) };
    const char *signature = tester_signature(a, c, &f.instructions);
    for (uint32_t k = 0; k < n->findings.len; k++)
        if (n->findings.data[k].verdict == v && !strcmp(n->signatures.data[k], signature)) {
            n->findings.data[k].times++;
            return HEDDLE_OK;
        }
    f.what = arena_printf(a, "%s %s: %s", f.kernel, verdicts[v], w->box->message);
    f.known = known_reason(a, w->o->known, &f, signature);
    if (w->o->folder)
        f.folder = arena_printf(a, "%s/%02u", w->o->folder, n->findings.len + 1);
    HeddleResult r = f.folder ? write_folder(n, w, c, &f) : HEDDLE_OK;
    vec_push(a, &n->findings, f);
    vec_push(a, &n->signatures, signature);
    (void)log;
    return r;
}

/* ---- the page -------------------------------------------------------------------------------- */

static void add_findings(TesterNotes *n, Str *s, bool known)
{
    Arena *a = &n->arena;
    bool any = false;
    for (uint32_t k = 0; k < n->findings.len; k++) {
        const TesterFinding *f = &n->findings.data[k];
        if ((f->known != NULL) != known)
            continue;
        if (!any)
            str_printf(a, s,
                       "\n## %s\n\n| | what | left of it | times | %s |\n|---|---|---|---|---|\n",
                       known ? "Known differences" : "Findings", known ? "reason" : "judged");
        any = true;
        str_printf(a, s, "| %02u | %s | %u instructions: %s | %u | %s |\n", k + 1, f->what,
                   f->instructions, n->signatures.data[k], f->times, known ? f->known : f->judged);
    }
}

HeddleResult write_summary(TesterNotes *n, const TesterOptions *o, HeddleLog *log)
{
    TesterReport *r = &n->report;
    Arena *a = &n->arena;
    Str s = { 0 };
    str_printf(a, &s, "# %s\n\n%s\n\n| kernels | |\n|---|---|\n", r->device, r->driver);
    for (uint32_t v = 0; v < TESTER_N_VERDICTS; v++)
        if (r->count[v])
            str_printf(a, &s, "| %s | %u |\n", verdicts[v], r->count[v]);
    str_printf(a, &s, "| of them lowered by heddle | %u |\n", r->lowered);
    str_printf(a, &s, "| of the family | %u of %u |\n", r->n_listed, r->all_listed);
    str_printf(a, &s, "| random ones | %llu, from seed %llu |\n| seconds | %.0f |\n",
               (unsigned long long)r->n_seeds, (unsigned long long)r->first_seed, r->seconds);
    add_findings(n, &s, false);
    add_findings(n, &s, true);
    if (n->lacks.len)
        str_add(a, &s, "\n## Refused\n\n");
    for (uint32_t k = 0; k < n->lacks.len; k++)
        str_printf(a, &s, "* %s\n", n->lacks.data[k]);
    r->markdown = s.data;
    r->findings = n->findings.data;
    r->n_findings = n->findings.len;
    (void)log;
    return o->folder ? put_file(a, o->folder, "README.md", s.data, s.len) : HEDDLE_OK;
}
