#!/usr/bin/env bash
# clang-tidy over the sources of the library, the examples and the commands, with the compile commands of the preset `asan-ubsan` (a clang
# build). A file whose preprocessed text, configuration and tool are unchanged since it last passed is not run again.
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
  local file=$1 command key log
  # The compiler's own command for the file, turned into a preprocessor run.
  command=$(python3 tools/compile_command.py "$database/compile_commands.json" "$file") || return 1
  key=$({ echo "$salt $file"; (cd "$database" && eval "$command -E -P" 2>/dev/null); } | sha256sum | cut -c1-64)
  [ -e "$cache/$key" ] && return 0
  log=$(clang-tidy-14 --quiet -p "$database" "$file" 2>/dev/null) || {
    printf '%s\n' "$log"
    return 1
  }
  echo "  tidy $file"
  touch "$cache/$key"
}
export -f check

mapfile -t files < <(git ls-files -co --exclude-standard -- 'src/*.cpp' 'examples/*.cpp' 'commands/*.cpp')
printf '%s\0' "${files[@]}" | xargs -0 -P "$jobs" -n 1 bash -c 'check "$1"' _
find "$cache" -type f -mtime +30 -delete
echo "${#files[@]} files are tidy"
