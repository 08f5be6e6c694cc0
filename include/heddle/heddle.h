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
 * - Structs grow at their end from one version to the next. `struct_size` says how large a struct
 *   is: whoever makes one sets it to sizeof the struct, or leaves 0, which stands for the size that
 *   it had in 0.2. The library reads the fields that a smaller struct lacks as zeros, and refuses a
 *   larger one only if a field that it does not know is set. Structs that the library hands out
 *   state their size in the same way. Structs without `struct_size`, which are elements of arrays,
 *   never change.
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
 *   array belong to one thread at a time. Nothing here prints, exits or aborts, except that
 *   heddle_print_to_stderr prints.
 * - Objects share no state, but some things belong to the whole process. While there is a device of
 *   kind HEDDLE_DEVICE_CPU, handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL end a kernel that
 *   faults, and pass every other signal on to the handlers that were there before
 *   (HeddleDeviceOptions.no_signal_handlers does without them). Compiling installs LLVM's handler
 *   of fatal errors, which leaves errors of other users of the same LLVM to their own handlers.
 *   While a dispatch is sampled or watched (HeddleDispatch.sample, watchdog), there is a handler of
 *   SIGPROF.
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
    HEDDLE_ERROR_UNSUPPORTED = -6,  /* the kernel is valid, but needs something that the device
                                     * lacks */
    HEDDLE_ERROR_BINDING = -7,      /* a buffer or the push constants that the kernel uses are
                                     * missing */
    HEDDLE_ERROR_RUN = -8,          /* the kernel failed while it ran: it accessed memory that does
                                     * not exist or divided by zero; with
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

/* Collects diagnostics, and passes each to a callback as soon as it arises. */
typedef struct HeddleLog HeddleLog;

/* Called on the thread that made the failing call, before that call returns. The diagnostic's
 * strings are valid during the callback, which must not free the log. */
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
    HEDDLE_DEVICE_VULKAN,           /* any Vulkan 1.1 driver of the system; matrix operations that
                                     * the driver lacks are lowered */
    HEDDLE_DEVICE_CUDA,             /* an NVIDIA GPU of compute capability 8.0 or later, through
                                     * NVIDIA's driver (libcuda.so.1) */
    HEDDLE_N_DEVICE_KINDS
} HeddleDeviceKind;

/* "cpu", "reference", "vulkan", "cuda": what the command line calls the kind; NULL if there is no
 * such kind. Static. */
HEDDLE_API const char *heddle_device_kind_name(HeddleDeviceKind kind);
/* How many devices of the kind this machine has. */
HEDDLE_API uint32_t heddle_device_count(HeddleDeviceKind kind);

typedef struct HeddleDeviceOptions {
    size_t struct_size;
    HeddleDeviceKind kind;
    uint32_t ordinal;               /* which one of the kind, from 0 */
    uint32_t threads;               /* worker threads; 0 = one per core */
    const char *isa;                /* CPU: generate for "x86-64-v2", "-v3", "-v4", "cooperlake",
                                     * "znver4", "alderlake", "arrowlake", "sapphirerapids",
                                     * "graniterapids", "armv8", "armv8.2",
                                     * "armv8.6"; NULL or "host" = all that this machine has.
                                     * Kernels that need what it lacks can be compiled and
                                     * shown, but not dispatched */
    bool no_signal_handlers;        /* CPU: let a kernel that faults end the program */
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
                                     * "avx512vnni"; VULKAN: extensions that are used */
    uint32_t n_features;
    uint32_t threads;
    uint32_t vector_bits;           /* of the vectors the machine code uses; 0 for the
                                     * interpreter */
    const uint32_t *subgroup_sizes; /* ascending */
    uint32_t n_subgroup_sizes;
    uint32_t default_subgroup_size;
    const char *const *extensions;  /* SPIR-V extensions understood, sorted */
    uint32_t n_extensions;
    const char *driver;             /* "lavapipe Mesa 22.3.6, Vulkan 1.3.230"; "" where the device
                                     * needs no driver */
    uint64_t memory;                /* bytes of the device's own memory; 0: it uses the host's */
    const char *const *levels;      /* CPU: what options->isa can name and the machine runs */
    uint32_t n_levels;
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

/* The largest number of rows, and of columns, of a matrix of any scope. */
enum { HEDDLE_MATRIX_MOST = 1024 };
/* The shapes that the device reports, the preferred one first (heddle's own devices run all others
 * up to HEDDLE_MATRIX_MOST as well). Writes their count to *count. They belong to the device. In
 * all five functions of this section `device` may be NULL, which stands for HEDDLE_DEVICE_CPU. */
HEDDLE_API const HeddleMatrixShape *heddle_matrix_shapes(const HeddleDevice *device, size_t *count);

/* Multiply-adds whose m, n and k are any multiples of these, up to 1024 each
 * (VK_NV_cooperative_matrix2's flexible dimensions). */
typedef struct HeddleFlexibleShape {
    uint32_t m, n, k;
    HeddleType a, b, c, result;
    bool saturating;
    HeddleScope scope;
    uint32_t workgroup;             /* workgroup scope: the workgroup's invocations; else 0 */
} HeddleFlexibleShape;

/* The flexible shapes that the device reports, likewise. */
HEDDLE_API const HeddleFlexibleShape *heddle_flexible_shapes(const HeddleDevice *device,
                                                             size_t *count);

/* A matrix that a subgroup holds. */
typedef struct HeddleMatrixLayout {
    size_t struct_size;
    uint32_t rows, columns;
    HeddleType type;                /* these two matter where the hardware has layouts of its own */
    HeddleUse use;
    uint32_t subgroup_size;
} HeddleMatrixLayout;

/* How many elements one invocation holds, as OpCooperativeMatrixLengthKHR returns it. (In the last
 * invocations, some of these may lie outside the matrix.) 0 if a size is 0. */
HEDDLE_API uint32_t heddle_matrix_length(const HeddleDevice *device,
                                         const HeddleMatrixLayout *matrix);
/* The row and column of element `element` of invocation `lane`. False, and nothing is written, if
 * that element does not exist. */
HEDDLE_API bool heddle_matrix_position(const HeddleDevice *device, const HeddleMatrixLayout *matrix,
                                       uint32_t lane, uint32_t element, uint32_t *row,
                                       uint32_t *column);
/* The inverse: which invocation holds (row, column), and as which element. False, and nothing is
 * written, outside the matrix. */
HEDDLE_API bool heddle_matrix_owner(const HeddleDevice *device, const HeddleMatrixLayout *matrix,
                                    uint32_t row, uint32_t column, uint32_t *lane,
                                    uint32_t *element);

/* ==== Modules ================================================================================= */

typedef enum HeddleLanguage {
    HEDDLE_LANGUAGE_AUTO,           /* recognised by the content, else by the name */
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
    bool unchecked;                 /* skip the checks that need types, to look at broken
                                     * modules */
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
    bool keep_variables;            /* OpenCL C, not opencl_to_vulkan: keep variables for debuggers
                                     * (for other languages, HeddleKernelOptions.debug with
                                     * no_optimisation does so); also by HEDDLE_DEBUG=variables */
} HeddleModuleOptions;

typedef struct HeddleModule HeddleModule;

/* `name` is what diagnostics call the module, usually its path; files that GLSL includes are looked
 * for beside it first. `data` is not needed after the call. The whole module is read and checked,
 * and all its mistakes are in the log. Errors: ARGUMENT, MEMORY, TOOL, SOURCE, IO. */
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
/* Its assembly as a new string, to be freed by free(); with `names`, ids are named as in the
 * source. NULL when out of memory. */
HEDDLE_API char *heddle_module_disassemble(const HeddleModule *module, bool names);
/* How many loads of matrices the text of an MLIR module contains before and after
 * options.rotate_loads; 0 for modules in other languages. */
HEDDLE_API void heddle_module_matrix_loads(const HeddleModule *module, uint32_t *before,
                                           uint32_t *after);

typedef enum HeddleMlirForm {
    HEDDLE_MLIR_REWRITTEN,          /* heddle's rewrites done, MLIR's conversions not yet */
    HEDDLE_MLIR_LOWERED,            /* the spirv.module */
    HEDDLE_N_MLIR_FORMS
} HeddleMlirForm;

/* An MLIR file ("-": standard input) in another form, as a new string to be freed by free().
 * Errors: ARGUMENT, MEMORY, TOOL, SOURCE, IO. */
HEDDLE_API HeddleResult heddle_mlir_from_file(const char *path, const HeddleModuleOptions *options,
                                              HeddleMlirForm form, char **text, HeddleLog *log);

typedef enum HeddleOpenclForm {
    HEDDLE_OPENCL_AST,              /* the typed tree, one line per node */
    HEDDLE_OPENCL_LLVM,             /* the LLVM IR that becomes SPIR-V */
    HEDDLE_N_OPENCL_FORMS
} HeddleOpenclForm;

/* A file of OpenCL C ("-": standard input) in another form, as a new string to be freed by free().
 * Errors: ARGUMENT, MEMORY, SOURCE, IO. */
HEDDLE_API HeddleResult heddle_opencl_from_file(const char *path,
                                                const HeddleModuleOptions *options,
                                                HeddleOpenclForm form, char **text, HeddleLog *log);
/* ---- reflection: what a kernel needs ---- */

typedef enum HeddleBindingKind {
    HEDDLE_BINDING_STORAGE,
    HEDDLE_BINDING_UNIFORM,
    HEDDLE_BINDING_VALUE,           /* an OpenCL kernel's argument that is not a pointer */
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
    const char *name;               /* in the source: the variable's, else that of its block's only
                                     * member, else its block's, else "" */
    bool written;                   /* false: the kernel only reads it */
    uint64_t static_size;           /* bytes that hold every access whose place the kernel's text
                                     * fixes; for a value, its size */
    HeddleType element;             /* the type of the (first) array in it; NO_TYPE if that is not
                                     * an array of numbers */
    uint32_t element_stride;        /* bytes from one of these elements to the next, or 0 */
} HeddleBindingInfo;

typedef struct HeddleSpecInfo {
    uint32_t id;                    /* SpecId */
    const char *name;               /* in the source, or "" */
    HeddleType type;
    uint64_t bits;                  /* the value in the type's width: a module's default, or the one
                                     * that a kernel was made with */
} HeddleSpecInfo;

typedef struct HeddleMatrixInfo {   /* a matrix type that the kernel declares */
    uint32_t rows, columns;         /* 0 if a specialisation constant decides that is not known
                                     * yet */
    HeddleType type;
    HeddleUse use;
    HeddleScope scope;
} HeddleMatrixInfo;

typedef struct HeddleKernelInfo {
    size_t struct_size;
    const char *entry;
    bool opencl;                    /* an OpenCL kernel: its bindings are its arguments */
    uint32_t local_size[3];         /* invocations of a workgroup; 0 where the dispatch decides */
    uint32_t subgroup_size;         /* for a module: the one that the kernel requires, or 0 */
    uint64_t push_size;             /* bytes of push constants; 0 = none */
    uint64_t shared_size;           /* workgroup memory */
    uint32_t n_bindings, n_specs, n_matrices;
    const HeddleBindingInfo *bindings;  /* by set, then binding */
    const HeddleSpecInfo *specs;        /* by id */
    const HeddleMatrixInfo *matrices;   /* in the order of declaration */
    /* of a kernel, if the device knows (CUDA); else 0 */
    uint32_t registers;             /* per invocation */
    uint64_t private_size;          /* bytes per invocation: arrays, and what registers cannot
                                     * hold */
    uint32_t resident_groups;       /* how many workgroups a multiprocessor runs at once */
} HeddleKernelInfo;

HEDDLE_API uint32_t heddle_module_n_entry_points(const HeddleModule *module);
/* The i-th compute entry point, with default specialisation; NULL past the end. */
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
    uint32_t subgroup_size;         /* 0 if it is not known */
} HeddlePipelineOptions;

/* Builds software pipelines into the loops that ask for wait queues
 * (SPV_QCOM_multiple_wait_queues), for drivers that do not support these: such a loop loads its
 * data into registers as many iterations ahead as it asks for queues, 2 for "as many as there are".
 * The new module computes the same, bit for bit, and neither asks for wait queues nor declares the
 * extension. Of its entry points only the chosen one is left, inlined and specialised, without
 * debug information. Errors: ARGUMENT, MEMORY, SOURCE. */
HEDDLE_API HeddleResult heddle_module_pipeline(const HeddleModule *module,
                                               const HeddlePipelineOptions *options,
                                               HeddleModule **out, HeddleLog *log);

typedef struct HeddleLoopInfo {     /* a loop that asked for wait queues */
    const char *file;               /* NULL when unknown */
    uint32_t line;                  /* from 1; 0 when unknown */
    uint32_t wait_queues;           /* how many iterations it loads ahead */
    uint32_t loads;                 /* its loads of matrices and from buffers */
    uint32_t ahead;                 /* how many of these are now ahead; 0: the loop is unchanged */
    const char *reason;             /* why not all of them; "" if all are. Static */
} HeddleLoopInfo;

/* What heddle_module_pipeline did to make the module; none for other modules. Belongs to the
 * module. */
HEDDLE_API const HeddleLoopInfo *heddle_module_loops(const HeddleModule *module, uint32_t *n);

typedef struct HeddleLowerOptions {
    const char *profile;            /* the target's: JSON as described in
                                     * share/profiles/README.md */
    size_t profile_size;
    const char *profile_name;       /* what diagnostics call it; may be NULL */
    const char *entry;              /* NULL = the only entry point */
    const HeddleSpecValue *specs;
    uint32_t n_specs;
    uint32_t subgroup_size;         /* that the kernel is written for; 0 = the target's, or what
                                     * Qualcomm's conversions have arrays of */
} HeddleLowerOptions;

/* Rewrites the module for a target that lacks something the module asks for: cooperative matrices
 * and their extensions are expressed in the SPIR-V that the target knows. Of the entry points only
 * the chosen one is left, specialised. Its kernels run in subgroups of the size that it was lowered
 * for. Errors: ARGUMENT, MEMORY, SOURCE (of the module or the profile). */
HEDDLE_API HeddleResult heddle_module_lower(const HeddleModule *module,
                                            const HeddleLowerOptions *options, HeddleModule **out,
                                            HeddleLog *log);

typedef struct HeddleLowering {     /* instructions that were replaced */
    const char *instruction;        /* "OpCooperativeMatrixMulAddKHR" */
    uint32_t count;
    const char *pass, *how;         /* which pass replaced them, and by what. Static */
} HeddleLowering;

/* What heddle_module_lower did to make the module; none for other modules. Belongs to the
 * module. */
HEDDLE_API const HeddleLowering *heddle_module_lowerings(const HeddleModule *module, uint32_t *n);

typedef enum HeddleEmit {
    HEDDLE_EMIT_NOTHING,
    HEDDLE_EMIT_SPIRV,              /* binary, after heddle's passes */
    HEDDLE_EMIT_LLVM,               /* LLVM IR, optimised */
    HEDDLE_EMIT_LLVM_PLAIN,         /* LLVM IR as generated */
    HEDDLE_EMIT_NATIVE,             /* assembly of the machine */
    HEDDLE_EMIT_OBJECT,             /* a relocatable object */
} HeddleEmit;

/* How much work goes into a kernel's machine code. Only cpu has tiers; other devices ignore
 * them. */
typedef enum HeddleTier {
    /* A large kernel is compiled fast at first. Once it has run for as long as that took, it is
     * compiled again in the background, and later dispatches run the better code. So it is with a
     * kernel whose workgroup's size is left to its dispatches, for a few of the sizes that it runs
     * with. Other kernels are compiled as by FULL. HEDDLE_TIER=fast or full in the environment
     * takes AUTO's place. */
    HEDDLE_TIER_AUTO,
    HEDDLE_TIER_FAST,               /* compiled fast, and never again */
    HEDDLE_TIER_FULL,
} HeddleTier;

typedef struct HeddleKernelOptions {
    size_t struct_size;
    const char *entry;              /* NULL = the only entry point */
    const HeddleSpecValue *specs;
    uint32_t n_specs;
    uint32_t subgroup_size;         /* 8, 16, 32, 64, 128; 0 = the one that the kernel asks for,
                                     * else the device's default (on cpu more or fewer, where the
                                     * kernel cannot tell and that is faster) */
    /* For kernels that leave their size open (OpenCL), or leave it to constants that `specs` does
     * not name. For any other kernel it must be the kernel's own. 0 = the kernel's. */
    uint32_t local_size[3];
    /* Accesses outside buffers, workgroup memory and private memory read 0 and write nothing;
     * indices into arrays of buffers are clamped to the last buffer that is bound. This does not
     * cover buffer references, whose addresses the kernel computes itself. OpenCL kernels, where
     * every pointer is one, are therefore refused on HEDDLE_DEVICE_CPU. */
    bool robust;
    bool check;                     /* reference: look for mistakes while running */
    bool check_portability;         /* also: results that depend on element ownership or subgroup
                                     * size */
    bool stats;                     /* count for HeddleReport.stats; a few percent slower */
    bool no_optimisation;
    HeddleEmit emit;                /* keep that form for heddle_kernel_text */
    /* Turns robust access off on HEDDLE_DEVICE_CUDA, too, where it is the default for shaders,
     * because one access outside all memory makes the GPU useless to the process from then on. */
    bool no_robust;
    /* Keeps the source's lines for debuggers, profilers and reports of faults and, on
     * HEDDLE_DEVICE_CPU with no_optimisation, its variables. HEDDLE_DEBUG=1 or =variables in the
     * environment does the same for every kernel (docs/DEBUGGING.md). */
    bool debug;
    /* Computes divisions, square roots, exponentials and binary logarithms of shaders as
     * HEDDLE_DEVICE_CPU does, even if the device has faster ones that are as precise as Vulkan
     * requires (HEDDLE_DEVICE_CUDA). Divisions that the kernel declares `precise` are always
     * exact. */
    bool exact;
    bool profile;                   /* cpu: count line by line, for heddle_kernel_lines and
                                     * HeddleReport; much slower where lines are short. Implies
                                     * stats and debug */
    bool remarks;                   /* cpu: collect what heddle_kernel_remarks returns */
    HeddleTier tier;                /* AUTO means FULL if there are remarks, counts, a profile or a
                                     * form (other than an object) to make */
} HeddleKernelOptions;

typedef struct HeddleKernel HeddleKernel;

/* Compiles; heddle_kernel_seconds tells how long that took. Where HEDDLE_CACHE in the environment
 * names a folder, a kernel that an earlier process compiled alike, on such a device and by this
 * build of the library, comes from there (not where there are forms to make, things to count or
 * remarks to collect). Files of that folder are trusted as programs are. Errors: ARGUMENT, MEMORY,
 * SOURCE (also: an instruction that the device cannot carry out, which is named), UNSUPPORTED
 * (`check` on the cpu device, `emit` on the reference device, a subgroup size that the device
 * lacks). */
HEDDLE_API HeddleResult heddle_kernel_new(HeddleDevice *device, const HeddleModule *module,
                                          const HeddleKernelOptions *options, HeddleKernel **out,
                                          HeddleLog *log);
HEDDLE_API void heddle_kernel_free(HeddleKernel *kernel);
/* After specialisation: sizes and shapes are final. Belongs to the kernel. */
HEDDLE_API const HeddleKernelInfo *heddle_kernel_info(const HeddleKernel *kernel);
/* Which of the kernel's instructions the device lacks, and what replaces them; none if it has all.
 * Belongs to the kernel. */
HEDDLE_API const HeddleLowering *heddle_kernel_lowerings(const HeddleKernel *kernel, uint32_t *n);
/* The form that options->emit asked for, or NULL. Binary forms may contain NUL. */
HEDDLE_API const void *heddle_kernel_text(const HeddleKernel *kernel, size_t *size);
/* The code generator's remark on a line: why it is slow. */
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
    HEDDLE_PLACEMENT_HOST,          /* where the program can access it: heddle_buffer_data */
    HEDDLE_PLACEMENT_DEVICE,        /* where kernels access it fastest, though the program may not
                                     * be able to; the same if the device uses the host's memory */
    HEDDLE_N_PLACEMENTS
} HeddlePlacement;

/* Zero-filled. On heddle's own devices it is aligned to a page (of 2 MiB from that size on) and
 * enclosed by 64 KiB on either side that cannot be accessed. Errors: ARGUMENT (size 0), MEMORY. */
HEDDLE_API HeddleResult heddle_buffer_new(HeddleDevice *device, uint64_t size, HeddleBuffer **out,
                                          HeddleLog *log);
/* The same in the given placement; heddle_buffer_new uses HEDDLE_PLACEMENT_HOST. */
HEDDLE_API HeddleResult heddle_buffer_new_placed(HeddleDevice *device, uint64_t size,
                                                 HeddlePlacement placement, HeddleBuffer **out,
                                                 HeddleLog *log);
/* The caller's memory, in place: kernels read and write `data` itself, which must outlive the
 * buffer. It must be aligned to 16 bytes; 64 are better. Errors: ARGUMENT (NULL, size 0,
 * misaligned), MEMORY, UNSUPPORTED (the device cannot access the program's memory). */
HEDDLE_API HeddleResult heddle_buffer_wrap(HeddleDevice *device, void *data, uint64_t size,
                                           HeddleBuffer **out, HeddleLog *log);
/* Memory of the device itself that another library of the process has allocated, by its address
 * there (a CUdeviceptr), in place: it must outlive the buffer. The program can access it only as it
 * can buffers of HEDDLE_PLACEMENT_DEVICE. The call waits for the work that CUDA's default stream
 * was given before. The address must be aligned to 16 bytes. Errors: ARGUMENT (no address, size 0,
 * misaligned, not memory of this device), MEMORY, RUN (the device failed), UNSUPPORTED (kernels of
 * this device use the program's memory: heddle_buffer_wrap). */
HEDDLE_API HeddleResult heddle_buffer_wrap_address(HeddleDevice *device, uint64_t address,
                                                   uint64_t size, HeddleBuffer **out,
                                                   HeddleLog *log);
/* Frees what heddle_buffer_new allocated; leaves the caller's memory alone. */
HEDDLE_API void heddle_buffer_free(HeddleBuffer *buffer);
/* Copy bytes out of and into the buffer, wherever it lies, while no dispatch that uses it is
 * running. Errors: ARGUMENT (NULL, outside the buffer), RUN (the device failed). */
HEDDLE_API HeddleResult heddle_buffer_read(const HeddleBuffer *buffer, uint64_t offset, void *data,
                                           uint64_t size, HeddleLog *log);
HEDDLE_API HeddleResult heddle_buffer_write(HeddleBuffer *buffer, uint64_t offset, const void *data,
                                            uint64_t size, HeddleLog *log);
/* The memory itself, which may be used while no dispatch that uses the buffer is running. NULL if
 * the program cannot access it, which never happens with HEDDLE_PLACEMENT_HOST or wrapped memory of
 * the caller's. */
HEDDLE_API void *heddle_buffer_data(const HeddleBuffer *buffer);
HEDDLE_API uint64_t heddle_buffer_size(const HeddleBuffer *buffer);
/* The buffer's address for a kernel's physical pointers (GL_EXT_buffer_reference), which may point
 * into any buffer of the kernel's device, bound or not. */
HEDDLE_API uint64_t heddle_buffer_address(const HeddleBuffer *buffer);

/* ==== Dispatch ================================================================================ */

typedef struct HeddleBinding {
    uint32_t set, binding, index;   /* index: in an array of buffers */
    HeddleBuffer *buffer;           /* NULL for values and workgroup memory */
    uint64_t offset;                /* multiple of 16 */
    uint64_t size;                  /* 0 = to the buffer's end; or the size of the value or of the
                                     * workgroup memory */
    const void *value;              /* for HEDDLE_BINDING_VALUE */
} HeddleBinding;

typedef struct HeddleDispatch {
    size_t struct_size;
    uint32_t groups[3];             /* workgroups in x, y, z; a 0 means 1 */
    uint32_t base_group[3];         /* added to the workgroup's id */
    /* OpenCL kernels: the number of invocations, instead of groups. If it is not a multiple of the
     * workgroup's size, the last workgroups are smaller; a kernel compiled for one size refuses
     * that */
    uint32_t global_size[3];
    uint32_t global_offset[3];      /* OpenCL kernels: added to the invocation's id */
    uint32_t local_size[3];         /* OpenCL kernels that leave it open; 0 = heddle chooses */
    const HeddleBinding *bindings;  /* in any order; those that the kernel does not use are
                                     * ignored */
    uint32_t n_bindings;
    const void *push;               /* push constants; needs 4-byte alignment */
    size_t push_size;
    uint32_t max_threads;           /* 0 = all of the device */
    int interleave;                 /* how many workgroups take turns on a core: 0 = heddle decides,
                                     * 1 = no turns, 16 = 4x4 */
    uint64_t seed;                  /* reference: of the order in which invocations run */
    uint64_t budget;                /* reference: how many instructions an invocation may run before
                                     * it counts as endless; 0 = 2^26 */
    /* Called for each printf of an OpenCL kernel, on any thread but never twice at once; NULL: what
     * is printed is dropped */
    void (*print)(void *user, const char *text, size_t length);
    void *print_user;
    /* With `check`: report each mistake when it is first seen, and add a note at the end that says
     * how often it occurred. Otherwise all are reported at the end. */
    bool live;
    /* reference: once the value it points to is not 0 (a signal handler may set it), the dispatch
     * ends with an error that says where it was. May be NULL */
    const volatile int *stop;
    /* reference: called after every workgroup; may be NULL */
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *progress_user;
    /* cpu: seconds between two samples of where each thread is in a kernel with `debug`, for
     * heddle_kernel_lines; 0: none are taken */
    double sample;
    /* cpu: how many seconds of processor time a subgroup of a kernel with `debug` may take before
     * it counts as endless, which ends the dispatch like a fault. vulkan: how many seconds the
     * dispatch may take before the device counts as lost. 0: no limit */
    double watchdog;
} HeddleDispatch;

/* The workgroup size that a dispatch of so many invocations of an OpenCL kernel gets unless one is
 * chosen: 64 to 128 invocations, if such a number divides them. A kernel that is compiled for that
 * size (HeddleKernelOptions.local_size) is faster than one that leaves it open. */
HEDDLE_API void heddle_local_size(const uint32_t global_size[3], uint32_t local_size[3]);

/* Dynamic counts; an operation of a whole subgroup counts once. All are 0 without
 * HeddleKernelOptions.stats, and on HEDDLE_DEVICE_VULKAN and HEDDLE_DEVICE_CUDA.
 * HEDDLE_DEVICE_REFERENCE counts everything except yields and bytes_moved. */
typedef struct HeddleStats {
    uint64_t matrix_loads, matrix_stores;
    uint64_t muladds;               /* matrix multiply-adds */
    uint64_t flops;                 /* 2*m*n*k of each */
    uint64_t conversions;           /* matrix to matrix, matrix to and from vectors */
    uint64_t barriers, yields;
    uint64_t bytes_loaded, bytes_stored;
    uint64_t bytes_moved;           /* between layouts, in registers or private memory */
} HeddleStats;

/* How a subgroup accesses buffers, push constants and workgroup memory, other than by loads and
 * stores of matrices: by one access for all invocations, by a vector of adjacent elements, by such
 * a vector with some lanes masked out, or lane by lane. HEDDLE_DEVICE_CPU counts what its code
 * does, which was generated before the addresses were known; HEDDLE_DEVICE_REFERENCE judges by the
 * actual addresses, and counts each load, store or atomic of the module once. */
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
    double start, end;              /* on a clock of the device's, whose zero means nothing */
    HeddleStats stats;
    /* operands of multiply-adds that were packed for several workgroups, and how often a packed one
     * was used again */
    uint64_t panels_packed, panels_shared;
    uint64_t bytes_copied;          /* between the program's memory and the device's */
    /* indexed by HeddleAccess, for kernels with HeddleKernelOptions.stats: the number of accesses,
     * and the bytes of the lanes that took part */
    bool counts_accesses;           /* whether the device counts these */
    uint64_t accesses[HEDDLE_N_ACCESSES], access_bytes[HEDDLE_N_ACCESSES];
} HeddleReport;

/* Runs the kernel to its end. Several threads may do so with one device and one kernel at once;
 * ordering their accesses to shared buffers is up to them. `report` may be NULL. Errors: ARGUMENT,
 * MEMORY, BINDING (something that the kernel uses is missing), RUN (the kernel accesses memory that
 * the program does not have; with `check`, any mistake), UNSUPPORTED (the machine lacks part of the
 * device's `isa`). A buffer smaller than HeddleBindingInfo.static_size gets a warning. */
HEDDLE_API HeddleResult heddle_dispatch(HeddleKernel *kernel, const HeddleDispatch *dispatch,
                                        HeddleReport *report, HeddleLog *log);

/* What the dispatches of a kernel did on a line of its source. */
typedef struct HeddleLine {
    const char *file;               /* NULL: code without a line, or of functions that the kernel
                                     * calls elsewhere */
    uint32_t line;
    uint64_t samples;               /* HeddleDispatch.sample: how many found a thread there */
    /* with HeddleKernelOptions.profile: how often a subgroup ran the line's code (if that consists
     * of several blocks, like a loop's head, the sum over these), and how many invocations did */
    uint64_t executions, invocations;
    uint64_t arithmetic;            /* floating-point operations other than multiply-adds */
    HeddleStats stats;
    uint64_t accesses[HEDDLE_N_ACCESSES], access_bytes[HEDDLE_N_ACCESSES];
} HeddleLine;

/* Writes at most `room` lines, in no particular order, and returns how many; if `lines` is NULL, it
 * returns how many there can be at most. They cover all dispatches so far, which must have ended.
 * Their strings belong to the kernel. */
HEDDLE_API uint32_t heddle_kernel_lines(const HeddleKernel *kernel, HeddleLine *lines,
                                        uint32_t room);

/* A queue of dispatches: they run one after the other, in the order in which they were submitted,
 * while the program goes on. Several threads may submit to one; several queues run side by side. */
typedef struct HeddleQueue HeddleQueue;

/* Errors: ARGUMENT, MEMORY. */
HEDDLE_API HeddleResult heddle_queue_new(HeddleDevice *device, HeddleQueue **out, HeddleLog *log);
/* Waits first. A queue must be freed before its device. */
HEDDLE_API void heddle_queue_free(HeddleQueue *queue);
/* Appends a dispatch to the queue. Mistakes that can be seen before it runs are errors at once:
 * ARGUMENT, MEMORY, BINDING. `dispatch`, its bindings and what they point to are copied; the
 * kernel, the buffers and `report` must exist until heddle_queue_wait returns, which is when
 * `report` (it may be NULL) has been filled in. */
HEDDLE_API HeddleResult heddle_queue_submit(HeddleQueue *queue, HeddleKernel *kernel,
                                            const HeddleDispatch *dispatch, HeddleReport *report,
                                            HeddleLog *log);
/* Waits until everything that was submitted has run. The dispatches' diagnostics go to `log`, in
 * their order; the result is that of the first one that failed. A dispatch that fails does not keep
 * later ones from running. */
HEDDLE_API HeddleResult heddle_queue_wait(HeddleQueue *queue, HeddleLog *log);

/* ==== Arrays: numbers for kernels, from and to files ========================================== */

#define HEDDLE_MAX_RANK 8

/* Row-major and contiguous, whatever the file's order was, and little-endian like the machine. */
typedef struct HeddleArray {
    HeddleType type;                /* NO_TYPE: raw bytes */
    uint32_t rank;
    uint64_t shape[HEDDLE_MAX_RANK];/* outermost first */
    uint64_t count;                 /* elements: the product of shape; bytes for NO_TYPE */
    uint64_t size;                  /* bytes */
    void *data;                     /* 64-byte aligned; belongs to the array */
} HeddleArray;

/* An array has pages of its own, so that kernels which may run past its ends can use it safely. It
 * ends less than 64 bytes before the end of its last page, and 4 GiB before and behind it cannot be
 * accessed (64 KiB where RLIMIT_AS counts them). heddle_dispatch reports such an access as an
 * error. */

/* Zeros. `shape` outermost first; rank 0 is one element. Errors: ARGUMENT, MEMORY. */
HEDDLE_API HeddleResult heddle_array_new(HeddleType type, uint32_t rank, const uint64_t *shape,
                                         HeddleArray **out, HeddleLog *log);
/* From a description, which is one of
 *     zeros:f32[512,512]      randn:f16[64,128]@7 (normal, seed 7)
 *     iota:s32[16]            rand:f32[8]@1 (uniform in [0, 1))
 *     full:1.5:bf16[4,4]      list:u32:64,64,32
 *     path.npy                @path (raw bytes)
 * rand of integers is uniform over -128..127 (unsigned: 0..255) whatever their width; randn of
 * integers is rounded. The numbers are the same on every machine. Errors: ARGUMENT (with the place
 * in the text), IO, SOURCE (the file is not what it claims to be), MEMORY. */
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
    double got, expected;           /* the values of that element */
} HeddleComparison;

/* Element by element: |got - expected| <= tolerance * (1 + |expected|); NaN equals NaN,
 * infinities only themselves. Types may differ, counts may not. Also writes `out` (which may be
 * NULL) on MISMATCH, which is reported as an error that says where and by how much the arrays
 * differ. Errors: ARGUMENT (shapes differ), MISMATCH. */
HEDDLE_API HeddleResult heddle_array_compare(const HeddleArray *got, const HeddleArray *expected,
                                             double tolerance, HeddleComparison *out,
                                             HeddleLog *log);

#ifdef __cplusplus
}
#endif
#endif
