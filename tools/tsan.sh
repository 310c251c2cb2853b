#!/usr/bin/env bash
# The thread sanitizer over the host side: launches, plans, streams and graphs from many threads, on the simulated device
# and on the fake driver. Builds the preset `tsan`, only what these tests need; a few minutes the first time.
set -euo pipefail
source "$(dirname "$0")/common.sh"

programs=(field_launch_path field_launch_device field_launch_log field_launch_errors field_launch_graph field_launch_stress golden_driver_test)
configure tsan
cmake --build --preset tsan --target "${programs[@]}"
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
for program in "${programs[@]}"; do
  echo "== $program"
  # What counts memory counts the sanitizer's; what replaces the process is tested without it.
  "$(find build/tsan/tests -type f -name "$program")" --gtest_brief=1 --gtest_filter='-FlatMemory.*:LostContext*'
done
test_kernel=test_kernel_impl
cmake --build --preset tsan --target $test_kernel
"build/tsan/tests/unit/$test_kernel" --gtest_brief=1 --gtest_filter='*ManyThreads*:*LaterCalls*'
