# Two commands for a newcomer; each installs what is missing, configures, builds and runs.
#   make demo   the Hopper matmul on the simulated Hopper: V0 under five schedules, then three faster versions
#   make test   every check: format, g++ and clang builds, all tests, sanitizers, clang-tidy
# JOBS=n sets the number of parallel jobs (default: all cores).
.PHONY: help demo test build format tidy portable bench install package clean

help:
	@sed -n '2,4s/^# \{0,1\}//p' Makefile
	@echo "  make build | format | tidy | portable | bench | install PREFIX=dir | package | clean"

demo:
	@tools/demo.sh

test:
	@tools/test.sh

build:
	@tools/setup.sh build
	@cmake --preset release && cmake --build --preset release

format:
	@tools/setup.sh test
	@tools/format.sh --fix

tidy:
	@tools/setup.sh test
	@tools/tidy.sh

portable:
	@tools/setup.sh build
	@cmake --preset portable && cmake --build --preset portable

bench: build
	@tools/bench.sh

PREFIX ?= /usr/local
install:
	@tools/setup.sh build
	@cmake --preset release && cmake --build --preset release --target installed
	@cmake --install build/release --prefix $(PREFIX)

# Debian packages and an archive of the sources, in build/package.
package:
	@tools/package.sh

clean:
	rm -rf build
