/* SPDX-License-Identifier: MIT
 *
 * Line tables: which place of the source an LLVM instruction comes from, for debuggers, profilers
 * and faults. In: the positions of SPIR-V instructions and the calls that they were inlined with.
 * Out: LLVM's debug locations, and where variables are that lie in memory: a number of all lanes is
 * an array of them. Others are vectors in registers, which debuggers know halves of.
 *
 * Builders keep a location until it is changed, so what an instruction makes has its position
 * wherever that is built. Functions that the generator writes itself (multiply-adds, copies of
 * tiles) belong to the line that first calls them.
 */
#include "emit/internal.h"

#include <llvm-c/DebugInfo.h>
#include <stdio.h>

/* DWARF 4 writes its tables of files as text, which whoever reads lines of an object that is not
 * linked needs no relocations for. */
enum { DWARF_VERSION = 4 };

/* LLVM's, for GPUs: directives of lines alone. Its C API has no name for it; with tables, PTX would
 * be marked as code to debug, which nothing optimises. */
enum { DIRECTIVES_ONLY = 3 };

/* DWARF's encodings of numbers (DWARF 4, 7.8), and what of a variable is described. */
enum { DW_ATE_FLOAT = 4, DW_ATE_SIGNED = 5, DW_ATE_UNSIGNED = 7 };
enum { MAX_RANGES = 8, MAX_SHOWN = 1 << 20 };

struct EmitDebug {
    LLVMDIBuilderRef di;
    LLVMMetadataRef type;  /* of all functions */
    Map files;             /* hash of a name -> LLVMMetadataRef */
    Map functions, scopes; /* hash of name and file -> likewise */
};

static EmitPlace place_of(const Emit *e, uint32_t file, uint32_t line, uint32_t column)
{
    const SpvInst *name = file ? spv_def(e->module, file) : NULL;
    bool named = name && name->op == SpvOpString;
    const char *of_module = e->module->name ? e->module->name : "kernel";
    return (EmitPlace){ named ? spv_string(name, 0, NULL) : of_module, line, column };
}

static LLVMMetadataRef file_of(Emit *e, const char *name)
{
    uint64_t found, key = hash_bytes(name, strlen(name), 0);
    if (map_get(&e->debug->files, key, &found))
        return (LLVMMetadataRef)(uintptr_t)found;
    LLVMMetadataRef file = LLVMDIBuilderCreateFile(e->debug->di, name, strlen(name), "", 0);
    map_put(e->arena, &e->debug->files, key, (uintptr_t)file);
    return file;
}

static LLVMMetadataRef new_function(Emit *e, const char *name, EmitPlace p)
{
    LLVMMetadataRef file = file_of(e, p.file);
    return LLVMDIBuilderCreateFunction(e->debug->di, file, name, strlen(name), "", 0, file, p.line,
                                       e->debug->type, true, true, p.line, LLVMDIFlagZero, true);
}

/* A function that was inlined: there is one of it, wherever its copies are. */
static LLVMMetadataRef inlined_function(Emit *e, const char *name, EmitPlace p)
{
    uint64_t found, key = hash_bytes(name, strlen(name), hash_bytes(p.file, strlen(p.file), 1));
    if (map_get(&e->debug->functions, key, &found))
        return (LLVMMetadataRef)(uintptr_t)found;
    LLVMMetadataRef f = new_function(e, name, p);
    map_put(e->arena, &e->debug->functions, key, (uintptr_t)f);
    return f;
}

/* The part of a function that lies in that file: of #include within a body. */
static LLVMMetadataRef scope_in(Emit *e, LLVMMetadataRef function, const char *file)
{
    uint64_t found, key = hash_bytes(file, strlen(file), (uintptr_t)function);
    if (map_get(&e->debug->scopes, key, &found))
        return (LLVMMetadataRef)(uintptr_t)found;
    LLVMMetadataRef scope = function, in = file_of(e, file);
    if (LLVMDIScopeGetFile(function) != in)
        scope = LLVMDIBuilderCreateLexicalBlockFile(e->debug->di, function, in, 0);
    map_put(e->arena, &e->debug->scopes, key, (uintptr_t)scope);
    return scope;
}

/* A place in the body of the call's function; without a call, in e->fn. */
static LLVMMetadataRef location(Emit *e, EmitPlace p, const SpvCallSite *call)
{
    LLVMMetadataRef function = e->debug_function, at = NULL;
    if (call) {
        function = inlined_function(e, call->function, p);
        at = location(e, place_of(e, call->file, call->line, call->column), call->outer);
    }
    return LLVMDIBuilderCreateDebugLocation(e->cx, p.line, p.column, scope_in(e, function, p.file),
                                            at);
}

/* ---- for emit and its targets ---------------------------------------------------------------- */

void debug_begin(Emit *e)
{
    if (!e->lines)
        return;
    struct EmitDebug *d = e->debug = NEW(e->arena, struct EmitDebug);
    d->di = LLVMCreateDIBuilder(e->ll);
    LLVMMetadataRef file = file_of(e, place_of(e, 0, 0, 0).file);
    LLVMDWARFEmissionKind kind =
        e->target->lanes ? LLVMDWARFEmissionFull : (LLVMDWARFEmissionKind)DIRECTIVES_ONLY;
    LLVMDIBuilderCreateCompileUnit(d->di, LLVMDWARFSourceLanguageC99, file, "heddle", 6, true, "",
                                   0, 0, "", 0, kind, 0, true, false, "", 0, "", 0);
    d->type = LLVMDIBuilderCreateSubroutineType(d->di, file, NULL, 0, LLVMDIFlagZero);
}

/* The first instruction of the function with a line. */
static EmitPlace start_of(const Emit *e, const SpvFunction *f)
{
    EmitPlace p = place_of(e, f->def->file, f->def->line, 0);
    for (SpvBlock *b = f->first; b && !p.line; b = b->next)
        for (SpvInst *i = b->insts.first; i && !p.line; i = i->next)
            if (i->line && !i->call)
                p = place_of(e, i->file, i->line, 0);
    return p;
}

void debug_open_function(Emit *e, const SpvFunction *f)
{
    if (!e->debug)
        return;
    EmitPlace p = start_of(e, f);
    const char *own = spv_name(e->module, f->def->id), *slash = strrchr(p.file, '/');
    const char *name = e->caller ? own ? own : "function" : e->entry->name;
    name = arena_printf(e->arena, "%s:%.*s", slash ? slash + 1 : p.file, (int)strcspn(name, "("),
                        name);
    e->debug_function = new_function(e, name, p);
    LLVMSetSubprogram(e->fn, e->debug_function);
    p.column = 0;
    LLVMMetadataRef start = location(e, p, NULL);
    LLVMSetCurrentDebugLocation2(e->b, start);
    LLVMSetCurrentDebugLocation2(e->entry_b, start);
    LLVMSetCurrentDebugLocation2(e->alloca_b, start);
}

LLVMMetadataRef debug_here(const Emit *e)
{
    return e->debug ? LLVMGetCurrentDebugLocation2(e->b) : NULL;
}

EmitPlace debug_place(const Emit *e)
{
    LLVMMetadataRef at = debug_here(e);
    if (!at || !LLVMDILocationGetLine(at))
        return (EmitPlace){ 0 };
    unsigned n;
    const char *file = LLVMDIFileGetFilename(LLVMDIScopeGetFile(LLVMDILocationGetScope(at)), &n);
    return (EmitPlace){ arena_strndup(e->arena, file, n), LLVMDILocationGetLine(at),
                        LLVMDILocationGetColumn(at) };
}

LLVMMetadataRef debug_at(Emit *e, const SpvInst *i)
{
    LLVMMetadataRef before = debug_here(e);
    if (e->debug)
        LLVMSetCurrentDebugLocation2(
            e->b, location(e, place_of(e, i->file, i->line, i->column), i->call));
    return before;
}

void debug_back(Emit *e, LLVMMetadataRef to)
{
    if (e->debug)
        LLVMSetCurrentDebugLocation2(e->b, to);
}

/* ---- variables ------------------------------------------------------------------------------- */

static LLVMMetadataRef number_type(Emit *e, const SpvType *t)
{
    bool real = t->kind == SPV_FLOAT;
    LLVMDWARFTypeEncoding encoding = real           ? DW_ATE_FLOAT
                                     : t->is_signed ? DW_ATE_SIGNED
                                                    : DW_ATE_UNSIGNED;
    const char *name = arena_printf(e->arena, "%s%u",
                                    real           ? "f"
                                    : t->is_signed ? "s"
                                                   : "u",
                                    t->bits);
    return LLVMDIBuilderCreateBasicType(e->debug->di, name, strlen(name), t->bits, encoding,
                                        LLVMDIFlagZero);
}

/* Arrays of numbers, of all lanes' where there are several; NULL where it is something else. */
static LLVMMetadataRef variable_type(Emit *e, const SpvType *t, uint32_t lanes)
{
    LLVMMetadataRef ranges[MAX_RANGES];
    uint64_t bits = 1;
    uint32_t n = 0;
    for (; n + 1 < MAX_RANGES && (t->kind == SPV_VECTOR || t->kind == SPV_MATRIX ||
                                  (t->kind == SPV_ARRAY && t->count_known));
         t = t->element, n++) {
        ranges[n] = LLVMDIBuilderGetOrCreateSubrange(e->debug->di, 0, t->count);
        bits *= t->count;
    }
    if ((t->kind != SPV_INT && t->kind != SPV_FLOAT) || bits > MAX_SHOWN)
        return NULL;
    if (lanes)
        ranges[n++] = LLVMDIBuilderGetOrCreateSubrange(e->debug->di, 0, lanes);
    LLVMMetadataRef number = number_type(e, t);
    bits *= (uint64_t)t->bits * MAX(lanes, 1);
    return n ? LLVMDIBuilderCreateArrayType(e->debug->di, bits, t->bits, number, ranges, n)
             : number;
}

void debug_variable(Emit *e, const SpvInst *variable, LV memory, uint32_t lanes)
{
    const char *name = e->debug ? spv_name(e->module, variable->id) : NULL;
    if (!name || !e->target->lanes || !LLVMIsAAllocaInst(memory) ||
        (variable->call && !variable->file))
        return;
    LLVMDIBuilderRef di = e->debug->di;
    LLVMMetadataRef type = variable_type(e, spv_type_of(e->module, variable->id)->element, lanes);
    EmitPlace p = place_of(e, variable->file, variable->line, variable->column);
    LLVMMetadataRef at = location(e, p, variable->call), scope = LLVMDILocationGetScope(at);
    if (!type)
        return;
    LLVMMetadataRef about = LLVMDIBuilderCreateAutoVariable(
        di, scope, name, strlen(name), file_of(e, p.file), p.line, type, true, LLVMDIFlagZero, 0);
    LLVMDIBuilderInsertDeclareRecordAtEnd(di, memory, about,
                                          LLVMDIBuilderCreateExpression(di, NULL, 0), at,
                                          LLVMGetInstructionParent(memory));
}

/* ---- at the end ------------------------------------------------------------------------------ */

/* Where the function is called first, or its address taken to be called. */
static LV first_use(LV f)
{
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        LV user = LLVMGetUser(u);
        if (LLVMIsAInstruction(user) && LLVMInstructionGetDebugLoc(user))
            return user;
    }
    return NULL;
}

/* Every instruction has a location, since calls have to have one. */
static void fill_in(LV f, LLVMMetadataRef otherwise)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LV i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (!LLVMInstructionGetDebugLoc(i))
                LLVMInstructionSetDebugLoc(i, otherwise);
}

static void place_generated(Emit *e, LV f)
{
    LV use = first_use(f);
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    unsigned length = 0;
    const char *file = use ? LLVMGetDebugLocFilename(use, &length) : NULL;
    EmitPlace p = { file ? arena_strndup(e->arena, file, length) : place_of(e, 0, 0, 0).file,
                    use ? LLVMGetDebugLocLine(use) : 0, use ? LLVMGetDebugLocColumn(use) : 0 };
    LLVMMetadataRef function = new_function(e, name, p);
    LLVMSetSubprogram(f, function);
    fill_in(f, LLVMDIBuilderCreateDebugLocation(e->cx, p.line, p.column,
                                                scope_in(e, function, p.file), NULL));
}

static void add_flag(Emit *e, const char *name, uint32_t value)
{
    LLVMAddModuleFlag(e->ll, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                      LLVMValueAsMetadata(LLVMConstInt(e->i32, value, false)));
}

void debug_end(Emit *e)
{
    if (!e->debug)
        return;
    for (LV f = LLVMGetFirstFunction(e->ll); f; f = LLVMGetNextFunction(f)) {
        LLVMMetadataRef own = LLVMGetSubprogram(f);
        if (LLVMIsDeclaration(f))
            continue;
        if (own)
            fill_in(f, LLVMDIBuilderCreateDebugLocation(e->cx, 0, 0, own, NULL));
        else
            place_generated(e, f);
    }
    add_flag(e, "Debug Info Version", LLVMDebugMetadataVersion());
    add_flag(e, "Dwarf Version", DWARF_VERSION);
    LLVMDIBuilderFinalize(e->debug->di);
    LLVMDisposeDIBuilder(e->debug->di);
    e->debug = NULL;
}
