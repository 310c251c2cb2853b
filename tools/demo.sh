#!/usr/bin/env bash
# The Hopper matmul on the simulated Hopper, each run checked against an fp64 reference: V0 at a regular and a ragged size under
# five schedules of the asynchronous hardware, then three steps further up the ladder, which overlap more and more of it.
set -euo pipefail
source "$(dirname "$0")/common.sh"

build() {
  configure release
  cmake --build --preset release --target hopper_matmul
}
# run VERSION SCHEDULES SIZE...
run() {
  local version=$1 schedules=$2 size schedule
  shift 2
  for size in "$@"; do
    for schedule in $schedules; do
      # shellcheck disable=SC2086  # the size is three words
      build/release/examples/hopper_matmul --version "$version" --device sim --size $size --schedule "$schedule" || return 1
    done
  done
}
ladder() {
  local version
  for version in v1 v3 v6; do run "$version" "eager lazy random:1" "300 264 200" || return 1; done
}

steps_total=4
step "packages" tools/setup.sh build
step "build" build
step "V0 on the simulated Hopper" run v0 "eager lazy random:1 random:2 random:3" "512 512 512" "300 264 200"
step "V1: wgmma; V3: warp specialisation; V6: clusters, persistent blocks, TMA stores" ladder
printf '%sEvery element is right under every schedule.%s\n' "$green" "$plain"
