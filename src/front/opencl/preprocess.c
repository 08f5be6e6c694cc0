/* SPDX-License-Identifier: MIT
 *
 * In: the tokens of files. Out: the tokens of the translation unit (C99, 6.10; OpenCL C, 6.10).
 *
 * Inputs are a stack: files, and lists of tokens that macros stand for (macro.c pushes them). A
 * directive is a # that begins a line of a file; its tokens are read up to the next line's first,
 * which is given back.
 */
#include "front/opencl/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_INCLUDES = 64, MAX_FILE = 64 << 20 };

/* ---- the stack of inputs --------------------------------------------------------------------- */

static OclInput *push(Ocl *o)
{
    OclInput *in = o->free_inputs;
    if (in)
        o->free_inputs = in->up;
    else
        in = NEW(o->arena, OclInput);
    *in = (OclInput){ .up = o->input };
    return o->input = in;
}

static void pop(Ocl *o)
{
    OclInput *in = o->input;
    if (in->macro)
        in->macro->disabled = false;
    if (in->lexer) {
        while (o->conditions.len > in->conditions) {
            ocl_error(o, vec_last(&o->conditions).loc, "#if without its #endif");
            o->conditions.len--;
        }
        o->include_depth--;
    }
    o->input = in->up;
    in->up = o->free_inputs;
    o->free_inputs = in;
}

static void push_file(Ocl *o, OclFile *f)
{
    OclLexer *l = NEW(o->arena, OclLexer);
    *l = (OclLexer){ .file = f, .at = f->text, .at_line = true };
    OclInput *in = push(o);
    in->lexer = l;
    in->conditions = o->conditions.len;
    o->include_depth++;
}

void ocl_push_tokens(Ocl *o, const OclToken *tokens, uint32_t n, OclMacro *macro, OclLoc loc)
{
    OclInput *in = push(o);
    in->tokens = tokens;
    in->n = n;
    in->macro = macro;
    in->loc = loc;
    if (macro)
        macro->disabled = true;
}

void ocl_unread(Ocl *o, const OclToken *t, bool from_file)
{
    o->unread = *t;
    o->has_unread = true;
    o->unread_from_file = from_file;
}

bool ocl_raw_token(Ocl *o, OclToken *out)
{
    if (o->has_unread) {
        *out = o->unread;
        o->has_unread = false;
        return o->unread_from_file;
    }
    for (;;) {
        OclInput *in = o->input;
        *out = (OclToken){ .kind = T_EOF, .text = "", .flags = TF_LINE };
        if (!in || o->stop)
            return false;
        if (in->lexer) {
            ocl_lex(o, in->lexer, out);
            if (out->kind != T_EOF || !in->up)
                return true;
            if (in->barrier || o->in_line)
                return false;
            pop(o);
            continue;
        }
        if (in->pos < in->n) {
            *out = in->tokens[in->pos++];
            out->loc = in->loc ? in->loc : out->loc;
            return false;
        }
        if (in->barrier)
            return false;
        pop(o);
    }
}

void ocl_expand_list(Ocl *o, const OclToken *tokens, uint32_t n, OclToken **out, uint32_t *n_out)
{
    VEC(OclToken) list = { 0 };
    OclToken saved = o->unread, t;
    bool had = o->has_unread, from_file = o->unread_from_file;
    o->has_unread = false;
    ocl_push_tokens(o, tokens, n, NULL, 0);
    OclInput *mine = o->input;
    mine->barrier = true;
    for (;;) {
        ocl_raw_token(o, &t);
        if (t.kind == T_EOF)
            break;
        if (!ocl_expand_macro(o, &t))
            vec_push(o->arena, &list, t);
    }
    while (o->input != mine)
        pop(o);
    pop(o);
    o->unread = saved;
    o->has_unread = had;
    o->unread_from_file = from_file;
    *out = list.data;
    *n_out = list.len;
}

/* ---- including ------------------------------------------------------------------------------- */

static char *read_file(Ocl *o, const char *path, size_t *size)
{
    struct stat s;
    FILE *f =
        stat(path, &s) || !S_ISREG(s.st_mode) || s.st_size > MAX_FILE ? NULL : fopen(path, "rbe");
    if (!f)
        return NULL;
    char *text = arena_alloc(o->arena, (size_t)s.st_size + 1);
    *size = fread(text, 1, (size_t)s.st_size, f);
    bool good = !ferror(f);
    fclose(f);
    return good ? text : NULL;
}

/* Beside the file that asks, when quoted; then in the folders of -I. */
static bool include_file(Ocl *o, const char *name, bool quoted, OclLoc loc)
{
    const char *from = ocl_file_of(o, loc) ? ocl_file_of(o, loc)->name : "", *path;
    const char *slash = strrchr(from, '/');
    size_t size;
    for (uint32_t i = quoted ? 0 : 1; i <= o->options->n_include_dirs; i++) {
        if (name[0] == '/')
            path = name;
        else if (!i)
            path =
                arena_printf(o->arena, "%.*s%s", slash ? (int)(slash + 1 - from) : 0, from, name);
        else
            path = arena_printf(o->arena, "%s/%s", o->options->include_dirs[i - 1], name);
        char *text = read_file(o, path, &size);
        if (text) {
            push_file(o, ocl_add_file(o, path, text, size));
            return true;
        }
    }
    return false;
}

static void include_directive(Ocl *o, OclToken *line, uint32_t n, OclLoc loc)
{
    if (n && line[0].kind == T_IDENT)
        ocl_expand_list(o, line, n, &line, &n);
    Str name = { 0 };
    bool quoted = n == 1 && line[0].kind == T_STRING && line[0].len > 2;
    if (quoted) {
        str_addn(o->arena, &name, line[0].text + 1, line[0].len - 2);
    } else if (n > 2 && line[0].kind == P_LT && line[n - 1].kind == P_GT) {
        for (uint32_t i = 1; i + 1 < n; i++) {
            if (i > 1 && line[i].flags & TF_SPACE)
                str_add(o->arena, &name, " ");
            str_addn(o->arena, &name, line[i].text, line[i].len);
        }
    } else {
        ocl_error(o, loc, "#include needs \"file\" or <file>");
        return;
    }
    if (o->include_depth > MAX_INCLUDES)
        ocl_error(o, loc, "#include nested more than %d deep", MAX_INCLUDES);
    else if (!include_file(o, name.data, quoted, loc))
        ocl_error(o, loc, "cannot find the file '%s'; -I names a folder to look in", name.data);
}

/* ---- conditions ------------------------------------------------------------------------------ */

static bool is_directive(const OclToken *t, const char *word)
{
    return t->kind == T_IDENT && t->len == strlen(word) && !memcmp(t->text, word, t->len);
}

/* The rest of the line; the arena keeps it. */
static uint32_t rest_of_line(Ocl *o, OclToken **out)
{
    VEC(OclToken) list = { 0 };
    OclToken t;
    o->in_line = true;
    for (;;) {
        bool own = ocl_raw_token(o, &t);
        if (t.kind == T_EOF) /* met again, by whoever goes on to the file around this one */
            break;
        if (t.flags & TF_LINE) {
            ocl_unread(o, &t, own);
            break;
        }
        vec_push(o->arena, &list, t);
    }
    o->in_line = false;
    *out = list.data;
    return list.len;
}

bool ocl_skipping(const Ocl *o) { return o->conditions.len && !vec_last(&o->conditions).active; }

static void open_condition(Ocl *o, const OclToken *word, OclToken *line, uint32_t n)
{
    OclCondition c = { .loc = word->loc, .taken = true };
    if (!ocl_skipping(o)) {
        bool value = false;
        if (is_directive(word, "if"))
            ocl_if_expression(o, line, n, word->loc, &value);
        else if (!n || line[0].kind != T_IDENT)
            ocl_error(o, word->loc, "#%.*s needs a macro's name", (int)word->len, word->text);
        else
            value = (line[0].ident->macro != NULL) == is_directive(word, "ifdef");
        c.taken = c.active = value;
    }
    vec_push(o->arena, &o->conditions, c);
}

static void next_condition(Ocl *o, const OclToken *word, OclToken *line, uint32_t n)
{
    bool is_else = is_directive(word, "else");
    if (!o->conditions.len ||
        (o->input && o->input->lexer && o->conditions.len <= o->input->conditions)) {
        ocl_error(o, word->loc, "#%.*s without #if", (int)word->len, word->text);
        return;
    }
    OclCondition *c = &vec_last(&o->conditions);
    if (is_directive(word, "endif")) {
        o->conditions.len--;
        return;
    }
    if (c->seen_else)
        ocl_error(o, word->loc, "#%.*s after #else", (int)word->len, word->text);
    bool value = is_else;
    uint32_t at = o->conditions.len - 1;
    if (!is_else && !c->taken)
        ocl_if_expression(o, line, n, word->loc, &value);
    c = &o->conditions.data[at];
    c->active = value && !c->taken;
    c->taken |= value;
    c->seen_else |= is_else;
}

/* ---- directives ------------------------------------------------------------------------------ */

/* The next line is this one of that file; NULL: of the same. */
static void line_mark(Ocl *o, const OclToken *line, const OclToken *file, OclLoc loc)
{
    uint32_t number = 0;
    bool good = line->kind == T_NUMBER && line->len < 10;
    for (uint32_t i = 0; good && i < line->len; i++) {
        good = line->text[i] >= '0' && line->text[i] <= '9';
        number = number * 10 + (uint32_t)(line->text[i] - '0');
    }
    good = good && (!file || (file->kind == T_STRING && file->len >= 2));
    OclFile *f = ocl_file_of(o, loc);
    if (!good || !f) {
        ocl_error(o, loc, "#line needs a line's number, and \"file\" or nothing");
        return;
    }
    OclLineMark mark = { .line = ocl_line_of(f, loc) + 2, .presumed = number };
    if (file)
        mark.name = arena_strndup(o->arena, file->text + 1, file->len - 2);
    else if (f->marks.len)
        mark.name = vec_last(&f->marks).name;
    vec_push(o->arena, &f->marks, mark);
}

static void line_directive(Ocl *o, OclToken *line, uint32_t n, OclLoc loc)
{
    static const OclToken nothing;
    ocl_expand_list(o, line, n, &line, &n);
    line_mark(o, n && n <= 2 ? &line[0] : &nothing, n == 2 ? &line[1] : NULL, loc);
}

static void undef_directive(Ocl *o, const OclToken *line, uint32_t n, OclLoc loc)
{
    if (n != 1 || line[0].kind != T_IDENT || line[0].ident == o->words.defined)
        ocl_error(o, loc, "#undef needs a macro's name");
    else
        line[0].ident->macro = NULL;
}

static void say_directive(Ocl *o, const OclToken *word, const OclToken *line, uint32_t n)
{
    const char *text = n ? line[0].text : "";
    int len = n ? (int)(line[n - 1].text + line[n - 1].len - text) : 0;
    if (is_directive(word, "error"))
        ocl_error(o, word->loc, "#error %.*s", len, text);
    else
        ocl_warning(o, word->loc, "#warning %.*s", len, text);
}

/* #pragma unroll, unroll 4, unroll(4), nounroll: of the loop whose first token is the next. */
static void unroll_pragma(Ocl *o, OclToken *line, uint32_t n)
{
    o->pragma_pending = true;
    o->pragma_unroll = is_directive(&line[0], "nounroll") ? UNROLL_NOT : UNROLL_ALL;
    ocl_expand_list(o, line, n, &line, &n);
    for (uint32_t i = 1; i < n; i++)
        if (line[i].kind == T_NUMBER)
            o->pragma_unroll = (uint32_t)MIN(MAX(strtoul(line[i].text, NULL, 0), 1), UNROLL_ALL);
}

/* #pragma OPENCL (or STDC) FP_CONTRACT ON, OFF, DEFAULT, which is on (OpenCL C 3.0, 7.4): to the
 * end of the block that it is in. */
static void contract_pragma(Ocl *o, const OclToken *line, uint32_t n)
{
    bool off = n == 3 && is_directive(&line[2], "OFF");
    if (off || (n == 3 && (is_directive(&line[2], "ON") || is_directive(&line[2], "DEFAULT"))))
        o->exact = off;
    else
        ocl_warning(o, line[0].loc, "expected '#pragma OPENCL FP_CONTRACT ON', 'OFF' or 'DEFAULT'");
}

/* OpenCL's own pragma of extensions changes nothing here: every extension there is is on. */
static void pragma_directive(Ocl *o, OclToken *line, uint32_t n, OclLoc loc)
{
    static const char *const known[] = { "OPENCL", "STDC", "unroll", "once", "nounroll" };
    for (size_t i = 0; n && i < COUNT_OF(known); i++) {
        if (is_directive(&line[0], known[i]))
            goto found;
    }
    ocl_warning(o, loc, "unknown pragma is ignored");
    return;
found:
    if (is_directive(&line[0], "unroll") || is_directive(&line[0], "nounroll"))
        unroll_pragma(o, line, n);
    if (n > 1 && !is_directive(&line[0], "unroll") && is_directive(&line[1], "FP_CONTRACT"))
        contract_pragma(o, line, n);
    if (n > 2 && is_directive(&line[0], "OPENCL") && is_directive(&line[1], "EXTENSION") &&
        !(n == 5 && line[3].kind == P_COLON &&
          (is_directive(&line[4], "enable") || is_directive(&line[4], "disable"))))
        ocl_warning(o, loc, "expected '#pragma OPENCL EXTENSION name : enable' or 'disable'");
}

static void directive(Ocl *o)
{
    OclToken word, *line;
    bool own = ocl_raw_token(o, &word);
    if (word.kind == T_EOF || word.flags & TF_LINE) { /* a # alone */
        ocl_unread(o, &word, own);
        return;
    }
    o->any_text = is_directive(&word, "error") || is_directive(&word, "warning");
    uint32_t n = rest_of_line(o, &line);
    o->any_text = false;
    if (word.kind == T_NUMBER && !ocl_skipping(o)) /* # 1 "file" 2: as preprocessors leave #line */
        line_mark(o, &word, n ? &line[0] : NULL, word.loc);
    else if (is_directive(&word, "if") || is_directive(&word, "ifdef") ||
             is_directive(&word, "ifndef"))
        open_condition(o, &word, line, n);
    else if (is_directive(&word, "elif") || is_directive(&word, "else") ||
             is_directive(&word, "endif"))
        next_condition(o, &word, line, n);
    else if (ocl_skipping(o))
        ;
    else if (is_directive(&word, "define"))
        ocl_define_directive(o, line, n, word.loc);
    else if (is_directive(&word, "undef"))
        undef_directive(o, line, n, word.loc);
    else if (is_directive(&word, "include")) {
        /* The token that was read too far belongs to the including file. */
        OclToken next = o->unread;
        OclLexer *l = o->input && o->input->lexer ? o->input->lexer : NULL;
        if (o->has_unread && l && next.loc >= l->file->start) {
            l->at = next.text;
            l->at_line = true;
            o->has_unread = false;
        }
        include_directive(o, line, n, word.loc);
    } else if (is_directive(&word, "line"))
        line_directive(o, line, n, word.loc);
    else if (is_directive(&word, "error") || is_directive(&word, "warning"))
        say_directive(o, &word, line, n);
    else if (is_directive(&word, "pragma"))
        pragma_directive(o, line, n, word.loc);
    else
        ocl_error(o, word.loc, "unknown directive #%.*s", (int)word.len, word.text);
}

/* The only _Pragma("...") with a meaning here is one that says how to unroll. */
static void pragma_operator(Ocl *o, OclLoc loc)
{
    OclToken t[3];
    for (int i = 0; i < 3; i++)
        ocl_raw_token(o, &t[i]);
    if (t[0].kind != P_LPAREN || t[1].kind != T_STRING || t[2].kind != P_RPAREN) {
        ocl_error(o, loc, "_Pragma needs a string in parentheses");
        return;
    }
    if (t[1].len < 2) /* without its end */
        return;
    const char *text = arena_strndup(o->arena, t[1].text + 1, t[1].len - 2);
    OclFile *f = ocl_add_file(o, "_Pragma", text, t[1].len - 2);
    OclLexer l = { .file = f, .at = f->text };
    OclToken list[8];
    uint32_t n = 0;
    for (ocl_lex(o, &l, &list[0]); list[n].kind != T_EOF && n + 1 < COUNT_OF(list);)
        ocl_lex(o, &l, &list[++n]);
    if (n && (is_directive(&list[0], "unroll") || is_directive(&list[0], "nounroll")))
        unroll_pragma(o, list, n);
}

static void next_token(Ocl *o, OclToken *out)
{
    for (;;) {
        bool own = ocl_raw_token(o, out);
        if (out->kind == T_EOF) {
            if (o->input && o->input->lexer && !o->input->up && o->conditions.len) {
                ocl_error(o, vec_last(&o->conditions).loc, "#if without its #endif");
                o->conditions.len = 0;
            }
            return;
        }
        if (out->kind == P_HASH && own && out->flags & TF_LINE) {
            directive(o);
            continue;
        }
        if (ocl_skipping(o) && own)
            continue;
        if (out->kind != T_IDENT)
            return;
        if (ocl_expand_macro(o, out))
            continue;
        if (out->kind == T_IDENT && is_directive(out, "_Pragma")) {
            pragma_operator(o, out->loc);
            continue;
        }
        if (out->kind == T_IDENT)
            out->kind = (uint8_t)out->ident->keyword;
        return;
    }
}

void ocl_next_token(Ocl *o, OclToken *out)
{
    next_token(o, out);
    out->flags |= (o->pragma_pending ? TF_UNROLL : 0) | (o->exact ? TF_EXACT : 0);
    o->pragma_pending = false;
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* Macros that are defined in every program (OpenCL C 3.0, 6.10 and 6.15.4; the cooperative matrix
 * RFC). */
static const char prelude[] =
#include "front/opencl/prelude.def"
    ;

void ocl_preprocess_start(Ocl *o, const OclSource *source)
{
    static const char *const special[] = { "__FILE__", "__LINE__", "__DATE__", "__TIME__",
                                           "__COUNTER__" };
    for (uint32_t i = 0; i < COUNT_OF(special); i++) {
        OclMacro *m = NEW(o->arena, OclMacro);
        m->name = ocl_intern(o, special[i], strlen(special[i]));
        m->special = (uint8_t)(i + 1);
        m->name->macro = m;
    }
    Str text = { 0 };
    str_add(o->arena, &text, prelude);
    OclFile *ours = ocl_add_file(o, "prelude", text.data, text.len);
    ours->ours = true;
    Str defines = { 0 };
    str_add(o->arena, &defines, "");
    for (uint32_t i = 0; i < o->options->n_defines; i++) {
        const OclDefine *d = &o->options->defines[i];
        str_printf(o->arena, &defines, "#define %s %s\n", d->name, d->value ? d->value : "1");
    }
    push_file(o, ocl_add_file(o, source->name, source->text, source->size));
    push_file(o, ocl_add_file(o, "command line", defines.data, defines.len));
    push_file(o, ours);
}
