#!/usr/bin/env bash
# Rules for the files themselves: sizes, no unfinished marks, no path of somebody's machine, no test that skips itself for
# another reason than a missing card or compiler, every document that the README links to. Prints what is off; silent otherwise.
# The patterns have brackets in them so that they do not find themselves.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
status=0
off() {
  printf '%s\n%s\n' "$1" "$2"
  status=1
}

files() { git ls-files -co --exclude-standard -- "$@" | while read -r file; do [ -f "$file" ] && echo "$file"; done; }
search() { files . ':!LICENSE' | xargs -d '\n' grep -nIE "$1" -- 2>/dev/null; }
longer() { files "$1" | xargs -d '\n' wc -l | awk -v limit="$2" '$2 != "total" && $1 > limit {print "  " $2 ": " $1 " lines"}'; }

if ! git rev-parse --git-dir >/dev/null 2>&1; then
  echo "no git checkout: nothing to look at"
  exit 0
fi

found=$(search '(^|[^[:alnum:]_.])/(w[o]rk|f[a]rm)/|(^|[^])[:alnum:]_])\.l[i]brary([^[:alnum:]_]|$)|suba[g]ent|coding a[g]ent|this s[e]ssion|the t[r]acker|l[e]nt machine')
[ -z "$found" ] || off "paths or words that belong to one machine or person:" "$found"
found=$(search 'T[O]DO|F[I]XME|not impl[e]mented|D[I]SABLED_')
[ -z "$found" ] || off "unfinished marks:" "$found"
found=$(files 'tests/*' ':!tests/gpu' | xargs -d '\n' grep -nE 'GTEST_S[K]IP' -- | grep -viE 'gpu|available|root')
[ -z "$found" ] || off "tests that skip themselves:" "$found"
found=$(longer '*.cpp' 500; longer '*.hpp' 300)
[ -z "$found" ] || off "files that are too long (sources 500 lines, headers 300):" "$found"
found=$(files include | xargs -d '\n' grep -nE '#include [<"](fmt/|nlohmann/|xxhash|cuda|nvrtc|ir/|layout/|sim/|jit/|passes/|support/)' --)
[ -z "$found" ] || off "public headers that include more than the standard library and each other:" "$found"
# A script that is executed says by what; common.sh is only read by others.
for script in $(files '*.sh' '*.py'); do
  [ -x "$script" ] && [ "$script" != tools/common.sh ] && [ "$(head -c 2 "$script")" != '#!' ] && off "a script without a first line:" "  $script"
done
for document in README.md docs/*.md; do
  # What a careless merge leaves of a section that both sides changed.
  found=$(grep -E '^#{2,} ' "$document" | sort | uniq -d)
  [ -z "$found" ] || off "$document has a heading twice:" "$found"
  while read -r link; do
    [ -e "$(dirname "$document")/$link" ] || off "$document links to a file that is not there:" "  $link"
  done < <(sed '/^```/,/^```$/d' "$document" 2>/dev/null | grep -oE '\]\([^)#]+' | sed 's/^](//' | grep -vE '^https?:')
done
# The README shows code that is compiled: every line of it stands in the file that it was taken from.
found=$(sed -n '/^```cpp/,/^```$/p' README.md | sed '/^```$/q' | grep -v '^```' | grep -vxFf examples/hopper_matmul/matmul_v0.hpp)
[ -z "$found" ] || off "README.md shows another matmul than examples/hopper_matmul/matmul_v0.hpp:" "$found"
for shown in examples/vector_add/main.cpp tests/package/consumer/CMakeLists.txt; do
  found=$(grep -vxFf README.md "$shown")
  [ -z "$found" ] || off "$shown is not what README.md shows:" "$found"
done
exit $status
