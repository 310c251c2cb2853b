#!/usr/bin/env bash
# Runs the micro benchmarks; arguments go to every program (--benchmark_filter=... and the like).
set -euo pipefail
source "$(dirname "$0")/common.sh"
for program in compile simulator; do
  echo "== $program"
  build/release/benchmarks/${program}_benchmark "$@"
done
echo "== launch"
build/release/benchmarks/launch_benchmark
echo "== warm start"
stand_in=()
[ -e /dev/nvidia0 ] || stand_in=(--stand-in)
build/release/benchmarks/warm_start_benchmark "${stand_in[@]}"
