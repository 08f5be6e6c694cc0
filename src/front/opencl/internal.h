/* SPDX-License-Identifier: MIT
 *
 * What the files of the OpenCL C front end tell each other.
 *
 * Characters become tokens (lex.c), tokens are preprocessed as the parser asks for them
 * (preprocess.c, macro.c), the parser (parse_*.c) calls the semantic analysis (sema_*.c) for each
 * construct, which answers with nodes that have their types, implicit conversions written out.
 * emit_*.c makes LLVM IR of the tree, dump.c text.
 *
 * All memory is in one arena. Whatever recurses with the input's nesting counts its depth
 * (ocl_enter), and a node knows how deep the tree below it is, so that no input overflows the
 * stack.
 */
#ifndef HEDDLE_OPENCL_INTERNAL_H
#define HEDDLE_OPENCL_INTERNAL_H

#include "front/opencl/opencl.h"

struct LLVMOpaqueContext;
struct LLVMOpaqueModule;

typedef uint32_t Loc;           /* 0: nowhere; else 1 + an offset into all texts, end to end */

typedef struct Ocl Ocl;
typedef struct Ident Ident;
typedef struct Type Type;
typedef struct Node Node;
typedef struct Symbol Symbol;
typedef struct Record Record;
typedef struct Macro Macro;
typedef struct Builtin Builtin;

/* ---- tokens ---------------------------------------------------------------------------------- */

typedef enum Tok {
    T_EOF, T_IDENT, T_NUMBER, T_CHAR, T_STRING, T_OTHER,
#define PUNCTUATOR(name, text) P_##name,
#define KEYWORD(name, text) K_##name,
#include "front/opencl/tokens.def"
    N_TOKENS
} Tok;

/* first of a line, after space, not a macro, after #pragma unroll */
enum { TF_LINE = 1, TF_SPACE = 2, TF_FROZEN = 4, TF_UNROLL = 8 };

/* How often a loop is to be unrolled; 0: nobody says. */
enum { UNROLL_NOT = 1 };
#define UNROLL_ALL UINT32_MAX

typedef struct Token {
    uint8_t kind, flags;
    uint32_t len;
    Loc loc;
    Ident *ident;               /* identifiers and keywords */
    const char *text;
} Token;

struct Ident {
    const char *name;
    uint32_t len;
    Tok keyword;                /* T_IDENT for what is none */
    Macro *macro;
    Symbol *symbol, *tag, *label;   /* the innermost */
    const Builtin *builtin;     /* first row of the table; set when looked up */
    bool looked_up;
    Ident *next;
};

/* ---- lex.c ----------------------------------------------------------------------------------- */

typedef struct LineMark { uint32_t line, presumed; const char *name; } LineMark;

typedef struct SourceFile {
    const char *name, *text;
    uint32_t size;
    Loc start;                  /* of its first character */
    VEC(uint32_t) lines;        /* where they start */
    VEC(LineMark) marks;        /* #line */
    bool ours;                  /* the prelude */
} SourceFile;

typedef struct Lexer {
    SourceFile *file;
    const char *at;
    bool at_line;
} Lexer;

SourceFile *ocl_add_file(Ocl *o, const char *name, const char *text, size_t size);
SourceFile *ocl_file_of(Ocl *o, Loc loc);
uint32_t ocl_line_of(const SourceFile *f, Loc loc);     /* from 0 */
void ocl_lex(Ocl *o, Lexer *lexer, Token *out);
Ident *ocl_intern(Ocl *o, const char *name, size_t len);
const char *ocl_token_name(Tok kind);
DiagLoc ocl_position(Ocl *o, Loc loc);

void ocl_error(Ocl *o, Loc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void ocl_warning(Ocl *o, Loc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void ocl_note(Ocl *o, Loc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void ocl_stop(Ocl *o);         /* no more tokens */
/* One level deeper; false after saying that it is too deep. ocl_leave undoes it either way. */
bool ocl_enter(Ocl *o, Loc loc);
void ocl_leave(Ocl *o);

/* ---- preprocess.c, macro.c ------------------------------------------------------------------- */

struct Macro {
    Ident *name;
    Loc loc;
    bool function, variadic, disabled;
    uint8_t special;            /* __FILE__, __LINE__... */
    Ident **params;
    uint32_t n_params;
    Token *body;
    uint32_t n_body;
};

typedef struct Condition { Loc loc; bool taken, active, seen_else; } Condition;

typedef struct Input {
    struct Input *up;
    Lexer *lexer;               /* of a file; else tokens */
    const Token *tokens;
    uint32_t n, pos;
    Macro *macro;               /* is disabled while this is read */
    Loc loc;                    /* non-zero: where its tokens are said to be */
    bool barrier;               /* ends here, for those who expand an argument */
    uint32_t conditions;        /* open when the file began */
} Input;

bool ocl_skipping(const Ocl *o);                    /* in a group that #if leaves out */
void ocl_preprocess_start(Ocl *o, const OclSource *source);
void ocl_next_token(Ocl *o, Token *out);            /* preprocessed, keywords told apart */
/* The same without directives and macros, for preprocess.c and macro.c. */
bool ocl_raw_token(Ocl *o, Token *out);             /* true: it is a file's own */
void ocl_unread(Ocl *o, const Token *t, bool from_file);
void ocl_push_tokens(Ocl *o, const Token *tokens, uint32_t n, Macro *macro, Loc loc);
bool ocl_expand_macro(Ocl *o, Token *t);            /* true: pushed what it stands for */
/* The tokens, all macros in them expanded. */
void ocl_expand_list(Ocl *o, const Token *tokens, uint32_t n, Token **out, uint32_t *n_out);
void ocl_define_directive(Ocl *o, Token *line, uint32_t n, Loc loc);
/* The value of #if's expression; false when it is none. */
bool ocl_if_expression(Ocl *o, const Token *line, uint32_t n, Loc loc, bool *value);

/* ---- type.c ---------------------------------------------------------------------------------- */

typedef enum TypeKind {
    TY_VOID, TY_BOOL,
    TY_CHAR, TY_UCHAR, TY_SHORT, TY_USHORT, TY_INT, TY_UINT, TY_LONG, TY_ULONG,
    TY_HALF, TY_FLOAT, TY_DOUBLE,
    TY_EVENT,
    N_BASIC_TYPES,
    TY_VECTOR = N_BASIC_TYPES, TY_POINTER, TY_ARRAY, TY_RECORD, TY_FUNCTION, TY_MATRIX
} TypeKind;

enum { Q_CONST = 1, Q_VOLATILE = 2, Q_RESTRICT = 4, Q_ATOMIC = 8,
       Q_ORDER = 16, Q_SCOPE = 32 };    /* uint that is mangled as memory_order, memory_scope */
/* LLVM's numbers for SPIR-V. */
typedef enum Space { AS_PRIVATE, AS_GLOBAL, AS_CONSTANT, AS_LOCAL, AS_GENERIC } Space;
enum { MATRIX_A, MATRIX_B, MATRIX_ACCUMULATOR };
#define SCOPE_SUBGROUP 3
#define UNKNOWN_LENGTH UINT64_MAX

/* Interned: types that are the same are one object. Qualifiers and the address space are the
 * type's; `plain` is it without them. */
struct Type {
    TypeKind kind;
    uint8_t quals, space;
    bool variadic;
    uint8_t scope, use;         /* matrices */
    uint32_t rows, columns;
    Type *base;                 /* element, component, pointee, result */
    uint64_t n;                 /* lanes, length */
    Record *record;
    Type **params;
    uint32_t n_params;
    uint64_t size;
    uint32_t align;
    Type *plain, *next;
    void *llvm;                 /* emit.c: LLVMTypeRef */
};

typedef struct Member {
    Ident *name;                /* NULL: unnamed */
    Type *type;
    Loc loc;
    uint64_t offset;
    bool bit_field, packed;
    uint16_t bit, width;        /* in the unit of the type's size at offset; packed: in bytes */
    uint32_t index;             /* in the LLVM struct */
} Member;

struct Record {
    Symbol *tag;
    const char *name;           /* NULL: none */
    bool is_union, complete, packed, has_matrix, flat;  /* flat: no LLVM struct, bytes */
    VEC(Member) members;
    uint64_t size;
    uint32_t align, llvm_align;
    void *llvm;
};

void ocl_types_start(Ocl *o);
Type *ocl_vector(Ocl *o, Type *element, uint32_t n);
Type *ocl_pointer(Ocl *o, Type *pointee);
Type *ocl_array(Ocl *o, Type *element, uint64_t n);
Type *ocl_matrix(Ocl *o, Type *component, uint32_t rows, uint32_t columns, uint8_t use);
Type *ocl_function(Ocl *o, Type *result, Type **params, uint32_t n, bool variadic);
Type *ocl_record_type(Ocl *o, Record *r);
Type *ocl_qualified(Ocl *o, Type *t, uint8_t quals, Space space);   /* exactly these */
Type *ocl_add_quals(Ocl *o, Type *t, uint8_t quals);
Type *ocl_in_space(Ocl *o, Type *t, Space space);
Type *ocl_sized_int(Ocl *o, uint64_t size, bool is_signed);
/* float4 for (float, 4); the element itself for 1. */
Type *ocl_lanes(Ocl *o, Type *element, uint64_t n);
const char *ocl_type_name(Ocl *o, const Type *t);
const char *ocl_space_name(Space space);
uint64_t ocl_size_of(const Type *t);                /* structures may be completed since */
bool ocl_lay_out(Ocl *o, Record *r, uint32_t align);
bool ocl_has_matrix(const Type *t);
bool ocl_is_complete(const Type *t);

static inline bool is_integer(const Type *t) { return t->kind >= TY_BOOL && t->kind <= TY_ULONG; }
static inline bool is_float(const Type *t) { return t->kind >= TY_HALF && t->kind <= TY_DOUBLE; }
static inline bool is_scalar(const Type *t) { return t->kind >= TY_BOOL && t->kind <= TY_DOUBLE; }
static inline bool is_vector(const Type *t) { return t->kind == TY_VECTOR; }
static inline bool is_pointer(const Type *t) { return t->kind == TY_POINTER; }
static inline bool is_array(const Type *t) { return t->kind == TY_ARRAY; }
static inline bool is_record(const Type *t) { return t->kind == TY_RECORD; }
static inline bool is_matrix(const Type *t) { return t->kind == TY_MATRIX; }
/* One whose attribute is wrong, which was said. */
static inline bool is_bad_matrix(const Type *t) { return is_matrix(t) && !t->rows; }
static inline bool is_void(const Type *t) { return t->kind == TY_VOID; }
static inline bool is_aggregate(const Type *t) { return is_array(t) || is_record(t); }
static inline Type *element_of(Type *t) { return is_vector(t) || is_matrix(t) ? t->base : t; }
static inline uint64_t lanes_of(const Type *t) { return is_vector(t) ? t->n : 1; }
static inline bool is_signed(const Type *t)
{
    return t->kind == TY_CHAR || t->kind == TY_SHORT || t->kind == TY_INT || t->kind == TY_LONG;
}
/* A scalar or a vector. */
static inline bool is_arithmetic(const Type *t)
{
    return is_scalar(t) || is_vector(t);
}

/* ---- the tree -------------------------------------------------------------------------------- */

typedef enum NodeKind {
    /* expressions */
    N_INT, N_FLOAT, N_STRING, N_SYMBOL, N_MEMBER, N_SWIZZLE, N_INDEX, N_DEREF, N_ADDRESS,
    N_HELD, N_UNARY, N_BINARY, N_ASSIGN, N_STEP, N_CONDITIONAL, N_COMMA, N_CALL, N_BUILTIN, N_CAST,
    N_VECTOR, N_COMPOUND, N_INIT, N_STATEMENTS, N_LOAD_MATRIX, N_STORE_MATRIX, N_FILL_MATRIX,
    N_MULTIPLY_ADD, N_MATRIX_LENGTH,
    /* statements */
    N_BLOCK, N_EXPRESSION, N_DECLARATION, N_IF, N_WHILE, N_DO, N_FOR, N_SWITCH, N_CASE, N_DEFAULT,
    N_BREAK, N_CONTINUE, N_RETURN, N_GOTO, N_LABEL, N_EMPTY
} NodeKind;

typedef enum CastKind {
    CAST_NUMBER,                /* between numbers, or vectors of as many lanes */
    CAST_SPLAT,                 /* a scalar to each lane */
    CAST_SATURATE,              /* between integers, to the nearest that there is */
    CAST_BITS,                  /* as_type, and pointers to other types */
    CAST_SPACE,                 /* between address spaces */
    CAST_DECAY,                 /* an array to a pointer to its first element */
    CAST_NULL, CAST_FROM_POINTER, CAST_TO_POINTER, CAST_TO_BOOL, CAST_VOID
} CastKind;

/* a op= b is N_ASSIGN of a and of an expression in which N_HELD stands for the value a had;
 * N_STEP (++ and --) likewise; its d is a. N_STATEMENTS' list are statements, a is its value or
 * NULL. Operators are their tokens' kinds: P_PLUS. Comparisons
 * and logic yield int, or a vector. */
struct Node {
    uint8_t kind, op;
    uint16_t depth;
    bool lvalue, implicit, postfix, parens, bad;  /* bad: said what is wrong already */
    Loc loc;
    Type *type;                 /* NULL in statements; in a pending one until it is known */
    Node *a, *b, *c, *d;
    union {
        uint64_t u;             /* sign- or zero-extended as the type says; of a loop UNROLL_ */
        double f;
        struct { const char *text; uint32_t size; } string;  /* with its NUL */
        Symbol *symbol;
        struct { Node **list; uint32_t n; uint32_t first; };
        uint32_t member;
        uint8_t lanes[16];
        Ident *ident;           /* goto, label */
    };
    Map *cases;                 /* of a switch, linked by d; a range has its last value in b */
    const Builtin *builtin;     /* N_BUILTIN; with the concrete types of its parameters */
    Type **types;
    const char *name;           /* of a builtin, mangled */
    void *llvm;                 /* emission: blocks */
};

typedef enum SymbolKind { S_VARIABLE, S_PARAMETER, S_FUNCTION, S_TYPEDEF, S_ENUMERATOR, S_TAG,
                          S_LABEL } SymbolKind;

typedef struct Attributes {
    uint32_t aligned, local_size[3], size_hint[3], subgroup_size, unroll;
    bool packed, has_local_size, has_size_hint, has_matrix, kernel, overloadable;
    Type *vec_type_hint;
    uint8_t use;
    uint32_t rows, columns;
    Loc matrix_loc;
} Attributes;

struct Symbol {
    SymbolKind kind;
    Ident *ident;
    Type *type;
    Loc loc;
    bool global, is_static, kernel, used, defined, called, is_extern;
    bool calls;                 /* while recursion is looked for */
    uint64_t value;             /* enumerators */
    Attributes attributes;
    Node *init;                 /* variables */
    Symbol **params;            /* functions */
    Node *body;
    Record *record;             /* tags; NULL: an enum's */
    Symbol *owner;              /* the function a static or local variable is in */
    uint32_t scope;             /* depth of its scope */
    Symbol *shadowed;           /* what the name meant outside */
    Symbol *in_scope;           /* the one declared before it in the same scope */
    Symbol *same;               /* declared in a function: the program's; NULL */
    void *llvm, *kernel_body;
};

/* ---- builtin.c ------------------------------------------------------------------------------- */

struct Builtin {
    const char *name, *signature;
    uint8_t set, what;
    const char *operation;      /* what LLVM or SPIR-V calls it, where that is not the name */
};

typedef enum BuiltinKind {
    B_CALL,                     /* of the mangled name */
    B_PURE,                     /* the same, reads and writes nothing */
    B_FENCE,
    B_ATOMIC, B_STEP,           /* an atomicrmw instruction; by one */
    B_INIT,                     /* a plain store */
    B_TO_SPACE,
    B_COPY,                     /* async_work_group_copy */
    B_LOAD_PADDED,              /* a call; three lanes lie four apart */
    B_ANY, B_ALL,               /* of the lanes' sign bits */
    B_REFUSED,                  /* operation says what is not supported */
} BuiltinKind;

const Builtin *ocl_find_builtin(Ocl *o, Ident *name);
bool ocl_same_name(const Builtin *row, const Ident *name);
const Builtin *ocl_builtin_table(uint32_t *n);
/* The first row that the arguments suit; converts them. NULL after saying why none does. */
Node *ocl_call_builtin(Ocl *o, Ident *name, Loc loc, Node **args, uint32_t n);
/* convert_T, as_T: NULL when it is neither. */
Node *ocl_call_conversion(Ocl *o, Ident *name, Loc loc, Node **args, uint32_t n, bool *known);
/* "_Z3maxDv4_fS_" */
const char *ocl_mangle(Ocl *o, const char *name, Type **params, uint32_t n);
const char *ocl_mangle_template(Ocl *o, const char *name, Type *result, Type **params, uint32_t n);

/* ---- parse_*.c ------------------------------------------------------------------------------- */

typedef struct Specifiers {
    Type *type;
    bool is_typedef, is_static, is_extern, is_inline, kernel, has_space;
    bool of_expression;         /* typeof's */
    Space space;
    Attributes attributes;
    uint32_t type_align;        /* of an aligned typedef; 0 */
    Loc loc;
} Specifiers;

typedef struct Declarator {
    Ident *name;
    Loc loc;
    Type *type;
    Symbol **params;            /* of a function */
    uint32_t n_params;
    bool is_function;
} Declarator;

void ocl_parse(Ocl *o);
void ocl_advance(Ocl *o);
bool ocl_accept(Ocl *o, Tok kind);
bool ocl_expect(Ocl *o, Tok kind, const char *where);
void ocl_skip_to(Ocl *o, Tok open, Tok close);      /* which closes what is open; or ; */
const Token *ocl_peek(Ocl *o);                      /* the one after the current one */
bool ocl_starts_type(Ocl *o, const Token *t);
void ocl_parse_attributes(Ocl *o, Attributes *out);
bool ocl_parse_specifiers(Ocl *o, Specifiers *out);
void ocl_parse_declarator(Ocl *o, const Specifiers *s, Declarator *out);
Type *ocl_parse_type_name(Ocl *o);
Type *ocl_parse_record(Ocl *o, Specifiers *spec);
Type *ocl_parse_enum(Ocl *o);
Node *ocl_parse_declaration(Ocl *o);                /* within a function; a list of N_DECLARATION */
Node *ocl_parse_expression(Ocl *o);                 /* never NULL */
Node *ocl_parse_assignment(Ocl *o);
Node *ocl_parse_conditional(Ocl *o);
Node *ocl_parse_unary(Ocl *o);
/* Of a binary operator, as C and its preprocessor bind it: 10 (*) to 1 (||); 0 of anything else. */
int ocl_precedence(Tok op);
bool ocl_parse_constant(Ocl *o, const char *what, uint64_t *value, Type **type);
Node *ocl_parse_initialiser(Ocl *o, Type **type, bool constant);
Node *ocl_parse_body(Ocl *o, Symbol *function);
Node *ocl_parse_statements(Ocl *o);                 /* ({ ... }), from its { on */
Node *ocl_number(Ocl *o, const Token *t);
Node *ocl_character(Ocl *o, const Token *t);
Node *ocl_string(Ocl *o);
Node *ocl_text(Ocl *o, Loc loc, const char *text, uint32_t size);  /* with its NUL */

/* ---- sema_*.c -------------------------------------------------------------------------------- */

Node *ocl_node(Ocl *o, NodeKind kind, Loc loc, Type *type, Node *a, Node *b);
Node *ocl_int(Ocl *o, Loc loc, Type *type, uint64_t value);
Node *ocl_bad(Ocl *o, Loc loc);                     /* in place of what was wrong: an int 0 */
void ocl_depth(Ocl *o, Node *n, const Node *below);
void ocl_push_scope(Ocl *o);
void ocl_pop_scope(Ocl *o);
Symbol *ocl_declare(Ocl *o, SymbolKind kind, Ident *name, Type *type, Loc loc);
/* The next function of the same name; NULL at the end. */
Symbol *ocl_overload(const Symbol *s);
Symbol *ocl_declare_tag(Ocl *o, Ident *name, Loc loc);

const char *ocl_unsupported(const Ident *name);      /* "images"; NULL */
Node *ocl_symbol(Ocl *o, Ident *name, Loc loc);
Node *ocl_rvalue(Ocl *o, Node *n);                  /* arrays decay; no void */
Node *ocl_unary(Ocl *o, Tok op, Loc loc, Node *a);
Node *ocl_step(Ocl *o, Tok op, bool postfix, Loc loc, Node *a);
Node *ocl_binary(Ocl *o, Tok op, Loc loc, Node *a, Node *b);
Node *ocl_assign(Ocl *o, Tok op, Loc loc, Node *a, Node *b);
Node *ocl_conditional(Ocl *o, Loc loc, Node *c, Node *a, Node *b);
Node *ocl_member(Ocl *o, Loc loc, Node *a, Ident *name, Loc name_loc);
Node *ocl_index(Ocl *o, Loc loc, Node *a, Node *b);
Node *ocl_call(Ocl *o, Loc loc, Node *callee, Ident *name, Node **args, uint32_t n);
void ocl_check_recursion(Ocl *o);
Node *ocl_cast(Ocl *o, Loc loc, Type *to, Node *a);
Node *ocl_cast_lanes(Ocl *o, CastKind kind, Loc loc, Type *to, Node *a);  /* as many lanes */
Node *ocl_vector_literal(Ocl *o, Loc loc, Type *to, Node **list, uint32_t n);
Node *ocl_condition(Ocl *o, Node *n);               /* a scalar to branch on */
const Member *ocl_bit_field(const Node *n);         /* that n is, or was assigned to; NULL */
Type *ocl_promoted(Ocl *o, const Node *n);          /* what a scalar is as an operand */
Type *ocl_common(Ocl *o, Type *a, Type *b);         /* of two scalars */
/* To `to`, as an assignment does; says what is wrong in the words of `what`. */
Node *ocl_convert(Ocl *o, Node *n, Type *to, const char *what);
Node *ocl_implicit(Ocl *o, CastKind kind, Node *n, Type *to);
Node *ocl_to_number(Ocl *o, Node *n, Type *to);     /* scalars and vectors, already compatible */

/* sema_matrix.c */
Type *ocl_matrix_attribute(Ocl *o, Type *t, const Attributes *a);
bool ocl_pending(const Node *n);        /* coop_mat_load or coop_mat_init without its type yet */
Node *ocl_settle(Ocl *o, Node *n, Type *type);
Node *ocl_matrix_mismatch(Ocl *o, Node *n, Type *to, const char *what);
Node *ocl_matrix_unary(Ocl *o, Tok op, Loc loc, Node *a);
Node *ocl_matrix_binary(Ocl *o, Tok op, Loc loc, Node *a, Node *b);
Node *ocl_matrix_call(Ocl *o, Ident *name, Loc loc, Node **args, uint32_t n, bool *known);

/* ---- constant.c ------------------------------------------------------------------------------ */

typedef struct Value {
    uint32_t n;                 /* lanes */
    union { uint64_t u; double f; } lane[16];
} Value;

/* What the expression is when all is known while compiling. */
bool ocl_fold(Ocl *o, const Node *n, Value *out);
bool ocl_is_constant(Ocl *o, const Node *n);          /* addresses and lists too */
uint64_t ocl_wrap(const Type *t, uint64_t v);       /* to the type's width, extended as it says */
double ocl_round(const Type *t, double v);
/* as they lie in memory */
uint64_t ocl_lane_bits(const Type *element, const Value *v, uint32_t i);

/* ---- dump.c, emit.c -------------------------------------------------------------------------- */

char *ocl_dump(Ocl *o);
struct LLVMOpaqueModule *ocl_emit(Ocl *o, struct LLVMOpaqueContext *context);

/* ---- one compilation ------------------------------------------------------------------------- */

typedef struct Call { Symbol *from, *to; Loc loc; } Call;

typedef struct Words {          /* identifiers that the front end asks for */
    Ident *va_args, *defined, *printf_;
} Words;

struct Ocl {
    Arena *arena;
    DiagSink *sink;
    const OclOptions *options;
    const char *name;
    VEC(SourceFile *) files;
    Loc next_loc;
    Ident **idents;
    uint32_t n_idents, cap_idents;
    Words words;

    Input *input, *free_inputs;
    VEC(Condition) conditions;
    Token unread;
    bool has_unread, unread_from_file;
    bool in_line;               /* a directive is read, which ends with its file at the latest */
    bool any_text;              /* what is read need not be tokens: #error's line */
    uint32_t include_depth, n_expanded, n_tokens, counter;

    Type *basic[N_BASIC_TYPES];
    Type **types;
    uint32_t n_types, cap_types;
    Type *size_type, *string_type;

    Token tok, ahead;
    bool has_ahead, stop, to_spirv;     /* to_spirv: the IR is for that, not to be shown */
    uint32_t n_errors;
    Loc last_end;               /* just past the token before tok */
    uint32_t depth, scope;
    VEC(Symbol *) scopes;       /* the newest symbol of each */
    VEC(Symbol *) globals;      /* functions and variables, in order */
    VEC(Call) calls;            /* of the program's functions */
    Symbol *function;
    uint32_t loops, switches;
    uint32_t unroll, pragma_unroll;     /* of the next loop, by an attribute; by the last pragma */
    bool pragma_pending;
    Node *switch_node;
    Attributes leading;         /* read before it was known what they are of */
    VEC(Node *) gotos;
};

#endif
