/* SPDX-License-Identifier: MIT
 *
 * What the files of the OpenCL C front end share.
 *
 * Characters become tokens (lex.c), tokens are preprocessed as the parser asks for them
 * (preprocess.c, macro.c), the parser (parse_*.c) calls the semantic analysis (sema_*.c) for each
 * construct, which answers with nodes that have their types, implicit conversions written out.
 * emit_*.c turns the tree into LLVM IR, dump.c into text.
 *
 * All memory is in one arena. Everything that recurses with the input's nesting counts its depth
 * (ocl_enter), and each node knows the depth of the tree below it, so that no input can overflow
 * the stack.
 */
#ifndef HEDDLE_OPENCL_INTERNAL_H
#define HEDDLE_OPENCL_INTERNAL_H

#include "front/opencl/opencl.h"

struct LLVMOpaqueContext;
struct LLVMOpaqueModule;

typedef uint32_t OclLoc; /* 0: nowhere; else 1 + an offset into all texts, end to end */

typedef struct Ocl Ocl;
typedef struct OclIdent OclIdent;
typedef struct OclType OclType;
typedef struct OclNode OclNode;
typedef struct OclSymbol OclSymbol;
typedef struct OclRecord OclRecord;
typedef struct OclMacro OclMacro;
typedef struct OclBuiltin OclBuiltin;

/* ---- tokens ---------------------------------------------------------------------------------- */

typedef enum OclTok {
    T_EOF,
    T_IDENT,
    T_NUMBER,
    T_CHAR,
    T_STRING,
    T_OTHER,
#define PUNCTUATOR(name, text) P_##name,
#define KEYWORD(name, text)    K_##name,
#include "front/opencl/tokens.def"
    N_TOKENS
} OclTok;

/* first of a line, after space, not a macro, after #pragma unroll, while FP_CONTRACT is off */
enum { TF_LINE = 1, TF_SPACE = 2, TF_FROZEN = 4, TF_UNROLL = 8, TF_EXACT = 16 };

/* How often a loop is to be unrolled; 0: not specified. */
enum { UNROLL_NOT = 1 };
#define UNROLL_ALL UINT32_MAX

typedef struct OclToken {
    uint8_t kind, flags;
    uint32_t len;
    OclLoc loc;
    OclIdent *ident; /* identifiers and keywords */
    const char *text;
} OclToken;

struct OclIdent {
    const char *name;
    uint32_t len;
    OclTok keyword; /* T_IDENT for what is none */
    OclMacro *macro;
    OclSymbol *symbol, *tag, *label; /* the innermost */
    const OclBuiltin *builtin;       /* first row of the table; set when looked up */
    bool looked_up;
    OclIdent *next;
};

/* ---- lex.c ----------------------------------------------------------------------------------- */

typedef struct OclLineMark {
    uint32_t line, presumed;
    const char *name;
} OclLineMark;

typedef struct OclFile {
    const char *name, *text;
    uint32_t size;
    OclLoc start;           /* of its first character */
    VEC(uint32_t) lines;    /* where they start */
    VEC(OclLineMark) marks; /* #line */
    bool ours;              /* the prelude */
} OclFile;

typedef struct OclLexer {
    OclFile *file;
    const char *at;
    bool at_line;
} OclLexer;

OclFile *ocl_add_file(Ocl *o, const char *name, const char *text, size_t size);
OclFile *ocl_file_of(Ocl *o, OclLoc loc);
uint32_t ocl_line_of(const OclFile *f, OclLoc loc); /* from 0 */
void ocl_lex(Ocl *o, OclLexer *lexer, OclToken *out);
OclIdent *ocl_intern(Ocl *o, const char *name, size_t len);
const char *ocl_token_name(OclTok kind);
DiagLoc ocl_position(Ocl *o, OclLoc loc);

void ocl_error(Ocl *o, OclLoc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void ocl_warning(Ocl *o, OclLoc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void ocl_note(Ocl *o, OclLoc loc, const char *fmt, ...) PRINTF_LIKE(3, 4);
void ocl_stop(Ocl *o); /* no more tokens */
/* Enters one more level of nesting; false after reporting that it is too deep. ocl_leave undoes it
 * in either case. */
bool ocl_enter(Ocl *o, OclLoc loc);
void ocl_leave(Ocl *o);

/* ---- preprocess.c, macro.c ------------------------------------------------------------------- */

struct OclMacro {
    OclIdent *name;
    OclLoc loc;
    bool function, variadic, disabled;
    uint8_t special; /* __FILE__, __LINE__... */
    OclIdent **params;
    uint32_t n_params;
    OclToken *body;
    uint32_t n_body;
};

typedef struct OclCondition {
    OclLoc loc;
    bool taken, active, seen_else;
} OclCondition;

typedef struct OclInput {
    struct OclInput *up;
    OclLexer *lexer; /* of a file; else tokens */
    const OclToken *tokens;
    uint32_t n, pos;
    OclMacro *macro;     /* is disabled while this is read */
    OclLoc loc;          /* non-zero: where its tokens are said to be */
    bool barrier;        /* ends here, for those who expand an argument */
    uint32_t conditions; /* open when the file began */
} OclInput;

bool ocl_skipping(const Ocl *o); /* in a group that #if leaves out */
void ocl_preprocess_start(Ocl *o, const OclSource *source);
void ocl_next_token(Ocl *o, OclToken *out); /* preprocessed, keywords told apart */
/* The same without directives and macros, for preprocess.c and macro.c. */
bool ocl_raw_token(Ocl *o, OclToken *out); /* true: it is a file's own */
void ocl_unread(Ocl *o, const OclToken *t, bool from_file);
void ocl_push_tokens(Ocl *o, const OclToken *tokens, uint32_t n, OclMacro *macro, OclLoc loc);
bool ocl_expand_macro(Ocl *o, OclToken *t); /* true: pushed what it stands for */
/* The tokens, all macros in them expanded. */
void ocl_expand_list(Ocl *o, const OclToken *tokens, uint32_t n, OclToken **out, uint32_t *n_out);
void ocl_define_directive(Ocl *o, OclToken *line, uint32_t n, OclLoc loc);
/* The value of #if's expression; false when it is none. */
bool ocl_if_expression(Ocl *o, const OclToken *line, uint32_t n, OclLoc loc, bool *value);

/* ---- type.c ---------------------------------------------------------------------------------- */

typedef enum OclTypeKind {
    TY_VOID,
    TY_BOOL,
    TY_CHAR,
    TY_UCHAR,
    TY_SHORT,
    TY_USHORT,
    TY_INT,
    TY_UINT,
    TY_LONG,
    TY_ULONG,
    TY_HALF,
    TY_FLOAT,
    TY_DOUBLE,
    TY_EVENT,
    N_BASIC_TYPES,
    TY_VECTOR = N_BASIC_TYPES,
    TY_POINTER,
    TY_ARRAY,
    TY_RECORD,
    TY_FUNCTION,
    TY_MATRIX
} OclTypeKind;

enum {
    Q_CONST = 1,
    Q_VOLATILE = 2,
    Q_RESTRICT = 4,
    Q_ATOMIC = 8,
    Q_ORDER = 16,
    Q_SCOPE = 32
}; /* uint that is mangled as memory_order, memory_scope */
/* LLVM's numbers for SPIR-V. */
typedef enum OclSpace { AS_PRIVATE, AS_GLOBAL, AS_CONSTANT, AS_LOCAL, AS_GENERIC } OclSpace;
enum { MATRIX_A, MATRIX_B, MATRIX_ACCUMULATOR };
#define SCOPE_SUBGROUP 3
#define UNKNOWN_LENGTH UINT64_MAX

/* Types are interned: equal types are one object. Qualifiers and the address space are the type's;
 * `plain` is it without them. */
struct OclType {
    OclTypeKind kind;
    uint8_t quals, space;
    bool variadic;
    uint8_t scope, use; /* matrices */
    uint32_t rows, columns;
    OclType *base; /* element, component, pointee, result */
    uint64_t n;    /* lanes, length */
    OclRecord *record;
    OclType **params;
    uint32_t n_params;
    uint64_t size;
    uint32_t align;
    OclType *plain, *next;
    void *llvm; /* emit.c: LLVMTypeRef */
};

typedef struct OclMember {
    OclIdent *name; /* NULL: unnamed */
    OclType *type;
    OclLoc loc;
    uint64_t offset;
    bool bit_field, packed;
    uint16_t bit, width; /* in the unit of the type's size at offset; packed: in bytes */
    uint32_t index;      /* in the LLVM struct */
} OclMember;

struct OclRecord {
    OclSymbol *tag;
    const char *name;                                  /* NULL: none */
    bool is_union, complete, packed, has_matrix, flat; /* flat: no LLVM struct, bytes */
    VEC(OclMember) members;
    uint64_t size;
    uint32_t align, llvm_align;
    void *llvm;
};

void ocl_types_start(Ocl *o);
OclType *ocl_vector(Ocl *o, OclType *element, uint32_t n);
OclType *ocl_pointer(Ocl *o, OclType *pointee);
OclType *ocl_array(Ocl *o, OclType *element, uint64_t n);
OclType *ocl_matrix(Ocl *o, OclType *component, uint32_t rows, uint32_t columns, uint8_t use);
OclType *ocl_function(Ocl *o, OclType *result, OclType **params, uint32_t n, bool variadic);
OclType *ocl_record_type(Ocl *o, OclRecord *r);
OclType *ocl_qualified(Ocl *o, OclType *t, uint8_t quals, OclSpace space); /* exactly these */
OclType *ocl_add_quals(Ocl *o, OclType *t, uint8_t quals);
OclType *ocl_in_space(Ocl *o, OclType *t, OclSpace space);
OclType *ocl_sized_int(Ocl *o, uint64_t size, bool is_signed);
/* float4 for (float, 4); the element itself for 1. */
OclType *ocl_lanes(Ocl *o, OclType *element, uint64_t n);
const char *ocl_type_name(Ocl *o, const OclType *t);
const char *ocl_space_name(OclSpace space);
uint64_t ocl_size_of(const OclType *t); /* structures may be completed since */
bool ocl_lay_out(Ocl *o, OclRecord *r, uint32_t align);
bool ocl_has_matrix(const OclType *t);
bool ocl_is_complete(const OclType *t);

static inline bool is_integer(const OclType *t)
{
    return t->kind >= TY_BOOL && t->kind <= TY_ULONG;
}
static inline bool is_float(const OclType *t) { return t->kind >= TY_HALF && t->kind <= TY_DOUBLE; }
static inline bool is_scalar(const OclType *t)
{
    return t->kind >= TY_BOOL && t->kind <= TY_DOUBLE;
}
static inline bool is_vector(const OclType *t) { return t->kind == TY_VECTOR; }
static inline bool is_pointer(const OclType *t) { return t->kind == TY_POINTER; }
static inline bool is_array(const OclType *t) { return t->kind == TY_ARRAY; }
static inline bool is_record(const OclType *t) { return t->kind == TY_RECORD; }
static inline bool is_matrix(const OclType *t) { return t->kind == TY_MATRIX; }
/* A matrix type whose attribute is wrong, which was reported. */
static inline bool is_bad_matrix(const OclType *t) { return is_matrix(t) && !t->rows; }
static inline bool is_void(const OclType *t) { return t->kind == TY_VOID; }
static inline bool is_aggregate(const OclType *t) { return is_array(t) || is_record(t); }
static inline OclType *element_of(OclType *t) { return is_vector(t) || is_matrix(t) ? t->base : t; }
static inline uint64_t lanes_of(const OclType *t) { return is_vector(t) ? t->n : 1; }
static inline bool is_signed(const OclType *t)
{
    return t->kind == TY_CHAR || t->kind == TY_SHORT || t->kind == TY_INT || t->kind == TY_LONG;
}
/* A scalar or a vector. */
static inline bool is_arithmetic(const OclType *t) { return is_scalar(t) || is_vector(t); }

/* ---- the tree -------------------------------------------------------------------------------- */

typedef enum OclNodeKind {
    /* expressions */
    N_INT,
    N_FLOAT,
    N_STRING,
    N_SYMBOL,
    N_MEMBER,
    N_SWIZZLE,
    N_INDEX,
    N_DEREF,
    N_ADDRESS,
    N_HELD,
    N_UNARY,
    N_BINARY,
    N_ASSIGN,
    N_STEP,
    N_CONDITIONAL,
    N_COMMA,
    N_CALL,
    N_BUILTIN,
    N_CAST,
    N_VECTOR,
    N_COMPOUND,
    N_INIT,
    N_STATEMENTS,
    N_LOAD_MATRIX,
    N_STORE_MATRIX,
    N_FILL_MATRIX,
    N_MULTIPLY_ADD,
    N_MATRIX_LENGTH,
    /* statements */
    N_BLOCK,
    N_EXPRESSION,
    N_DECLARATION,
    N_IF,
    N_WHILE,
    N_DO,
    N_FOR,
    N_SWITCH,
    N_CASE,
    N_DEFAULT,
    N_BREAK,
    N_CONTINUE,
    N_RETURN,
    N_GOTO,
    N_LABEL,
    N_EMPTY
} OclNodeKind;

typedef enum OclCastKind {
    CAST_NUMBER,   /* between numbers, or vectors of as many lanes */
    CAST_SPLAT,    /* a scalar to each lane */
    CAST_SATURATE, /* between integers, to the nearest that there is */
    CAST_BITS,     /* as_type, and pointers to other types */
    CAST_SPACE,    /* between address spaces */
    CAST_DECAY,    /* an array to a pointer to its first element */
    CAST_NULL,
    CAST_FROM_POINTER,
    CAST_TO_POINTER,
    CAST_TO_BOOL,
    CAST_VOID
} OclCastKind;

/* a op= b is N_ASSIGN of a and of an expression in which N_HELD stands for the value a had;
 * N_STEP (++ and --) likewise; its d is a. N_STATEMENTS' list are statements, a is its value or
 * NULL. Operators are their tokens' kinds: P_PLUS. Comparisons
 * and logic yield int, or a vector. */
struct OclNode {
    uint8_t kind, op;
    uint16_t depth;
    bool lvalue, implicit, postfix, parens, bad; /* bad: said what is wrong already */
    bool exact;                                  /* a sum that takes a product as it is rounded */
    OclLoc loc;
    OclType *type; /* NULL in statements; in a pending one until it is known */
    OclNode *a, *b, *c, *d;
    union {
        uint64_t u; /* sign- or zero-extended as the type says; of a loop UNROLL_ */
        double f;
        struct {
            const char *text;
            uint32_t size;
        } string; /* with its NUL */
        OclSymbol *symbol;
        struct {
            OclNode **list;
            uint32_t n;
            uint32_t first;
        };
        uint32_t member;
        uint8_t lanes[16];
        OclIdent *ident; /* goto, label */
    };
    Map *cases;                /* of a switch, linked by d; a range has its last value in b */
    const OclBuiltin *builtin; /* N_BUILTIN; with the concrete types of its parameters */
    OclType **types;
    const char *name; /* of a builtin, mangled */
    void *llvm;       /* emission: blocks */
};

typedef enum OclSymbolKind {
    S_VARIABLE,
    S_PARAMETER,
    S_FUNCTION,
    S_TYPEDEF,
    S_ENUMERATOR,
    S_TAG,
    S_LABEL
} OclSymbolKind;

typedef struct OclAttributes {
    uint32_t aligned, local_size[3], size_hint[3], subgroup_size, unroll;
    bool packed, has_local_size, has_size_hint, has_matrix, kernel, overloadable;
    OclType *vec_type_hint;
    uint8_t use;
    uint32_t rows, columns;
    OclLoc matrix_loc;
} OclAttributes;

struct OclSymbol {
    OclSymbolKind kind;
    OclIdent *ident;
    OclType *type;
    OclLoc loc;
    bool global, is_static, kernel, used, defined, called, is_extern;
    bool calls;     /* while recursion is looked for */
    uint64_t value; /* enumerators */
    OclAttributes attributes;
    OclNode *init;      /* variables */
    OclSymbol **params; /* functions */
    OclNode *body;
    OclRecord *record;   /* tags; NULL: an enum's */
    OclSymbol *owner;    /* the function a static or local variable is in */
    uint32_t scope;      /* depth of its scope */
    OclSymbol *shadowed; /* what the name meant outside */
    OclSymbol *in_scope; /* the one declared before it in the same scope */
    OclSymbol *same;     /* declared in a function: the program's; NULL */
    void *llvm, *kernel_body;
};

/* ---- builtin.c ------------------------------------------------------------------------------- */

struct OclBuiltin {
    const char *name, *signature;
    uint8_t set, what;
    const char *operation; /* what LLVM or SPIR-V calls it, where that is not the name */
};

typedef enum OclBuiltinKind {
    B_CALL, /* of the mangled name */
    B_PURE, /* the same, reads and writes nothing */
    B_FENCE,
    B_ATOMIC,
    B_STEP, /* an atomicrmw instruction; by one */
    B_INIT, /* a plain store */
    B_TO_SPACE,
    B_COPY,        /* async_work_group_copy */
    B_LOAD_PADDED, /* a call; three lanes lie four apart */
    B_ANY,
    B_ALL,     /* of the lanes' sign bits */
    B_REFUSED, /* operation says what is not supported */
} OclBuiltinKind;

const OclBuiltin *ocl_find_builtin(Ocl *o, OclIdent *name);
bool ocl_same_name(const OclBuiltin *row, const OclIdent *name);
const OclBuiltin *ocl_builtin_table(uint32_t *n);
/* The first row that the arguments suit; converts them. NULL after saying why none does. */
OclNode *ocl_call_builtin(Ocl *o, OclIdent *name, OclLoc loc, OclNode **args, uint32_t n);
/* convert_T, as_T: NULL when it is neither. */
OclNode *ocl_call_conversion(Ocl *o, OclIdent *name, OclLoc loc, OclNode **args, uint32_t n,
                             bool *known);
/* "_Z3maxDv4_fS_" */
const char *ocl_mangle(Ocl *o, const char *name, OclType **params, uint32_t n);
const char *ocl_mangle_template(Ocl *o, const char *name, OclType *result, OclType **params,
                                uint32_t n);

/* ---- parse_*.c ------------------------------------------------------------------------------- */

typedef struct OclSpecifiers {
    OclType *type;
    bool is_typedef, is_static, is_extern, is_inline, kernel, has_space;
    bool of_expression; /* typeof's */
    OclSpace space;
    OclAttributes attributes;
    uint32_t type_align; /* of an aligned typedef; 0 */
    OclLoc loc;
} OclSpecifiers;

typedef struct OclDeclarator {
    OclIdent *name;
    OclLoc loc;
    OclType *type;
    OclSymbol **params; /* of a function */
    uint32_t n_params;
    bool is_function;
} OclDeclarator;

void ocl_parse(Ocl *o);
void ocl_advance(Ocl *o);
bool ocl_accept(Ocl *o, OclTok kind);
bool ocl_expect(Ocl *o, OclTok kind, const char *where);
void ocl_skip_to(Ocl *o, OclTok open, OclTok close); /* which closes what is open; or ; */
const OclToken *ocl_peek(Ocl *o);                    /* the one after the current one */
bool ocl_starts_type(Ocl *o, const OclToken *t);
void ocl_parse_attributes(Ocl *o, OclAttributes *out);
bool ocl_parse_specifiers(Ocl *o, OclSpecifiers *out);
void ocl_parse_declarator(Ocl *o, const OclSpecifiers *s, OclDeclarator *out);
OclType *ocl_parse_type_name(Ocl *o);
OclType *ocl_parse_record(Ocl *o, OclSpecifiers *spec);
OclType *ocl_parse_enum(Ocl *o);
OclNode *ocl_parse_declaration(Ocl *o); /* within a function; a list of N_DECLARATION */
OclNode *ocl_parse_expression(Ocl *o);  /* never NULL */
OclNode *ocl_parse_assignment(Ocl *o);
OclNode *ocl_parse_conditional(Ocl *o);
OclNode *ocl_parse_unary(Ocl *o);
/* Of a binary operator, as C and its preprocessor bind it: 10 (*) to 1 (||); 0 of anything else. */
int ocl_precedence(OclTok op);
bool ocl_parse_constant(Ocl *o, const char *what, uint64_t *value, OclType **type);
OclNode *ocl_parse_initialiser(Ocl *o, OclType **type, bool constant);
OclNode *ocl_parse_body(Ocl *o, OclSymbol *function);
OclNode *ocl_parse_statements(Ocl *o); /* ({ ... }), from its { on */
OclNode *ocl_number(Ocl *o, const OclToken *t);
OclNode *ocl_character(Ocl *o, const OclToken *t);
OclNode *ocl_string(Ocl *o);
OclNode *ocl_text(Ocl *o, OclLoc loc, const char *text, uint32_t size); /* with its NUL */

/* ---- sema_*.c -------------------------------------------------------------------------------- */

OclNode *ocl_node(Ocl *o, OclNodeKind kind, OclLoc loc, OclType *type, OclNode *a, OclNode *b);
OclNode *ocl_int(Ocl *o, OclLoc loc, OclType *type, uint64_t value);
OclNode *ocl_bad(Ocl *o, OclLoc loc); /* in place of what was wrong: an int 0 */
void ocl_depth(Ocl *o, OclNode *n, const OclNode *below);
void ocl_push_scope(Ocl *o);
void ocl_pop_scope(Ocl *o);
OclSymbol *ocl_declare(Ocl *o, OclSymbolKind kind, OclIdent *name, OclType *type, OclLoc loc);
/* The next function of the same name; NULL at the end. */
OclSymbol *ocl_overload(const OclSymbol *s);
OclSymbol *ocl_declare_tag(Ocl *o, OclIdent *name, OclLoc loc);

const char *ocl_unsupported(const OclIdent *name); /* "images"; NULL */
OclNode *ocl_symbol(Ocl *o, OclIdent *name, OclLoc loc);
OclNode *ocl_rvalue(Ocl *o, OclNode *n); /* arrays decay; no void */
OclNode *ocl_unary(Ocl *o, OclTok op, OclLoc loc, OclNode *a);
OclNode *ocl_step(Ocl *o, OclTok op, bool postfix, OclLoc loc, OclNode *a);
OclNode *ocl_binary(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b);
OclNode *ocl_assign(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b);
OclNode *ocl_conditional(Ocl *o, OclLoc loc, OclNode *c, OclNode *a, OclNode *b);
OclNode *ocl_member(Ocl *o, OclLoc loc, OclNode *a, OclIdent *name, OclLoc name_loc);
OclNode *ocl_index(Ocl *o, OclLoc loc, OclNode *a, OclNode *b);
OclNode *ocl_call(Ocl *o, OclLoc loc, OclNode *callee, OclIdent *name, OclNode **args, uint32_t n);
void ocl_check_recursion(Ocl *o);
OclNode *ocl_cast(Ocl *o, OclLoc loc, OclType *to, OclNode *a);
OclNode *ocl_cast_lanes(Ocl *o, OclCastKind kind, OclLoc loc, OclType *to,
                        OclNode *a); /* as many lanes */
OclNode *ocl_vector_literal(Ocl *o, OclLoc loc, OclType *to, OclNode **list, uint32_t n);
OclNode *ocl_condition(Ocl *o, OclNode *n);          /* a scalar to branch on */
const OclMember *ocl_bit_field(const OclNode *n);    /* that n is, or was assigned to; NULL */
OclType *ocl_promoted(Ocl *o, const OclNode *n);     /* what a scalar is as an operand */
OclType *ocl_common(Ocl *o, OclType *a, OclType *b); /* of two scalars */
/* To `to`, as an assignment does; says what is wrong in the words of `what`. */
OclNode *ocl_convert(Ocl *o, OclNode *n, OclType *to, const char *what);
OclNode *ocl_implicit(Ocl *o, OclCastKind kind, OclNode *n, OclType *to);
OclNode *ocl_to_number(Ocl *o, OclNode *n,
                       OclType *to); /* scalars and vectors, already compatible */

/* sema_matrix.c */
OclType *ocl_matrix_attribute(Ocl *o, OclType *t, const OclAttributes *a);
bool ocl_pending(const OclNode *n); /* coop_mat_load or coop_mat_init without its type yet */
OclNode *ocl_settle(Ocl *o, OclNode *n, OclType *type);
OclNode *ocl_matrix_mismatch(Ocl *o, OclNode *n, OclType *to, const char *what);
OclNode *ocl_matrix_unary(Ocl *o, OclTok op, OclLoc loc, OclNode *a);
OclNode *ocl_matrix_binary(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b);
OclNode *ocl_matrix_call(Ocl *o, OclIdent *name, OclLoc loc, OclNode **args, uint32_t n,
                         bool *known);

/* ---- constant.c ------------------------------------------------------------------------------ */

typedef struct OclValue {
    uint32_t n; /* lanes */
    union {
        uint64_t u;
        double f;
    } lane[16];
} OclValue;

/* The expression's value if it is known at compile time. */
bool ocl_fold(Ocl *o, const OclNode *n, OclValue *out);
bool ocl_is_constant(Ocl *o, const OclNode *n);  /* addresses and lists too */
uint64_t ocl_wrap(const OclType *t, uint64_t v); /* to the type's width, extended as it says */
double ocl_round(const OclType *t, double v);
/* as they lie in memory */
uint64_t ocl_lane_bits(const OclType *element, const OclValue *v, uint32_t i);

/* ---- dump.c, emit.c -------------------------------------------------------------------------- */

char *ocl_dump(Ocl *o);
struct LLVMOpaqueModule *ocl_emit(Ocl *o, struct LLVMOpaqueContext *context);

/* ---- one compilation ------------------------------------------------------------------------- */

typedef struct OclCall {
    OclSymbol *from, *to;
    OclLoc loc;
} OclCall;

typedef struct OclWords { /* identifiers that the front end asks for */
    OclIdent *va_args, *defined, *printf_;
} OclWords;

struct Ocl {
    Arena *arena;
    DiagSink *sink;
    const OclOptions *options;
    const char *name;
    VEC(OclFile *) files;
    OclLoc next_loc;
    OclIdent **idents;
    uint32_t n_idents, cap_idents;
    OclWords words;

    OclInput *input, *free_inputs;
    VEC(OclCondition) conditions;
    OclToken unread;
    bool has_unread, unread_from_file;
    bool in_line;  /* a directive is read, which ends with its file at the latest */
    bool any_text; /* what is read need not be tokens: #error's line */
    uint32_t include_depth, n_expanded, n_tokens, counter;

    OclType *basic[N_BASIC_TYPES];
    OclType **types;
    uint32_t n_types, cap_types;
    OclType *size_type, *string_type;

    OclToken tok, ahead;
    bool has_ahead, stop, to_spirv; /* to_spirv: the IR is for that, not to be shown */
    uint32_t n_errors;
    OclLoc last_end; /* just past the token before tok */
    uint32_t depth, scope;
    VEC(OclSymbol *) scopes;  /* the newest symbol of each */
    VEC(OclSymbol *) globals; /* functions and variables, in order */
    VEC(OclCall) calls;       /* of the program's functions */
    OclSymbol *function;
    uint32_t loops, switches;
    uint32_t unroll, pragma_unroll; /* of the next loop, by an attribute; by the last pragma */
    bool pragma_pending, exact;     /* exact: FP_CONTRACT is off from the next token on */
    OclNode *switch_node;
    OclAttributes leading; /* read before it was known what they are of */
    VEC(OclNode *) gotos;
};

#endif
