#!/usr/bin/env bash
# Runs the micro benchmarks; arguments go to every program (--benchmark_filter=... and the like).
set -euo pipefail
source "$(dirname "$0")/common.sh"
for program in compile launch simulator; do
  echo "== $program"
  build/release/benchmarks/${program}_benchmark "$@"
done
