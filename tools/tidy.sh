#!/usr/bin/env bash
# clang-tidy over the sources of the library, the examples and the commands, unit by unit of the preset `asan-ubsan` (a clang build). A
# unit whose preprocessed text, configuration and tool are unchanged since it last passed is not run again.
set -euo pipefail
source "$(dirname "$0")/common.sh"

database=build/asan-ubsan
[ -f $database/compile_commands.json ] || configure asan-ubsan
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tessera-tidy
mkdir -p "$cache"
export database cache
salt=$(clang-tidy-14 --version | cat - .clang-tidy tools/tidy.sh | sha256sum | cut -c1-64)
export salt

check() {
  local unit=$1 command=$2 key log
  key=$({ echo "$salt $unit"; (cd "$database" && eval "$command -E -P" 2>/dev/null); } | sha256sum | cut -c1-64)
  [ -e "$cache/$key" ] && return 0
  # The units of a unity build include sources, which is what the last check warns of.
  log=$(clang-tidy-14 --quiet --config-file=.clang-tidy --checks=-bugprone-suspicious-include \
    --header-filter='.*/(include/tessera|src|examples|commands)/.*\.[ch]pp$' -p "$database" "$unit" 2>/dev/null) || {
    printf '%s\n' "$log"
    return 1
  }
  echo "  tidy ${unit#"$PWD"/}"
  touch "$cache/$key"
}
export -f check

mapfile -t files < <(git ls-files -co --exclude-standard -- 'src/*.cpp' 'examples/*.cpp' 'commands/*.cpp')
mapfile -t units < <(printf '%s\n' "${files[@]}" | tools/translation_units.py $database/compile_commands.json || echo missing)
[ "${units[-1]}" != missing ] || exit 1
printf '%s\n' "${units[@]}" | tr '\t\n' '\0\0' | xargs -0 -P "$jobs" -n 2 bash -c 'check "$1" "$2"' _
find "$cache" -type f -mtime +30 -delete
echo "${#files[@]} files are tidy"
