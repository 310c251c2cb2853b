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
