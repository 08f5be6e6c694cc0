/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target of the whole way (path.h): read, check, interpret, compile, run. The corpus is
 * made of the repository's kernels; the library is built with clang and the sanitizers.
 *
 *     cmake --preset fuzz && ninja -C build/fuzz fuzz_path test_fuzz_mutations
 *     mkdir corpus && build/fuzz/test/test_fuzz_mutations --corpus corpus
 *     build/fuzz/test/fuzz_path -max_len=20000 -timeout=20 corpus
 */
#include "path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Path path;
    if (!path.device && !path_open(&path))
        return 0;
    path.compile = true;
    path.subgroup_size = 8;
    path_take(&path, data, size);
    if (path.silent)
        __builtin_trap();
    return 0;
}
