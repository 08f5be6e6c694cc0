# SPDX-License-Identifier: MIT
#
#     make            install what is missing (Debian, as root), build build/release
#     make run        ... and run the demonstration
#     make test       ... and all tests; ends with `N passed, N failed`
#     make bench      ... and the benchmarks
#     make fuzz       mutations of modules and of OpenCL C, random operands, under AddressSanitizer and UBSan
#     make asan       the tests under AddressSanitizer and UBSan, in build/asan
#     make tsan       the same under ThreadSanitizer
#     make install    to PREFIX (/usr/local)
PREFIX ?= /usr/local
WERROR := $(if $(CI),ON,OFF)

all: build-release

install-deps:
	@tools/install-deps.sh
	@tools/toolchain.sh build/toolchain

build-%: install-deps
	@cmake --preset $* -DHEDDLE_WERROR=$(WERROR) > build/$*.log || { cat build/$*.log; exit 1; }
	@cmake --build --preset $*

run: build-release
	@build/release/bin/example_gemm
	@build/release/bin/example_conversions examples build/release/texture.png
	@build/release/bin/example_tensors examples
	@build/release/bin/example_mlir examples/mlir
	@build/release/bin/example_opencl examples/opencl
	@build/release/bin/example_opencl_matrices examples
	@echo 'Programs that use Vulkan: build/release/bin/heddle vulkan -- PROGRAM, or by hand'
	@echo 'VK_DRIVER_FILES=$(CURDIR)/build/release/share/vulkan/icd.d/heddle_icd.json PROGRAM'

test: build-release
	@tools/test.sh build/release

bench: build-release
	@for program in build/release/bin/bench_*; do $$program || exit 1; done

fuzz: install-deps
	@cmake --preset asan -DHEDDLE_WERROR=$(WERROR) > build/asan.log || { cat build/asan.log; exit 1; }
	@cmake --build --preset asan --target test_fuzz_mutations test_fuzz_opencl test_fuzz_operands
	@ctest --preset asan -R fuzz

asan tsan: %: build-%
	@tools/test.sh build/$*

install: build-release
	@cmake --install build/release --prefix "$(PREFIX)"

clean:
	rm -rf build/release build/ci build/debug build/asan build/tsan

.PHONY: all install-deps run test bench fuzz asan tsan install clean
