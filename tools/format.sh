#!/usr/bin/env bash
# `format.sh` checks that every C++ file is as clang-format 14 leaves it; `format.sh --fix` makes it so.
set -euo pipefail
source "$(dirname "$0")/common.sh"

mapfile -t files < <(git ls-files -co --exclude-standard -- '*.cpp' '*.hpp')
[ ${#files[@]} -gt 0 ] || { echo "no C++ file found" >&2; exit 1; }
if [ "${1:-}" = --fix ]; then
  printf '%s\n' "${files[@]}" | xargs -P "$jobs" -n 8 clang-format-14 -i
else
  printf '%s\n' "${files[@]}" | xargs -P "$jobs" -n 8 clang-format-14 --dry-run -Werror || {
    echo "Run 'make format' to mend this."
    exit 1
  }
  echo "${#files[@]} files are formatted"
fi
