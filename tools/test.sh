#!/usr/bin/env bash
# Everything that has to hold before a change lands. Each step says what it does and how long it took.
set -euo pipefail
source "$(dirname "$0")/common.sh"

# Tests that need a card run where the driver shows one.
gpu=()
[ -e /dev/nvidia0 ] || gpu=(-LE gpu)

release_tests() { ctest --preset release -j "$jobs" "${gpu[@]}"; }
sanitizer_tests() {
  ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --preset asan-ubsan -j "$jobs" -LE '^(slow|package|gpu)$'
}
build() {
  configure "$1"
  cmake --build --preset "$1"
}

steps_total=7
step "packages" tools/setup.sh test
step "format (clang-format 14)" tools/format.sh
step "build, g++, warnings are errors" build release
step "tests" release_tests
step "build, clang++ with address and undefined-behaviour sanitizers, warnings are errors" build asan-ubsan
step "clang-tidy" tools/tidy.sh
step "tests under the sanitizers" sanitizer_tests

printf '%sEverything passed.%s\n%s' "$green" "$plain" "$step_summary"
