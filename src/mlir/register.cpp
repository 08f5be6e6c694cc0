/* SPDX-License-Identifier: MIT
 *
 * The dialects that kernels are made of and the passes that are run, by name: MLIR's C API registers
 * all there are or none, which makes a program with MLIR inside fifteen times as large. Dialects
 * come by that API's handles, each in an archive of its own (cmake/mlir.cmake): with their headers
 * in C++ this file took a compiler half a minute.
 */
#include <mlir/CAPI/IR.h>
#include <mlir/Conversion/AffineToStandard/AffineToStandard.h>
#include <mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h>
#include <mlir/Conversion/GPUToSPIRV/GPUToSPIRVPass.h>
#include <mlir/Conversion/MathToSPIRV/MathToSPIRVPass.h>
#include <mlir/Dialect/Arith/Transforms/Passes.h>
#include <mlir/Dialect/Func/Extensions/InlinerExtension.h>
#include <mlir/Dialect/GPU/Transforms/Passes.h>
#include <mlir/Dialect/Math/Transforms/Passes.h>
#include <mlir/Dialect/MemRef/Transforms/Passes.h>
#include <mlir/Dialect/SPIRV/Transforms/Passes.h>
#include <mlir/Pass/Pass.h>
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Target/SPIRV/Target.h>
#include <mlir/Transforms/Passes.h>

using namespace mlir;

/* What kernels are made of, and, behind them, what a program around kernels may be made of, which
 * is read and left out. */
#define DIALECTS(x)                                                                                 \
    x(affine) x(arith) x(cf) x(complex) x(func) x(gpu) x(index) x(math) x(memref) x(scf) x(spirv)   \
    x(tensor) x(ub) x(vector)                                                                       \
    x(async) x(bufferization) x(linalg) x(llvm) x(nvgpu) x(nvvm) x(shape) x(transform)

extern "C" {
#define DECLARE(name) MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(, name);
DIALECTS(DECLARE)
}

extern "C" void register_dialects(MlirDialectRegistry registry)
{
#define INSERT(name) mlirDialectHandleInsertDialect(mlirGetDialectHandle__##name##__(), registry);
    DIALECTS(INSERT)
    DialectRegistry *r = unwrap(registry);
    func::registerInlinerExtension(*r);
    spirv::registerSPIRVTargetInterfaceExternalModels(*r);
}

extern "C" void register_passes(void)
{
    registerPass([] { return arith::createArithEmulateUnsupportedFloats(); });
    registerPass([] { return createConvertGPUToSPIRVPass(); });
    registerPass([] { return createConvertMathToSPIRVPass(); });
    registerPass([] { return createCSEPass(); });
    registerPass([] { return createGpuKernelOutliningPass(); });
    registerPass([] { return createGpuLaunchSinkIndexComputationsPass(); });
    registerPass([] { return createGpuModuleToBinaryPass(); });
    registerPass([] { return createInlinerPass(); });
    registerPass([] { return createLiftControlFlowToSCFPass(); });
    registerPass([] { return createLowerAffinePass(); });
    registerPass([] { return math::createMathExtendToSupportedTypes(); });
    registerPass([] { return memref::createFoldMemRefAliasOpsPass(); });
    registerPass([] { return spirv::createSPIRVLowerABIAttributesPass(); });
    registerPass([] { return spirv::createSPIRVUpdateVCEPass(); });
}
