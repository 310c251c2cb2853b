#!/usr/bin/env bash
# V0 of the Hopper matmul on the simulated Hopper: a regular and a ragged size under five schedules of the asynchronous
# hardware, each checked against an fp64 reference.
set -euo pipefail
source "$(dirname "$0")/common.sh"

build() {
  configure release
  cmake --build --preset release --target hopper_matmul
}
run() {
  local size schedule
  for size in "512 512 512" "300 264 200"; do
    for schedule in eager lazy random:1 random:2 random:3; do
      # shellcheck disable=SC2086  # the size is three words
      build/release/examples/hopper_matmul --version v0 --device sim --size $size --schedule "$schedule"
    done
  done
}

steps_total=3
step "packages" tools/setup.sh build
step "build" build
step "V0 on the simulated Hopper" run
printf '%sEvery element is right under every schedule.%s\n' "$green" "$plain"
