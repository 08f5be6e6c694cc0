/* SPDX-License-Identifier: MIT
 *
 * The least Vulkan that runs compute shaders on a CPU, Mesa's lavapipe or heddle: storage buffers
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

enum { VULKAN_MAX_STEPS = 1000, VULKAN_MAX_BUFFERS = 4 };

typedef struct VulkanStep {
    const uint32_t *spirv;
    size_t size;                    /* bytes */
    uint32_t groups[3];
    const char *entry;              /* NULL: main */
} VulkanStep;

/* Mesa's lavapipe, or the first device that is a CPU, whosoever. NULL, and why in *reason (static),
 * when there is none. */
VulkanHost *vulkan_host_new(bool lavapipe, const char **reason);
const char *vulkan_host_name(const VulkanHost *host);
uint32_t vulkan_host_subgroup_size(const VulkanHost *host);
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
void vulkan_program_free(VulkanProgram *program);

#endif
