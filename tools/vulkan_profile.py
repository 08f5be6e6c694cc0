# SPDX-License-Identifier: MIT
"""What the Vulkan driver supports: the input of vulkan_tables.py besides the registry."""

INSTANCE_EXTENSIONS = """
    VK_EXT_debug_utils
    VK_KHR_device_group_creation VK_KHR_external_fence_capabilities
    VK_KHR_external_memory_capabilities VK_KHR_external_semaphore_capabilities
    VK_KHR_get_physical_device_properties2
""".split()

DEVICE_EXTENSIONS = """
    VK_AMD_shader_core_properties VK_AMD_shader_core_properties2
    VK_EXT_4444_formats VK_EXT_calibrated_timestamps VK_EXT_cooperative_matrix_maintenance1
    VK_EXT_descriptor_indexing VK_EXT_device_fault
    VK_EXT_external_memory_host VK_EXT_host_image_copy VK_EXT_host_query_reset VK_EXT_image_robustness VK_EXT_inline_uniform_block
    VK_EXT_memory_budget VK_EXT_memory_priority VK_EXT_mutable_descriptor_type
    VK_EXT_pageable_device_local_memory VK_EXT_pipeline_creation_cache_control
    VK_EXT_pipeline_creation_feedback VK_EXT_pipeline_robustness VK_EXT_private_data
    VK_EXT_robustness2 VK_EXT_scalar_block_layout VK_EXT_separate_stencil_usage
    VK_EXT_shader_64bit_indexing VK_EXT_shader_image_atomic_int64
    VK_EXT_shader_atomic_float VK_EXT_shader_atomic_float2 VK_EXT_shader_float8
    VK_EXT_shader_long_vector VK_EXT_shader_ocp_microscaling_types VK_EXT_shader_replicated_composites VK_EXT_shader_split_barrier
    VK_EXT_shader_subgroup_ballot
    VK_EXT_shader_subgroup_partitioned VK_EXT_shader_subgroup_vote
    VK_EXT_subgroup_size_control VK_EXT_texel_buffer_alignment VK_EXT_tooling_info
    VK_EXT_zero_initialize_device_memory
    VK_KHR_16bit_storage VK_KHR_8bit_storage VK_KHR_bind_memory2 VK_KHR_buffer_device_address
    VK_KHR_calibrated_timestamps VK_KHR_compute_shader_derivatives
    VK_KHR_cooperative_matrix VK_KHR_copy_commands2
    VK_KHR_dedicated_allocation VK_KHR_descriptor_update_template VK_KHR_device_group
    VK_KHR_driver_properties VK_KHR_external_fence VK_KHR_external_memory
    VK_KHR_external_semaphore VK_KHR_global_priority VK_KHR_image_format_list VK_KHR_format_feature_flags2 VK_KHR_get_memory_requirements2
    VK_KHR_maintenance1 VK_KHR_maintenance2 VK_KHR_maintenance3 VK_KHR_maintenance4
    VK_KHR_maintenance5 VK_KHR_maintenance6 VK_KHR_maintenance7 VK_KHR_maintenance8
    VK_KHR_maintenance9 VK_KHR_map_memory2
    VK_KHR_push_descriptor VK_KHR_sampler_mirror_clamp_to_edge VK_KHR_relaxed_block_layout VK_KHR_robustness2
    VK_KHR_shader_atomic_int64 VK_KHR_shader_bfloat16 VK_KHR_shader_clock
    VK_KHR_shader_expect_assume VK_KHR_shader_float16_int8
    VK_KHR_shader_float_controls VK_KHR_shader_float_controls2 VK_KHR_shader_fma
    VK_KHR_shader_integer_dot_product VK_KHR_shader_maximal_reconvergence
    VK_KHR_shader_non_semantic_info
    VK_KHR_shader_relaxed_extended_instruction VK_KHR_shader_subgroup_extended_types
    VK_KHR_shader_subgroup_rotate VK_KHR_shader_subgroup_uniform_control_flow
    VK_KHR_shader_untyped_pointers
    VK_KHR_spirv_1_4 VK_KHR_storage_buffer_storage_class
    VK_KHR_synchronization2 VK_KHR_timeline_semaphore VK_KHR_uniform_buffer_standard_layout
    VK_KHR_variable_pointers VK_KHR_vulkan_memory_model
    VK_KHR_workgroup_memory_explicit_layout VK_KHR_zero_initialize_workgroup_memory
    VK_NV_cooperative_matrix VK_NV_cooperative_matrix2 VK_NV_cooperative_matrix_decode_vector
    VK_NV_shader_subgroup_partitioned
    VK_QCOM_cooperative_matrix_conversion VK_QCOM_shader_multiple_wait_queues
    VK_VALVE_mutable_descriptor_type
""".split()

FEATURES = set("""
    robustBufferAccess shaderInt64 shaderInt16 shaderFloat64
    imageCubeArray shaderImageGatherExtended shaderStorageImageExtendedFormats
    shaderStorageImageMultisample
    shaderStorageImageReadWithoutFormat shaderStorageImageWriteWithoutFormat
    shaderResourceMinLod shaderSampledImageArrayDynamicIndexing
    shaderStorageImageArrayDynamicIndexing shaderUniformTexelBufferArrayDynamicIndexing
    shaderStorageTexelBufferArrayDynamicIndexing
    shaderSampledImageArrayNonUniformIndexing shaderStorageImageArrayNonUniformIndexing
    shaderUniformTexelBufferArrayNonUniformIndexing
    shaderStorageTexelBufferArrayNonUniformIndexing
    descriptorBindingSampledImageUpdateAfterBind descriptorBindingStorageImageUpdateAfterBind
    descriptorBindingUniformTexelBufferUpdateAfterBind
    descriptorBindingStorageTexelBufferUpdateAfterBind
    samplerMirrorClampToEdge robustImageAccess robustImageAccess2 texelBufferAlignment
    formatA4R4G4B4 formatA4B4G4R4
    shaderStorageBufferArrayDynamicIndexing shaderUniformBufferArrayDynamicIndexing
    storageBuffer16BitAccess uniformAndStorageBuffer16BitAccess storagePushConstant16
    variablePointersStorageBuffer variablePointers
    storageBuffer8BitAccess uniformAndStorageBuffer8BitAccess storagePushConstant8
    shaderFloat16 shaderInt8
    descriptorIndexing shaderUniformBufferArrayNonUniformIndexing
    shaderStorageBufferArrayNonUniformIndexing descriptorBindingUniformBufferUpdateAfterBind
    descriptorBindingStorageBufferUpdateAfterBind descriptorBindingUpdateUnusedWhilePending
    descriptorBindingPartiallyBound descriptorBindingVariableDescriptorCount
    runtimeDescriptorArray
    scalarBlockLayout uniformBufferStandardLayout shaderSubgroupExtendedTypes hostQueryReset
    timelineSemaphore bufferDeviceAddress vulkanMemoryModel vulkanMemoryModelDeviceScope
    vulkanMemoryModelAvailabilityVisibilityChains
    inlineUniformBlock descriptorBindingInlineUniformBlockUpdateAfterBind
    pipelineCreationCacheControl privateData subgroupSizeControl computeFullSubgroups
    synchronization2 shaderZeroInitializeWorkgroupMemory shaderIntegerDotProduct maintenance4
    globalPriorityQuery hostImageCopy maintenance5 maintenance6 pushDescriptor shaderFloatControls2
    maintenance7 maintenance8 maintenance9
    cooperativeMatrix cooperativeMatrixRobustBufferAccess cooperativeMatrixConversion
    cooperativeMatrixWorkgroupScope cooperativeMatrixFlexibleDimensions
    cooperativeMatrixReductions cooperativeMatrixConversions
    cooperativeMatrixPerElementOperations cooperativeMatrixTensorAddressing
    cooperativeMatrixBlockLoads cooperativeMatrixDecodeVector cooperativeMatrixProperties2
    shaderBFloat16Type shaderBFloat16CooperativeMatrix shaderFloat8
    shaderFloat8CooperativeMatrix shaderFloat4 shaderFloat6 shaderFloat8UnsignedE8M0 shaderMXInt8
    shaderBufferFloat32Atomics shaderBufferFloat32AtomicAdd shaderSharedFloat32Atomics
    shaderSharedFloat32AtomicAdd shaderImageFloat32Atomics shaderImageFloat32AtomicAdd
    shaderBufferFloat64Atomics shaderBufferFloat64AtomicAdd shaderSharedFloat64Atomics
    shaderSharedFloat64AtomicAdd shaderBufferFloat16Atomics shaderBufferFloat16AtomicAdd
    shaderBufferFloat16AtomicMinMax shaderBufferFloat32AtomicMinMax
    shaderBufferFloat64AtomicMinMax shaderSharedFloat16Atomics shaderSharedFloat16AtomicAdd
    shaderSharedFloat16AtomicMinMax shaderSharedFloat32AtomicMinMax
    shaderSharedFloat64AtomicMinMax shaderBufferInt64Atomics shaderSharedInt64Atomics
    workgroupMemoryExplicitLayout workgroupMemoryExplicitLayoutScalarBlockLayout
    workgroupMemoryExplicitLayout8BitAccess workgroupMemoryExplicitLayout16BitAccess
    computeDerivativeGroupQuads computeDerivativeGroupLinear shaderImageInt64Atomics
    subgroupBroadcastDynamicId shaderSplitBarrier shader64BitIndexing
    shaderSubgroupUniformControlFlow shaderMaximalReconvergence shaderUntypedPointers
    shaderSubgroupPartitioned shaderSubgroupClock shaderDeviceClock
    shaderFmaFloat16 shaderFmaFloat32 shaderFmaFloat64 longVector
    pipelineRobustness robustBufferAccess2 nullDescriptor
    shaderReplicatedComposites shaderExpectAssume shaderRelaxedExtendedInstruction
    shaderSubgroupRotate shaderSubgroupRotateClustered
    memoryPriority pageableDeviceLocalMemory zeroInitializeDeviceMemory
    deviceFault shaderMultipleWaitQueues mutableDescriptorType
""".split())

# Structures with a member of that name that means another extension's feature.
NOT = {"VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT.cooperativeMatrix" + _i
        for _i in ("Reductions", "Conversions", "PerElementOperations")}

_STAGES = "VK_SHADER_STAGE_COMPUTE_BIT"
_INDEXED = "MAX_DESCRIPTORS"
_DOT = ("8BitUnsigned 8BitSigned 8BitMixedSignedness 4x8BitPackedUnsigned 4x8BitPackedSigned "
        "4x8BitPackedMixedSignedness").split()

# Values of members, as C; what is found out while running is filled in by physical.c.
PROPERTIES = {
    # Vulkan 1.1
    "subgroupSupportedStages": _STAGES, "supportedStages": _STAGES,
    "subgroupSupportedOperations": "SUBGROUP_OPERATIONS",
    "supportedOperations": "SUBGROUP_OPERATIONS",
    "pointClippingBehavior": "VK_POINT_CLIPPING_BEHAVIOR_ALL_CLIP_PLANES",
    "maxPerSetDescriptors": _INDEXED, "maxMemoryAllocationSize": "MAX_MEMORY",
    # Vulkan 1.2
    "denormBehaviorIndependence": "VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL",
    "roundingModeIndependence": "VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL",
    "shaderUniformBufferArrayNonUniformIndexingNative": "VK_TRUE",
    "shaderStorageBufferArrayNonUniformIndexingNative": "VK_TRUE",
    "shaderSampledImageArrayNonUniformIndexingNative": "VK_TRUE",
    "shaderStorageImageArrayNonUniformIndexingNative": "VK_TRUE",
    "robustBufferAccessUpdateAfterBind": "VK_TRUE",
    "maxTimelineSemaphoreValueDifference": "UINT64_MAX",
    # Vulkan 1.3
    "requiredSubgroupSizeStages": _STAGES,
    "maxComputeWorkgroupSubgroups": "128",
    # A core is a compute unit, which runs one subgroup at a time; registers as AVX2 has them.
    "VkPhysicalDeviceShaderCorePropertiesAMD.shaderEngineCount": "1",
    "shaderArraysPerEngineCount": "1", "simdPerComputeUnit": "1", "wavefrontsPerSimd": "1",
    "sgprsPerSimd": "16", "minSgprAllocation": "16", "maxSgprAllocation": "16",
    "sgprAllocationGranularity": "16",
    "vgprsPerSimd": "16", "minVgprAllocation": "16", "maxVgprAllocation": "16",
    "vgprAllocationGranularity": "16",
    "maxInlineUniformBlockSize": "MAX_INLINE_BLOCK",
    "maxPerStageDescriptorInlineUniformBlocks": "64",
    "maxPerStageDescriptorUpdateAfterBindInlineUniformBlocks": "64",
    "maxDescriptorSetInlineUniformBlocks": "64",
    "maxDescriptorSetUpdateAfterBindInlineUniformBlocks": "64",
    "maxInlineUniformTotalSize": "65536",
    "storageTexelBufferOffsetAlignmentBytes": "16",
    "uniformTexelBufferOffsetAlignmentBytes": "16",
    "maxBufferSize": "MAX_MEMORY",
    # Vulkan 1.4
    "maxCombinedImageSamplerDescriptorCount": "1",
    "identicalMemoryTypeRequirements": "VK_TRUE",
    # extensions
    "maxPushDescriptors": "64",
    "robustStorageBufferAccessSizeAlignment": "1",
    "robustUniformBufferAccessSizeAlignment": "1",
    "defaultRobustnessStorageBuffers": "VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED",
    "defaultRobustnessUniformBuffers": "VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED",
    "defaultRobustnessVertexInputs": "VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED",
    "defaultRobustnessImages": "VK_PIPELINE_ROBUSTNESS_IMAGE_BEHAVIOR_ROBUST_IMAGE_ACCESS_2",
    "cooperativeMatrixSupportedStages": _STAGES,
    "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize": "MAX_INVOCATIONS",
    "cooperativeMatrixFlexibleDimensionsMaxDimension": "HEDDLE_MATRIX_MOST",
    "minImportedHostPointerAlignment": "4096",
    "maxShaderWaitQueues": "SPV_WAIT_QUEUES_MOST",
    "maxVectorComponents": "1024",
}
for _i in ("Float16", "Float32", "Float64"):
    PROPERTIES["shaderSignedZeroInfNanPreserve" + _i] = "VK_TRUE"
    PROPERTIES["shaderDenormPreserve" + _i] = "VK_TRUE"
    PROPERTIES["shaderDenormFlushToZero" + _i] = "VK_TRUE"
    PROPERTIES["shaderRoundingModeRTE" + _i] = "VK_TRUE"
    PROPERTIES["shaderRoundingModeRTZ" + _i] = "VK_TRUE"
for _i in ("Samplers", "UniformBuffers", "StorageBuffers", "SampledImages", "StorageImages",
           "InputAttachments"):
    PROPERTIES["maxPerStageDescriptorUpdateAfterBind" + _i] = _INDEXED
    PROPERTIES["maxDescriptorSetUpdateAfterBind" + _i] = _INDEXED
for _i in ("Uniform", "Storage"):
    PROPERTIES["maxDescriptorSetUpdateAfterBind%sBuffersDynamic" % _i] = "64"
    PROPERTIES["%sTexelBufferOffsetSingleTexelAlignment" % _i.lower()] = "VK_TRUE"
    PROPERTIES["maxDescriptorSetTotal%sBuffersDynamic" % _i] = "MAX_DYNAMIC / 2"
    PROPERTIES["maxDescriptorSetUpdateAfterBindTotal%sBuffersDynamic" % _i] = "MAX_DYNAMIC / 2"
PROPERTIES["maxDescriptorSetTotalBuffersDynamic"] = "MAX_DYNAMIC"
PROPERTIES["maxDescriptorSetUpdateAfterBindTotalBuffersDynamic"] = "MAX_DYNAMIC"
PROPERTIES["maxPerStageUpdateAfterBindResources"] = _INDEXED
PROPERTIES["maxUpdateAfterBindDescriptorsInAllPools"] = _INDEXED
for _i in _DOT:
    PROPERTIES["integerDotProduct%sAccelerated" % _i] = "VK_TRUE"
    PROPERTIES["integerDotProductAccumulatingSaturating%sAccelerated" % _i] = "VK_TRUE"
