# SPDX-License-Identifier: MIT
#
#     make            build build/release; says what is missing and how to get it
#     make deps       install what is missing (Debian, as root), as all targets below do
#     make run        run the demonstration
#     make test       run all tests; ends with `N passed, N failed`
#     make bench      run the benchmarks; build/bench has what they print, and a chart
#     make fuzz       mutations of modules and of OpenCL C, random operands, under AddressSanitizer and UBSan
#     make asan       the tests under AddressSanitizer and UBSan, in build/asan
#     make tsan       the same under ThreadSanitizer
#     make install    to PREFIX (/usr/local)
#     make package    a release that runs wherever it is unpacked: build/package/heddle-*.tar.zst
#     make wheel      the same for Python: build/package/heddle-*.whl
#     make deb        Debian's packages for this system: build/package/*.deb
#     make site       README.md and docs/ as a site: build/site
PREFIX ?= /usr/local
WERROR := $(if $(CI),ON,OFF)
# CI takes a quarter of the cases of tests that have many, and makes a quarter of the programs that run the same
# tests for one target each; who runs `make test` by hand gets all.
STEP := $(if $(CI),4,1)

all: DEPS := --check
all: build-release

deps:
	@tools/install-deps.sh $(DEPS)
	@tools/toolchain.sh build/toolchain

build-%: deps
	@cmake --preset $* -DHEDDLE_WERROR=$(WERROR) -DHEDDLE_TEST_STEP=$(STEP) -DHEDDLE_TEST_TARGETS=$(STEP) > build/$*.log || { cat build/$*.log; exit 1; }
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

# What mutates modules CI has had run under AddressSanitizer, by `make fuzz`.
test: build-release
	@tools/test.sh build/release $(if $(CI),-E '^test_fuzz_')

# On an NVIDIA GPU; without one each says why it was skipped.
test-cuda: build-release
	@tools/test.sh build/release -L cuda --verbose

# What each program prints is kept in build/bench; bench_gemm's lines become a chart there.
bench: build-release
	@rm -rf build/bench && mkdir -p build/bench
	@for program in build/release/bin/bench_*; do \
	    { HEDDLE_TIER=full $$program || touch build/bench/failed; } | \
	        tee "build/bench/$${program##*/bench_}.txt"; \
	    [ ! -e build/bench/failed ] || exit 1; \
	done
	@tools/charts.py build/bench/gemm.txt build/bench/gemm.svg

# Against NVIDIA's own Vulkan driver and cuBLAS; without a GPU it says so.
bench-cuda: build-release
	@build/release/bin/bench_cuda

# Kernels lowered for any Vulkan driver of the system: DEVICE=1 is the second one.
DEVICE := 0
bench-vulkan-device: build-release
	@build/release/bin/bench_vulkan_device --device $(DEVICE)

fuzz: deps
	@cmake --preset asan -DHEDDLE_WERROR=$(WERROR) > build/asan.log || { cat build/asan.log; exit 1; }
	@cmake --build --preset asan --target test_fuzz_mutations test_fuzz_opencl test_fuzz_operands
	@tools/test.sh build/asan -R fuzz

asan tsan: %: build-%
	@tools/test.sh build/$*

install: build-release
	@cmake --install build/release --prefix "$(PREFIX)"

# LLVM's archives linked in, which takes other packages and minutes.
package-tree: DEPS := libzstd-dev zlib1g-dev zstd xz-utils lld-22
package-tree: deps
	@tools/sysroot.sh build/sysroot
	@cmake --preset package > build/package.log || { cat build/package.log; exit 1; }
	@cmake --build --preset package
	@rm -rf build/package-tree/installed
	@cmake --install build/package-tree --prefix build/package-tree/installed > build/package.log

package: package-tree
	@tools/package.sh build/package-tree/installed build/package

wheel: package-tree
	@mkdir -p build/package
	@cd python && HEDDLE_PREFIX=$(CURDIR)/build/package-tree/installed python3 -c \
	    'import backend; print("build/package/" + backend.build_wheel("../build/package"))'

deb: DEPS := debhelper dh-python dpkg-dev lintian
deb: deps
	@tools/deb.sh build/deb build/toolchain
	@mkdir -p build/package && cp build/deb/*.deb build/package && ls build/package/*.deb

site: DEPS := mkdocs
site: deps
	@tools/site.py

clean:
	rm -rf build/release build/ci build/debug build/asan build/tsan build/package-tree build/deb

.PHONY: all deps run test test-cuda bench bench-cuda bench-vulkan-device fuzz asan tsan install package-tree package wheel deb site clean
