#!/usr/bin/env bash
# The thread sanitizer over the host side: every test program with the label `threads` (see cmake/TesseraTargets.cmake), built by the
# preset `tsan` without the rest. A quarter of an hour the first time on two cores, then what has changed and the runs.
#   tools/tsan.sh [PATTERN]   PATTERN: only the programs whose name matches
# Left out are `slow` programs, and in the programs what cannot be told under the sanitizer, which the tests skip with the reason.
set -euo pipefail
source "$(dirname "$0")/common.sh"

# One program is a process tree with threads of its own; two at a time fill two cores.
select=(--preset tsan -L '^threads$')
[ $# -eq 0 ] || select+=(-R "$1")
run_programs() {
  TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 ctest "${select[@]}" -j "$jobs"
}
build_programs() {
  cmake --build --preset tsan --target threaded_tests
}

steps_total=3
step "configure, clang++ with the thread sanitizer" configure tsan
step "build what runs threads" build_programs
step "run it" run_programs
programs=$(ctest "${select[@]}" -N | sed -n 's/^Total Tests: //p')
printf '%s%d programs without a race.%s\n%s' "$green" "$programs" "$plain" "$step_summary"
