/* SPDX-License-Identifier: MIT
 *
 * The least Vulkan that runs compute shaders: storage buffers
 * in set 0, push constants, dispatches with barriers between them. libvulkan is opened at run time;
 * without it, or without Vulkan's headers when this was compiled, vulkan_host_new says so.
 */
#ifndef HEDDLE_BENCH_VULKAN_HOST_H
#define HEDDLE_BENCH_VULKAN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct VulkanHost VulkanHost;
typedef struct VulkanProgram VulkanProgram;

enum { VULKAN_MAX_STEPS = 1000, VULKAN_MAX_BUFFERS = 4, VULKAN_MAX_SPECS = 8 };

typedef struct VulkanStep {
    const uint32_t *spirv;
    size_t size;                    /* bytes */
    uint32_t groups[3];
    const char *entry;              /* NULL: main */
    const uint32_t *specs;          /* of the constants 0..n_specs-1 */
    uint32_t n_specs;
    uint32_t subgroup_size;         /* 0: the driver's choice */
} VulkanStep;

/* The first device that is a CPU, whosoever; Mesa's lavapipe; or any, GPUs before CPUs. */
typedef enum VulkanChoice { VULKAN_CPU, VULKAN_LAVAPIPE, VULKAN_ANY } VulkanChoice;

/* NULL, and why in *reason (static), when there is none. */
VulkanHost *vulkan_host_new(VulkanChoice choice, const char **reason);
const char *vulkan_host_name(const VulkanHost *host);
bool vulkan_host_is_cpu(const VulkanHost *host);
uint32_t vulkan_host_subgroup_size(const VulkanHost *host);
bool vulkan_host_has_subgroups_of(const VulkanHost *host, uint32_t size);
bool vulkan_host_has_arithmetic(const VulkanHost *host);    /* subgroup operations that add */
bool vulkan_host_has_matrices(const VulkanHost *host);      /* cooperative ones */
void vulkan_host_free(VulkanHost *host);

/* All steps see the same buffers (bindings 0..n_buffers-1) and push constants. NULL on failure. */
VulkanProgram *vulkan_program_new(VulkanHost *host, const VulkanStep *steps, uint32_t n_steps,
                                  const uint64_t *sizes, uint32_t n_buffers, const void *push,
                                  uint32_t push_size);
void *vulkan_program_buffer(const VulkanProgram *program, uint32_t i);
/* Carries out all steps and waits. */
bool vulkan_program_run(VulkanProgram *program);
/* Makes the first step's module and pipeline once more, from a cache that has them, in place of
 * those that there are. */
bool vulkan_program_remake(VulkanProgram *program, const VulkanStep *step);
void vulkan_program_free(VulkanProgram *program);

#endif
