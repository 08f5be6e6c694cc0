/* SPDX-License-Identifier: MIT
 *
 * The dialects that kernels are made of and the passes that are run, by name: MLIR's C API registers
 * all there are or none, which makes a program with MLIR inside fifteen times as large.
 */
#include <mlir/CAPI/IR.h>
#include <mlir/Conversion/AffineToStandard/AffineToStandard.h>
#include <mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h>
#include <mlir/Conversion/GPUToSPIRV/GPUToSPIRVPass.h>
#include <mlir/Conversion/MathToSPIRV/MathToSPIRVPass.h>
#include <mlir/Dialect/Affine/IR/AffineOps.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Arith/Transforms/Passes.h>
#include <mlir/Dialect/Async/IR/Async.h>
#include <mlir/Dialect/Bufferization/IR/Bufferization.h>
#include <mlir/Dialect/Complex/IR/Complex.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/Func/Extensions/InlinerExtension.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/GPU/IR/GPUDialect.h>
#include <mlir/Dialect/GPU/Transforms/Passes.h>
#include <mlir/Dialect/Index/IR/IndexDialect.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/LLVMIR/NVVMDialect.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Math/Transforms/Passes.h>
#include <mlir/Dialect/MemRef/IR/MemRef.h>
#include <mlir/Dialect/MemRef/Transforms/Passes.h>
#include <mlir/Dialect/NVGPU/IR/NVGPUDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/SPIRV/IR/SPIRVDialect.h>
#include <mlir/Dialect/SPIRV/Transforms/Passes.h>
#include <mlir/Dialect/Shape/IR/Shape.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/Dialect/Transform/IR/TransformDialect.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/Pass/Pass.h>
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Target/SPIRV/Target.h>
#include <mlir/Transforms/Passes.h>

using namespace mlir;

/* Of what a program around kernels may be made of, which is read and left out. */
static void register_host(DialectRegistry *r)
{
    r->insert<async::AsyncDialect, bufferization::BufferizationDialect, linalg::LinalgDialect,
              LLVM::LLVMDialect, nvgpu::NVGPUDialect, NVVM::NVVMDialect, shape::ShapeDialect,
              transform::TransformDialect>();
}

extern "C" void register_dialects(MlirDialectRegistry registry)
{
    DialectRegistry *r = unwrap(registry);
    register_host(r);
    r->insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect,
              complex::ComplexDialect, func::FuncDialect, gpu::GPUDialect, index::IndexDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect, spirv::SPIRVDialect,
              tensor::TensorDialect, ub::UBDialect, vector::VectorDialect>();
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
