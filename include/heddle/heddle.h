/* SPDX-License-Identifier: MIT
 *
 * libheddle: compiles compute kernels with cooperative matrices (GLSL, OpenCL C, MLIR, SPIR-V and
 * its assembly) and runs them on this machine.
 *
 *     HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
 *     HeddleDevice *device;
 *     HeddleModule *module;
 *     HeddleKernel *kernel;
 *     HeddleBuffer *x;
 *     heddle_device_new(&(HeddleDeviceOptions){0}, &device, log);
 *     heddle_module_from_file("scale.comp", NULL, &module, log);
 *     heddle_kernel_new(device, module, NULL, &kernel, log);
 *     heddle_buffer_wrap(device, data, sizeof data, &x, log);
 *     heddle_dispatch(kernel, &(HeddleDispatch){ .groups = {64, 1, 1}, .n_bindings = 1,
 *                     .bindings = &(HeddleBinding){ .buffer = x } }, NULL, log);
 *
 * Conventions, true of every function here:
 * - Structs that the caller makes are zero-initialised before their fields are set; a pointer to
 *   options may be NULL, which means all zeros.
 * - Structs grow at their end from one version to the next. One with a `struct_size` says how much
 *   of it there is: whoever makes it sets sizeof of it, or leaves 0, which stands for what it was
 *   in 0.2. The library takes what a smaller one lacks for zeros, and refuses a larger one only if
 *   there is something in what it does not know. What the library hands out says the same of
 *   itself. Structs without it, which stand in arrays, never change.
 * - A function that makes an object writes it to its `out` argument on HEDDLE_OK and writes NULL
 *   there on failure. The caller owns it and gives it to the `_free` function of its kind; freeing
 *   NULL is allowed. Objects made from another (kernels and buffers from a device) must be freed
 *   before it; a kernel keeps nothing of its module.
 * - Strings are NUL-terminated UTF-8. Strings and arrays that an object hands out belong to it and
 *   live as long as it does. Strings and data passed in are copied unless said otherwise.
 * - Sizes and offsets are in bytes, times in seconds, matrix dimensions in elements.
 * - `log` may be NULL (diagnostics are dropped). Every result but HEDDLE_OK comes with at least one
 *   error in the log.
 * - Devices, modules, kernels and queues may be used from several threads at once; a log and an
 *   array belong to one thread at a time. Nothing here prints, exits or aborts, but for
 *   heddle_print_to_stderr.
 * - Objects share no state, but two things are the process's. While there is a device of kind
 *   HEDDLE_DEVICE_CPU, handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL end a kernel that faults, and
 *   pass on every other signal to the handlers that they found
 *   (HeddleDeviceOptions.no_signal_handlers leaves them out). Compiling installs LLVM's handler of
 *   fatal errors, which lets those of other users of the same LLVM go on as they were. While a
 *   dispatch is looked at (HeddleDispatch.sample, watchdog), a handler of SIGPROF does that.
 */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEDDLE_API __attribute__((visibility("default")))
#else
#define HEDDLE_API
#endif

#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 2
#define HEDDLE_VERSION_PATCH 0

/* "0.2.0": of the library that is running, which may be newer than this header. */
HEDDLE_API const char *heddle_version(void);

/* ==== Results and diagnostics ================================================================= */

typedef enum HeddleResult {
    HEDDLE_OK = 0,
    HEDDLE_ERROR_ARGUMENT = -1,     /* the call is wrong: a NULL handle, an unknown enumerant, a
                                     * bad size */
    HEDDLE_ERROR_MEMORY = -2,       /* out of memory */
    HEDDLE_ERROR_IO = -3,           /* a file cannot be read or written */
    HEDDLE_ERROR_TOOL = -4,         /* a compiler that heddle runs (glslang, heddle-mlir) is missing
                                     * or cannot start */
    HEDDLE_ERROR_SOURCE = -5,       /* the kernel's source or module is wrong */
    HEDDLE_ERROR_UNSUPPORTED = -6,  /* the kernel is right, but asks for what the device does not
                                     * have */
    HEDDLE_ERROR_BINDING = -7,      /* a buffer or the push constants that the kernel uses are
                                     * not there */
    HEDDLE_ERROR_RUN = -8,          /* the kernel did wrong while it ran: it reached for memory
                                     * that is not there or divided by zero; with
                                     * HeddleKernelOptions.check, any mistake */
    HEDDLE_ERROR_MISMATCH = -9,     /* heddle_array_compare: the arrays differ */
} HeddleResult;

/* "HEDDLE_ERROR_IO". Static. */
HEDDLE_API const char *heddle_result_name(HeddleResult result);

typedef enum HeddleSeverity { HEDDLE_NOTE, HEDDLE_WARNING, HEDDLE_ERROR } HeddleSeverity;

typedef struct HeddleDiagnostic {
    size_t struct_size;
    HeddleSeverity severity;
    const char *file;               /* NULL when unknown */
    uint32_t line, column;          /* from 1; 0 when unknown */
    bool has_instruction;           /* whether the three below are known */
    uint32_t instruction;           /* index in the SPIR-V module, from 0 */
    const char *opcode;             /* "OpLoad", or NULL */
    const char *id;                 /* "%acc": the instruction's result, or NULL */
    const char *rule;               /* the specification's section or VUID that is broken, or
                                     * NULL */
    const char *message;            /* one sentence */
    const char *text;               /* all of it as one line: "gemm.comp:12:3: error: message
                                     * [rule]" */
} HeddleDiagnostic;

/* Collects diagnostics, and hands each to a callback when it arises. */
typedef struct HeddleLog HeddleLog;

/* Called on the thread that made the failing call, before it returns. The diagnostic's strings
 * live for the call. It must not free the log. */
typedef void HeddleReportFn(void *user, const HeddleDiagnostic *diagnostic);

/* `report` may be NULL (only collect). NULL when out of memory. */
HEDDLE_API HeddleLog *heddle_log_new(HeddleReportFn *report, void *user);
HEDDLE_API void heddle_log_free(HeddleLog *log);
HEDDLE_API size_t heddle_log_count(const HeddleLog *log);
/* The i-th since the last clear, in order; NULL past the end. Lives until the log is cleared or
 * freed. */
HEDDLE_API const HeddleDiagnostic *heddle_log_get(const HeddleLog *log, size_t i);
HEDDLE_API size_t heddle_log_errors(const HeddleLog *log);
HEDDLE_API void heddle_log_clear(HeddleLog *log);
/* A HeddleReportFn for programs: writes the text and a newline to standard error. */
HEDDLE_API void heddle_print_to_stderr(void *user, const HeddleDiagnostic *diagnostic);

/* ==== Element types =========================================================================== */

typedef enum HeddleType {
    HEDDLE_NO_TYPE,
    HEDDLE_F16, HEDDLE_F32, HEDDLE_F64, HEDDLE_BF16,
    HEDDLE_E4M3, HEDDLE_E5M2,       /* 8-bit floating point (OFP8) */
    HEDDLE_S8, HEDDLE_S16, HEDDLE_S32, HEDDLE_S64,
    HEDDLE_U8, HEDDLE_U16, HEDDLE_U32, HEDDLE_U64,
    HEDDLE_BOOL,                    /* one byte, 0 or 1: arrays and specialisation constants only */
    HEDDLE_N_TYPES
} HeddleType;

/* "f16", "bf16", "e4m3", "s8", "bool"...; "none" for anything else. Static. */
HEDDLE_API const char *heddle_type_name(HeddleType type);
/* Bytes of one element; 0 for HEDDLE_NO_TYPE. */
HEDDLE_API size_t heddle_type_size(HeddleType type);
/* The inverse of heddle_type_name; also "i8" for s8, "float16", "bfloat16", "int8", "uint8"...
 * as NumPy names them, "float" and "double". HEDDLE_NO_TYPE when unknown. */
HEDDLE_API HeddleType heddle_type_from_name(const char *name);

/* ==== Devices ================================================================================= */

typedef enum HeddleDeviceKind {
    HEDDLE_DEVICE_CPU,              /* machine code for this CPU, on all its cores */
    HEDDLE_DEVICE_REFERENCE,        /* an interpreter, invocation by invocation: slow, and can
                                     * check */
    HEDDLE_DEVICE_VULKAN,           /* any Vulkan 1.1 driver of the system; what it has not of a
                                     * kernel's matrices is lowered */
    HEDDLE_DEVICE_CUDA,             /* an NVIDIA GPU, by its driver (libcuda.so.1): compute
                                     * capability 8.0 and later */
    HEDDLE_N_DEVICE_KINDS
} HeddleDeviceKind;

/* "cpu", "reference", "vulkan", "cuda": what the command line calls the kind; NULL for what is
 * none. Static. */
HEDDLE_API const char *heddle_device_kind_name(HeddleDeviceKind kind);
/* How many devices of the kind this machine has. */
HEDDLE_API uint32_t heddle_device_count(HeddleDeviceKind kind);

typedef struct HeddleDeviceOptions {
    size_t struct_size;
    HeddleDeviceKind kind;
    uint32_t ordinal;               /* which one of the kind, from 0 */
    uint32_t threads;               /* worker threads; 0 = one a core */
    const char *isa;                /* CPU: generate for "x86-64-v2", "-v3", "-v4", "cooperlake",
                                     * "znver4", "alderlake", "arrowlake", "sapphirerapids",
                                     * "graniterapids", "armv8", "armv8.2",
                                     * "armv8.6"; NULL or "host" = all there is.
                                     * Kernels for what this machine lacks can be looked at,
                                     * not dispatched */
    bool no_signal_handlers;        /* CPU: a kernel that faults ends the program */
} HeddleDeviceOptions;

typedef struct HeddleDeviceInfo {
    size_t struct_size;
    HeddleDeviceKind kind;
    uint32_t ordinal;
    const char *kind_name;          /* "cpu", "reference", "cuda": what the command line calls it */
    const char *name;               /* "AMD Ryzen 9 7950X" */
    const char *target;             /* LLVM's name of the processor: "znver4"; "" for the
                                     * interpreter */
    const char *const *features;    /* instruction sets that matter to heddle: "avx512f",
                                     * "avx512vnni"; of VULKAN: extensions that are used */
    uint32_t n_features;
    uint32_t threads;
    uint32_t vector_bits;           /* of the vectors the machine code uses; 0 for the
                                     * interpreter */
    const uint32_t *subgroup_sizes; /* ascending */
    uint32_t n_subgroup_sizes;
    uint32_t default_subgroup_size;
    const char *const *extensions;  /* SPIR-V extensions understood, sorted */
    uint32_t n_extensions;
    const char *driver;             /* of a machine that has one: "lavapipe Mesa 22.3.6, Vulkan
                                     * 1.3.230"; or "" */
    uint64_t memory;                /* bytes of the device's own; 0: the host's */
} HeddleDeviceInfo;

typedef struct HeddleDevice HeddleDevice;

/* Errors: ARGUMENT, MEMORY, UNSUPPORTED (there is no such options->isa, or no such device). */
HEDDLE_API HeddleResult heddle_device_new(const HeddleDeviceOptions *options, HeddleDevice **out,
                                          HeddleLog *log);
HEDDLE_API void heddle_device_free(HeddleDevice *device);
/* Belongs to the device. */
HEDDLE_API const HeddleDeviceInfo *heddle_device_info(const HeddleDevice *device);

/* What the device has, as JSON in the form of share/profiles/README.md, for HeddleLowerOptions.
 * NULL: all that heddle knows. Belongs to the device. */
HEDDLE_API const char *heddle_device_profile(const HeddleDevice *device);

/* ==== Matrix shapes, and who holds which element ============================================== */

typedef enum HeddleScope { HEDDLE_SCOPE_WORKGROUP = 2, HEDDLE_SCOPE_SUBGROUP = 3 } HeddleScope;
typedef enum HeddleUse { HEDDLE_USE_A, HEDDLE_USE_B, HEDDLE_USE_ACCUMULATOR } HeddleUse;

/* One supported multiply-add: A (m x k) * B (k x n) + C (m x n) -> result (m x n). */
typedef struct HeddleMatrixShape {
    uint32_t m, n, k;
    HeddleType a, b, c, result;
    bool saturating;                /* the multiply-add clamps to the result's range */
    HeddleScope scope;
} HeddleMatrixShape;

/* The most rows, and columns, of a matrix, at any scope. */
enum { HEDDLE_MATRIX_MOST = 1024 };
/* The shapes that the device reports (heddle's own may be given any other up to HEDDLE_MATRIX_MOST
 * too), the preferred one first. Writes their count to *count. They belong to the device; `device`
 * may be NULL in all five functions here: what HEDDLE_DEVICE_CPU does. */
HEDDLE_API const HeddleMatrixShape *heddle_matrix_shapes(const HeddleDevice *device, size_t *count);

/* Multiply-adds whose m, n and k are any multiples of these, up to 1024 each
 * (VK_NV_cooperative_matrix2's flexible dimensions). */
typedef struct HeddleFlexibleShape {
    uint32_t m, n, k;
    HeddleType a, b, c, result;
    bool saturating;
    HeddleScope scope;
    uint32_t workgroup;             /* invocations of the workgroup whose matrices they are, or 0 */
} HeddleFlexibleShape;

/* The same of these. */
HEDDLE_API const HeddleFlexibleShape *heddle_flexible_shapes(const HeddleDevice *device,
                                                             size_t *count);

/* A matrix that a subgroup holds. */
typedef struct HeddleMatrixLayout {
    size_t struct_size;
    uint32_t rows, columns;
    HeddleType type;                /* these two matter to devices whose machines have layouts of */
    HeddleUse use;                  /* their own */
    uint32_t subgroup_size;
} HeddleMatrixLayout;

/* Elements that one invocation holds (the last invocations may hold fewer that mean something):
 * what OpCooperativeMatrixLengthKHR gives. 0 if a size is 0. */
HEDDLE_API uint32_t heddle_matrix_length(const HeddleDevice *device,
                                         const HeddleMatrixLayout *matrix);
/* Where element `element` of invocation `lane` lies. False, nothing written, when it holds none
 * there. */
HEDDLE_API bool heddle_matrix_position(const HeddleDevice *device, const HeddleMatrixLayout *matrix,
                                       uint32_t lane, uint32_t element, uint32_t *row,
                                       uint32_t *column);
/* The inverse: who holds (row, column). False, nothing written, outside the matrix. */
HEDDLE_API bool heddle_matrix_owner(const HeddleDevice *device, const HeddleMatrixLayout *matrix,
                                    uint32_t row, uint32_t column, uint32_t *lane,
                                    uint32_t *element);

/* ==== Modules ================================================================================= */

typedef enum HeddleLanguage {
    HEDDLE_LANGUAGE_AUTO,           /* told by the content first, by the name second */
    HEDDLE_LANGUAGE_SPIRV,          /* binary, either byte order */
    HEDDLE_LANGUAGE_SPIRV_ASM,
    HEDDLE_LANGUAGE_GLSL,           /* a compute shader; needs glslang 16.1 or later */
    HEDDLE_LANGUAGE_OPENCL,         /* OpenCL C; needs LLVM's SPIR-V target when heddle is built */
    HEDDLE_LANGUAGE_MLIR,           /* gpu.module or spirv.module, text or bytecode; needs MLIR 22
                                     * when heddle is built */
    HEDDLE_N_LANGUAGES
} HeddleLanguage;

/* What AUTO would choose; AUTO itself when it cannot tell. `name` may be NULL. */
HEDDLE_API HeddleLanguage heddle_language_of(const void *data, size_t size, const char *name);

typedef struct HeddleDefine {
    const char *name;
    const char *value;              /* NULL = 1 */
} HeddleDefine;

typedef struct HeddleModuleOptions {
    size_t struct_size;
    HeddleLanguage language;
    bool unchecked;                 /* leave out the checks that need types: for broken modules'
                                     * sake */
    /* For GLSL. */
    const char *compiler;           /* path of glslang; NULL = $HEDDLE_GLSLANG, else the one
                                     * installed with heddle, else in PATH */
    const char *const *include_dirs;    /* these four for OpenCL C too */
    uint32_t n_include_dirs;
    const HeddleDefine *defines;
    uint32_t n_defines;
    const char *target_env;         /* "vulkan1.0" .. "vulkan1.4"; NULL = vulkan1.4 */
    bool opencl_to_vulkan;          /* OpenCL C: a compute shader for Vulkan, not a kernel */
    /* For MLIR. */
    uint32_t subgroup_size;         /* of kernels that name none; 0 = 32 */
    bool rotate_loads;              /* overlapping loads of matrices become disjoint ones and
                                     * rotations */
    bool rotate_by_gpu;             /* rotations become the gpu dialect's extract, insert and
                                     * rotate; else SPIR-V's */
    const uint32_t *local_size;     /* x, y, z of kernels that name none (known_block_size); NULL =
                                     * one subgroup */
    bool keep_variables;            /* OpenCL C, not opencl_to_vulkan: for debuggers, as kernels
                                     * with debug and no_optimisation keep those of others; also
                                     * by HEDDLE_DEBUG=variables */
} HeddleModuleOptions;

typedef struct HeddleModule HeddleModule;

/* `name` is what diagnostics call the module, usually its path; includes of GLSL are looked for
 * beside it first. `data` is not needed after the call. The module is read and checked whole:
 * what is wrong with it is in the log. Errors: ARGUMENT, MEMORY, TOOL, SOURCE, IO. */
HEDDLE_API HeddleResult heddle_module_new(const void *data, size_t size, const char *name,
                                          const HeddleModuleOptions *options, HeddleModule **out,
                                          HeddleLog *log);
/* Reads the file ("-": standard input). Errors: also IO. */
HEDDLE_API HeddleResult heddle_module_from_file(const char *path,
                                                const HeddleModuleOptions *options,
                                                HeddleModule **out, HeddleLog *log);
HEDDLE_API void heddle_module_free(HeddleModule *module);

/* The SPIR-V binary, in the module's byte order; writes its size to *size. */
HEDDLE_API const uint32_t *heddle_module_spirv(const HeddleModule *module, size_t *size);
/* Its assembly, as a new string for free(), with names from the source where `names`. NULL when
 * out of memory. */
HEDDLE_API char *heddle_module_disassemble(const HeddleModule *module, bool names);
/* Loads of matrices in the text of an MLIR module, before and after options.rotate_loads; 0 of
 * others. */
HEDDLE_API void heddle_module_matrix_loads(const HeddleModule *module, uint32_t *before,
                                           uint32_t *after);

typedef enum HeddleMlirForm {
    HEDDLE_MLIR_REWRITTEN,          /* heddle's rewrites done, MLIR's conversions not yet */
    HEDDLE_MLIR_LOWERED,            /* the spirv.module */
    HEDDLE_N_MLIR_FORMS
} HeddleMlirForm;

/* An MLIR file ("-": standard input) in another form, as a new string for free(). Errors:
 * ARGUMENT, MEMORY, TOOL, SOURCE, IO. */
HEDDLE_API HeddleResult heddle_mlir_from_file(const char *path, const HeddleModuleOptions *options,
                                              HeddleMlirForm form, char **text, HeddleLog *log);

typedef enum HeddleOpenclForm {
    HEDDLE_OPENCL_AST,              /* the typed tree, a line a node */
    HEDDLE_OPENCL_LLVM,             /* the LLVM IR that becomes SPIR-V */
    HEDDLE_N_OPENCL_FORMS
} HeddleOpenclForm;

/* A file of OpenCL C ("-": standard input) in another form, as a new string for free(). Errors:
 * ARGUMENT, MEMORY, SOURCE, IO. */
HEDDLE_API HeddleResult heddle_opencl_from_file(const char *path,
                                                const HeddleModuleOptions *options,
                                                HeddleOpenclForm form, char **text, HeddleLog *log);
/* ---- reflection: what a kernel needs ---- */

typedef enum HeddleBindingKind {
    HEDDLE_BINDING_STORAGE,
    HEDDLE_BINDING_UNIFORM,
    HEDDLE_BINDING_VALUE,           /* an OpenCL kernel's argument that is no pointer */
    HEDDLE_BINDING_LOCAL,           /* an OpenCL kernel's pointer to workgroup memory */
    HEDDLE_BINDING_IMAGE,           /* an image, a sampler, both or a texel buffer: heddle's Vulkan
                                     * driver binds them, heddle_dispatch cannot */
} HeddleBindingKind;

/* Arguments of OpenCL kernels are bindings of set 0: number N is the N-th. */
typedef struct HeddleBindingInfo {
    uint32_t set, binding;
    uint32_t count;                 /* buffers in the array; 1 for a single one, UINT32_MAX when
                                     * unbounded */
    HeddleBindingKind kind;
    const char *name;               /* the variable's name in the source, else its block's only
                                     * member's, else its block's, else "" */
    bool written;                   /* false: the kernel only reads it */
    uint64_t static_size;           /* bytes every access the kernel's text names lies in; of a
                                     * value: its size */
    HeddleType element;             /* of the (first) array in it, or NO_TYPE when it is no array
                                     * of numbers */
    uint32_t element_stride;        /* bytes from one of its elements to the next; 0 */
} HeddleBindingInfo;

typedef struct HeddleSpecInfo {
    uint32_t id;                    /* SpecId */
    const char *name;               /* in the source, or "" */
    HeddleType type;
    uint64_t bits;                  /* default (module) or used (kernel) value, in the type's
                                     * width */
} HeddleSpecInfo;

typedef struct HeddleMatrixInfo {   /* a matrix type that the kernel declares */
    uint32_t rows, columns;         /* 0 when a specialisation constant not known yet decides */
    HeddleType type;
    HeddleUse use;
    HeddleScope scope;
} HeddleMatrixInfo;

typedef struct HeddleKernelInfo {
    size_t struct_size;
    const char *entry;
    bool opencl;                    /* an OpenCL kernel: its bindings are its arguments */
    uint32_t local_size[3];         /* invocations of a workgroup; 0 where the dispatch decides */
    uint32_t subgroup_size;         /* of a module: what the kernel requires, or 0 */
    uint64_t push_size;             /* bytes of push constants; 0 = none */
    uint64_t shared_size;           /* workgroup memory */
    uint32_t n_bindings, n_specs, n_matrices;
    const HeddleBindingInfo *bindings;  /* by set, then binding */
    const HeddleSpecInfo *specs;        /* by id */
    const HeddleMatrixInfo *matrices;   /* in the order of declaration */
    /* of a kernel, where the device knows (CUDA); else 0 */
    uint32_t registers;             /* of an invocation */
    uint64_t private_size;          /* bytes of an invocation: arrays, what registers do not hold */
    uint32_t resident_groups;       /* workgroups that a processor runs at once */
} HeddleKernelInfo;

HEDDLE_API uint32_t heddle_module_n_entry_points(const HeddleModule *module);
/* Of the i-th compute entry point, with default specialisation; NULL past the end. */
HEDDLE_API const HeddleKernelInfo *heddle_module_entry_point(const HeddleModule *module,
                                                             uint32_t i);

/* ==== Kernels ================================================================================= */

typedef struct HeddleSpecValue {
    uint32_t id;
    uint64_t bits;                  /* in the constant's width */
} HeddleSpecValue;

typedef struct HeddlePipelineOptions {
    size_t struct_size;
    const char *entry;              /* NULL = the only entry point */
    const HeddleSpecValue *specs;
    uint32_t n_specs;
    uint32_t subgroup_size;         /* when it is known; else 0 */
} HeddlePipelineOptions;

/* The module with software pipelines in its loops that ask for wait queues
 * (SPV_QCOM_multiple_wait_queues), for drivers that do not know these: what such a loop loads is
 * loaded as many iterations ahead into registers, 2 for "as many as there are". It computes the
 * same, bit for bit, and neither asks for wait queues nor declares the extension any more. Only the
 * one entry point is left, inlined and specialised, without debug information. Errors: ARGUMENT,
 * MEMORY, SOURCE. */
HEDDLE_API HeddleResult heddle_module_pipeline(const HeddleModule *module,
                                               const HeddlePipelineOptions *options,
                                               HeddleModule **out, HeddleLog *log);

typedef struct HeddleLoopInfo {     /* a loop that asked for wait queues */
    const char *file;               /* NULL when unknown */
    uint32_t line;                  /* from 1; 0 when unknown */
    uint32_t wait_queues;           /* iterations ahead */
    uint32_t loads;                 /* of matrices, and from buffers, that it carries out */
    uint32_t ahead;                 /* those that are carried out ahead; 0: the loop is as it was */
    const char *reason;             /* why not all; "" when all are. Static */
} HeddleLoopInfo;

/* What heddle_module_pipeline did to make the module; none for others. Belongs to it. */
HEDDLE_API const HeddleLoopInfo *heddle_module_loops(const HeddleModule *module, uint32_t *n);

typedef struct HeddleLowerOptions {
    const char *profile;            /* of the target: JSON, as share/profiles/README.md says */
    size_t profile_size;
    const char *profile_name;       /* what diagnostics call it; may be NULL */
    const char *entry;              /* NULL = the only entry point */
    const HeddleSpecValue *specs;
    uint32_t n_specs;
    uint32_t subgroup_size;         /* what the kernel is written for; 0 = the target's */
} HeddleLowerOptions;

/* The module for a target that has not all that it asks for: cooperative matrices, and what
 * extends them, are said in the SPIR-V that the target knows. Only the one entry point is left,
 * specialised. Errors: ARGUMENT, MEMORY, SOURCE (also of the profile). */
HEDDLE_API HeddleResult heddle_module_lower(const HeddleModule *module,
                                            const HeddleLowerOptions *options, HeddleModule **out,
                                            HeddleLog *log);

typedef struct HeddleLowering {     /* instructions that became others */
    const char *instruction;        /* "OpCooperativeMatrixMulAddKHR" */
    uint32_t count;
    const char *pass, *how;         /* what did it, and by what. Static */
} HeddleLowering;

/* What heddle_module_lower did to make the module; none for others. Belongs to it. */
HEDDLE_API const HeddleLowering *heddle_module_lowerings(const HeddleModule *module, uint32_t *n);

typedef enum HeddleEmit {
    HEDDLE_EMIT_NOTHING,
    HEDDLE_EMIT_SPIRV,              /* binary, after heddle's passes */
    HEDDLE_EMIT_LLVM,               /* LLVM IR, optimised */
    HEDDLE_EMIT_LLVM_PLAIN,         /* LLVM IR as generated */
    HEDDLE_EMIT_NATIVE,             /* assembly of the machine */
    HEDDLE_EMIT_OBJECT,             /* a relocatable object */
} HeddleEmit;

/* How much work goes into a kernel's machine code. cpu has tiers; other devices ignore them. */
typedef enum HeddleTier {
    /* A large kernel is compiled fast at first, and once more, beside what runs, when it has run
     * for as long as that took; dispatches from then on run the better code. Others: FULL.
     * HEDDLE_TIER=fast or full in the environment stands for this one. */
    HEDDLE_TIER_AUTO,
    HEDDLE_TIER_FAST,               /* compiled fast, for good */
    HEDDLE_TIER_FULL,
} HeddleTier;

typedef struct HeddleKernelOptions {
    size_t struct_size;
    const char *entry;              /* NULL = the only entry point */
    const HeddleSpecValue *specs;
    uint32_t n_specs;
    uint32_t subgroup_size;         /* 8, 16, 32, 64, 128; 0 = the kernel's own wish, else the
                                     * device's default */
    /* For kernels that leave it open (OpenCL), or to constants that `specs` does not name; of any
     * other kernel it is the size that it has. 0 = the kernel's. */
    uint32_t local_size[3];
    /* Accesses outside a buffer read 0 and write nothing, workgroup and private memory included;
     * indices into arrays of buffers end at the last one that is bound. Nothing is promised of
     * buffer references, whose addresses are the kernel's own affair; an OpenCL kernel, all of
     * whose pointers are such, is refused on HEDDLE_DEVICE_CPU. */
    bool robust;
    bool check;                     /* reference: look for mistakes while running */
    bool check_portability;         /* also: results that hang on element ownership or subgroup
                                     * size */
    bool stats;                     /* count for HeddleReport.stats; a few percent slower */
    bool no_optimisation;
    HeddleEmit emit;                /* keep that form for heddle_kernel_text */
    /* Not so even on HEDDLE_DEVICE_CUDA, where shaders are `robust` unless this is set: there, one
     * access outside all memory ends every later use of the GPU by the process. */
    bool no_robust;
    /* With the source's lines, for debuggers and profilers, and for what is said of faults, and on
     * HEDDLE_DEVICE_CPU with no_optimisation also its variables; so is every kernel where
     * HEDDLE_DEBUG=1, or =variables, is in the environment (docs/DEBUGGING.md). */
    bool debug;
    /* Divisions, square roots, exponentials and binary logarithms of shaders as they are on
     * HEDDLE_DEVICE_CPU, also where the device has faster ones that are just as precise as Vulkan
     * asks for (HEDDLE_DEVICE_CUDA). Divisions that the kernel declares `precise` are so anyway. */
    bool exact;
    bool profile;                   /* cpu: count line by line, for heddle_kernel_lines, and for
                                     * HeddleReport; much slower where lines are short. Implies
                                     * stats and debug */
    bool remarks;                   /* cpu: keep what heddle_kernel_remarks tells */
    HeddleTier tier;                /* AUTO is FULL where there is a form to keep but an object,
                                     * remarks, counts or a profile to make */
} HeddleKernelOptions;

typedef struct HeddleKernel HeddleKernel;

/* Compiles; heddle_kernel_seconds tells how long that took. Errors: ARGUMENT, MEMORY, SOURCE (also:
 * an instruction that the device cannot carry out, which is named), UNSUPPORTED (`check` on the cpu
 * device, `emit` on the reference device, a subgroup size that the device lacks). */
HEDDLE_API HeddleResult heddle_kernel_new(HeddleDevice *device, const HeddleModule *module,
                                          const HeddleKernelOptions *options, HeddleKernel **out,
                                          HeddleLog *log);
HEDDLE_API void heddle_kernel_free(HeddleKernel *kernel);
/* After specialisation: sizes and shapes are final. Belongs to the kernel. */
HEDDLE_API const HeddleKernelInfo *heddle_kernel_info(const HeddleKernel *kernel);
/* What the device did not have of the kernel, and what stands for it; none where it had all.
 * Belongs to the kernel. */
HEDDLE_API const HeddleLowering *heddle_kernel_lowerings(const HeddleKernel *kernel, uint32_t *n);
/* What options->emit asked for; NULL when it asked for nothing. Binary forms may contain NUL. */
HEDDLE_API const void *heddle_kernel_text(const HeddleKernel *kernel, size_t *size);
/* What the code generator has to say of a line: why it is slower than others. */
typedef struct HeddleRemark {
    const char *kind;               /* "gather", "divergent-branch", ...: static */
    const char *file;               /* NULL when unknown */
    uint32_t line, column;          /* from 1; 0 when unknown */
    const char *message;
} HeddleRemark;

/* In the order of the code; none without HeddleKernelOptions.remarks. Belongs to the kernel. */
HEDDLE_API const HeddleRemark *heddle_kernel_remarks(const HeddleKernel *kernel, uint32_t *n);
/* Seconds that compiling took. */
HEDDLE_API double heddle_kernel_seconds(const HeddleKernel *kernel);

/* ==== Buffers ================================================================================= */

typedef struct HeddleBuffer HeddleBuffer;

typedef enum HeddlePlacement {
    HEDDLE_PLACEMENT_HOST,          /* where the program reaches it: heddle_buffer_data */
    HEDDLE_PLACEMENT_DEVICE,        /* where kernels reach it fastest, which the program may not be
                                     * able to; the same where the device's memory is the host's */
    HEDDLE_N_PLACEMENTS
} HeddlePlacement;

/* Zero-filled. Of heddle's own devices: aligned to a page (one of 2 MiB from that size on), between
 * 64 KiB on both sides that cannot be accessed. Errors: ARGUMENT (size 0), MEMORY. */
HEDDLE_API HeddleResult heddle_buffer_new(HeddleDevice *device, uint64_t size, HeddleBuffer **out,
                                          HeddleLog *log);
/* The same, placed; heddle_buffer_new's are in HEDDLE_PLACEMENT_HOST. */
HEDDLE_API HeddleResult heddle_buffer_new_placed(HeddleDevice *device, uint64_t size,
                                                 HeddlePlacement placement, HeddleBuffer **out,
                                                 HeddleLog *log);
/* The caller's memory, in place: kernels read and write `data` itself, which must outlive the
 * buffer. 16-byte alignment is needed, 64 is better. Errors: ARGUMENT (NULL, size 0,
 * misaligned), MEMORY, UNSUPPORTED (the device cannot reach the program's memory). */
HEDDLE_API HeddleResult heddle_buffer_wrap(HeddleDevice *device, void *data, uint64_t size,
                                           HeddleBuffer **out, HeddleLog *log);
/* Memory of the device's own machine that another library of the process has, by its address there
 * (a CUdeviceptr), in place: it must outlive the buffer. It is read and written only as buffers of
 * HEDDLE_PLACEMENT_DEVICE are. What CUDA's default stream was given before is waited for. 16-byte
 * alignment is needed. Errors: ARGUMENT (no address, size 0, misaligned, not memory of this
 * device), MEMORY, RUN (the device failed), UNSUPPORTED (kernels of the device use the program's
 * memory: heddle_buffer_wrap). */
HEDDLE_API HeddleResult heddle_buffer_wrap_address(HeddleDevice *device, uint64_t address,
                                                   uint64_t size, HeddleBuffer **out,
                                                   HeddleLog *log);
/* Frees what heddle_buffer_new allocated; leaves the caller's memory alone. */
HEDDLE_API void heddle_buffer_free(HeddleBuffer *buffer);
/* Copy bytes out of and into the buffer, wherever it lies, whenever no dispatch that uses it is
 * running. Errors: ARGUMENT (NULL, outside of the buffer), RUN (the device failed). */
HEDDLE_API HeddleResult heddle_buffer_read(const HeddleBuffer *buffer, uint64_t offset, void *data,
                                           uint64_t size, HeddleLog *log);
HEDDLE_API HeddleResult heddle_buffer_write(HeddleBuffer *buffer, uint64_t offset, const void *data,
                                            uint64_t size, HeddleLog *log);
/* The memory itself: valid to use whenever no dispatch that uses the buffer is running. NULL where
 * the program cannot reach it: never of HEDDLE_PLACEMENT_HOST or what is wrapped. */
HEDDLE_API void *heddle_buffer_data(const HeddleBuffer *buffer);
HEDDLE_API uint64_t heddle_buffer_size(const HeddleBuffer *buffer);
/* What a kernel's physical pointers (GL_EXT_buffer_reference) to it hold. They may lead to any
 * buffer of the kernel's device, bound or not. */
HEDDLE_API uint64_t heddle_buffer_address(const HeddleBuffer *buffer);

/* ==== Dispatch ================================================================================ */

typedef struct HeddleBinding {
    uint32_t set, binding, index;   /* index: in an array of buffers */
    HeddleBuffer *buffer;           /* NULL for values and workgroup memory */
    uint64_t offset;                /* multiple of 16 */
    uint64_t size;                  /* 0 = to the buffer's end; of a value; of workgroup memory */
    const void *value;              /* of HEDDLE_BINDING_VALUE */
} HeddleBinding;

typedef struct HeddleDispatch {
    size_t struct_size;
    uint32_t groups[3];             /* workgroups in x, y, z; a 0 means 1 */
    uint32_t base_group[3];         /* added to the workgroup's id */
    /* OpenCL kernels: invocations, instead of groups; the last workgroups are smaller where the
     * workgroup's size does not divide it (which a kernel compiled for one size refuses) */
    uint32_t global_size[3];
    uint32_t global_offset[3];      /* OpenCL kernels: added to the invocation's id */
    uint32_t local_size[3];         /* OpenCL kernels that leave it open; 0 = chosen */
    const HeddleBinding *bindings;  /* in any order; ones that the kernel does not use are
                                     * ignored */
    uint32_t n_bindings;
    const void *push;               /* push constants; needs 4-byte alignment */
    size_t push_size;
    uint32_t max_threads;           /* 0 = all of the device */
    int interleave;                 /* workgroups sharing a core by turns: 0 = decide, 1 = off,
                                     * 16 = 4x4 */
    uint64_t seed;                  /* reference: order in which invocations run */
    uint64_t budget;                /* reference: instructions an invocation may run before it is
                                     * called endless; 0 = 2^26 */
    /* OpenCL kernels' printf: one call of it, on any thread but one at a time; NULL: not shown */
    void (*print)(void *user, const char *text, size_t length);
    void *print_user;
    /* With `check`: each mistake is reported when it is first seen, and a note at the end says how
     * often it was; else all of them at the end. */
    bool live;
    /* reference: where that becomes other than 0, say in a signal's handler, the dispatch ends with
     * an error that says where it was. May be NULL */
    const volatile int *stop;
    /* reference: called after every workgroup; may be NULL */
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *progress_user;
    /* cpu: seconds between two looks at where each thread is in a kernel with `debug`, for
     * heddle_kernel_lines; 0: nobody looks */
    double sample;
    /* cpu: the most seconds that a processor may spend in one subgroup of a kernel with `debug`
     * before it is called endless, which ends the dispatch like a fault; 0: any. vulkan: the most
     * seconds that the dispatch may take; the device is lost if it takes more */
    double watchdog;
} HeddleDispatch;

/* The workgroup's size that a dispatch of so many invocations of an OpenCL kernel gets where nobody
 * chooses one: 64 to 128 where that many divide it. A kernel that is compiled for it
 * (HeddleKernelOptions.local_size) is faster than one that leaves it open. */
HEDDLE_API void heddle_local_size(const uint32_t global_size[3], uint32_t local_size[3]);

/* Dynamic counts, an operation of a whole subgroup counted once. All 0 unless
 * HeddleKernelOptions.stats, and on HEDDLE_DEVICE_VULKAN and HEDDLE_DEVICE_CUDA;
 * HEDDLE_DEVICE_REFERENCE counts all but yields and bytes_moved. */
typedef struct HeddleStats {
    uint64_t matrix_loads, matrix_stores;
    uint64_t muladds;               /* matrix multiply-adds */
    uint64_t flops;                 /* 2*m*n*k of each */
    uint64_t conversions;           /* matrix to matrix, matrix to and from vectors */
    uint64_t barriers, yields;
    uint64_t bytes_loaded, bytes_stored;
    uint64_t bytes_moved;           /* between layouts, in registers or private memory */
} HeddleStats;

/* How a subgroup reaches buffers, push constants and workgroup memory, but for matrices: by one
 * access for all of it, by a vector whose lanes lie side by side, by such a one of which some lanes
 * are masked out, or lane by lane. HEDDLE_DEVICE_CPU counts what its code does, which was made
 * without the addresses; HEDDLE_DEVICE_REFERENCE what these turn out to be, each load, store or
 * atomic of the module once. */
typedef enum HeddleAccess {
    HEDDLE_ACCESS_SCALAR,
    HEDDLE_ACCESS_VECTOR,
    HEDDLE_ACCESS_MASKED,
    HEDDLE_ACCESS_GATHER,           /* and scatter */
    HEDDLE_N_ACCESSES
} HeddleAccess;

typedef struct HeddleReport {
    size_t struct_size;
    double seconds;                 /* from start to end */
    double start, end;              /* on a clock of the device's whose zero means nothing */
    HeddleStats stats;
    /* operands of multiply-adds that were packed for several workgroups; uses of one again */
    uint64_t panels_packed, panels_shared;
    uint64_t bytes_copied;          /* between the program's memory and the device's */
    /* by HeddleAccess, of kernels with HeddleKernelOptions.stats: how many accesses, and bytes of
     * the lanes that took part */
    bool counts_accesses;           /* whether the device does */
    uint64_t accesses[HEDDLE_N_ACCESSES], access_bytes[HEDDLE_N_ACCESSES];
} HeddleReport;

/* Runs the kernel to its end. Several threads may do so on one device and one kernel at once;
 * what their kernels do to shared buffers is theirs to order. `report` may be NULL. Errors:
 * ARGUMENT, MEMORY, BINDING (something the kernel uses is missing), RUN (the kernel reaches for
 * memory that the program does not have; with `check`, any mistake), UNSUPPORTED (the machine lacks
 * what the device's `isa` has). A buffer smaller than HeddleBindingInfo.static_size is a
 * warning. */
HEDDLE_API HeddleResult heddle_dispatch(HeddleKernel *kernel, const HeddleDispatch *dispatch,
                                        HeddleReport *report, HeddleLog *log);

/* What the dispatches of a kernel did on a line of its source. */
typedef struct HeddleLine {
    const char *file;               /* NULL: elsewhere, in functions that the kernel calls, or on
                                     * no line */
    uint32_t line;
    uint64_t samples;               /* HeddleDispatch.sample: looks that found a thread there */
    /* with HeddleKernelOptions.profile: how often a subgroup came to the code of the line (where
     * that is several blocks, as of a loop's head, to each of them), and invocations that did */
    uint64_t executions, invocations;
    uint64_t arithmetic;            /* operations on floating-point numbers besides multiply-adds */
    HeddleStats stats;
    uint64_t accesses[HEDDLE_N_ACCESSES], access_bytes[HEDDLE_N_ACCESSES];
} HeddleLine;

/* Writes at most `room` of them, in no order, and returns how many; where `lines` is NULL, the most
 * that there can be. They are of all dispatches so far, which have ended. Their strings belong to
 * the kernel. */
HEDDLE_API uint32_t heddle_kernel_lines(const HeddleKernel *kernel, HeddleLine *lines,
                                        uint32_t room);

/* A queue of dispatches: they run one after the other, in the order in which they were submitted,
 * while the program goes on. Several threads may submit to one; several queues run side by side. */
typedef struct HeddleQueue HeddleQueue;

/* Errors: ARGUMENT, MEMORY. */
HEDDLE_API HeddleResult heddle_queue_new(HeddleDevice *device, HeddleQueue **out, HeddleLog *log);
/* Waits first. Before its device. */
HEDDLE_API void heddle_queue_free(HeddleQueue *queue);
/* Puts a dispatch at the queue's end, unless something is wrong that can be seen before it runs:
 * ARGUMENT, MEMORY, BINDING. `dispatch`, its bindings and what they point to are copied; the kernel
 * and the buffers must stay until the queue has been waited for, and so must `report`, which is
 * filled in by then and may be NULL. */
HEDDLE_API HeddleResult heddle_queue_submit(HeddleQueue *queue, HeddleKernel *kernel,
                                            const HeddleDispatch *dispatch, HeddleReport *report,
                                            HeddleLog *log);
/* Waits until all that was submitted has run. What the dispatches had to say goes to `log`, in
 * their order; the result is the first one's that failed. A dispatch that fails does not keep those
 * behind it from running. */
HEDDLE_API HeddleResult heddle_queue_wait(HeddleQueue *queue, HeddleLog *log);

/* ==== Arrays: numbers for kernels, from and to files ========================================== */

#define HEDDLE_MAX_RANK 8

/* Row-major and contiguous whatever the file's order was; little-endian like the machine. */
typedef struct HeddleArray {
    HeddleType type;                /* NO_TYPE: raw bytes */
    uint32_t rank;
    uint64_t shape[HEDDLE_MAX_RANK];/* outermost first */
    uint64_t count;                 /* elements: the product of shape; bytes for NO_TYPE */
    uint64_t size;                  /* bytes */
    void *data;                     /* 64-byte aligned; belongs to the array */
} HeddleArray;

/* An array's pages are its own, so that it can be wrapped for kernels that may leave it: it ends
 * with the last one but for less than 64 bytes, and 4 GiB before and behind cannot be accessed
 * (64 KiB where RLIMIT_AS counts them). heddle_dispatch calls such an access an error. */

/* Zeros. `shape` outermost first; rank 0 is one element. Errors: ARGUMENT, MEMORY. */
HEDDLE_API HeddleResult heddle_array_new(HeddleType type, uint32_t rank, const uint64_t *shape,
                                         HeddleArray **out, HeddleLog *log);
/* From a description:
 *     zeros:f32[512,512]      randn:f16[64,128]@7 (normal, seed 7)
 *     iota:s32[16]            rand:f32[8]@1 (uniform in [0, 1))
 *     full:1.5:bf16[4,4]      list:u32:64,64,32
 *     path.npy                @path (raw bytes)
 * rand of integers is uniform over -128..127 (0..255 unsigned) whatever the width; randn of them
 * is rounded. The numbers are the same on every machine. Errors: ARGUMENT (with the place in the
 * text), IO, SOURCE (the file is not what it claims), MEMORY. */
HEDDLE_API HeddleResult heddle_array_from_spec(const char *spec, HeddleArray **out, HeddleLog *log);
HEDDLE_API void heddle_array_free(HeddleArray *array);
/* NumPy's .npy, versions 1 to 3, either order and byte order; bfloat16 and fp8 by ml_dtypes'
 * descriptors. Errors: ARGUMENT, IO, SOURCE, MEMORY. */
HEDDLE_API HeddleResult heddle_array_read(const char *path, HeddleArray **out, HeddleLog *log);
HEDDLE_API HeddleResult heddle_array_parse_npy(const void *bytes, size_t size, const char *name,
                                               HeddleArray **out, HeddleLog *log);
/* Replaces the file only once all is written. Errors: ARGUMENT, IO, MEMORY. */
HEDDLE_API HeddleResult heddle_array_write(const HeddleArray *array, const char *path,
                                           HeddleLog *log);
/* Element i of the flat array as a number; i < count. 64-bit integers may lose their lowest
 * bits. */
HEDDLE_API double heddle_array_get(const HeddleArray *array, uint64_t i);
/* Rounded to the type: nearest even for floating point; truncated and clamped for integers. */
HEDDLE_API void heddle_array_set(HeddleArray *array, uint64_t i, double value);

typedef struct HeddleComparison {
    size_t struct_size;
    uint64_t count, different;      /* elements compared, and beyond the tolerance */
    double max_absolute, max_relative;  /* largest |a - b|, and |a - b| / max(|b|, tiny) */
    double relative_norm;           /* |a - b| / |b| over all, Frobenius */
    uint64_t worst;                 /* flat index of the element furthest beyond the tolerance */
    uint64_t worst_index[HEDDLE_MAX_RANK];  /* the same by dimension */
    double got, expected;           /* there */
} HeddleComparison;

/* Element by element: |got - expected| <= tolerance * (1 + |expected|); NaN equals NaN,
 * infinities only themselves. Types may differ, counts may not. Writes `out` (may be NULL) also
 * on MISMATCH, which is reported as an error that says where and how much. Errors: ARGUMENT
 * (shapes differ), MISMATCH. */
HEDDLE_API HeddleResult heddle_array_compare(const HeddleArray *got, const HeddleArray *expected,
                                             double tolerance, HeddleComparison *out,
                                             HeddleLog *log);

#ifdef __cplusplus
}
#endif
#endif
