# Shared by the scripts in this folder: where the tree is, how many jobs to run, and how a step is announced.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
jobs=${JOBS:-$(nproc)}
export NINJA_STATUS='[%f/%t %es] '
export CMAKE_BUILD_PARALLEL_LEVEL=$jobs CTEST_PARALLEL_LEVEL=$jobs

if [ -t 1 ]; then bold=$'\033[1m' red=$'\033[31m' green=$'\033[32m' plain=$'\033[0m'; else bold='' red='' green='' plain=''; fi

step_number=0
step_summary=''
# step TITLE COMMAND...: announces, runs and times one step; the first that fails ends the script.
step() {
  local title=$1 began=$SECONDS status=0
  shift
  step_number=$((step_number + 1))
  printf '%s==> [%d/%d] %s%s\n' "$bold" "$step_number" "${steps_total:-0}" "$title" "$plain"
  "$@" || status=$?
  local took=$((SECONDS - began))
  if [ "$status" -ne 0 ]; then
    printf '%s==> failed after %d s: %s%s\n' "$red" "$took" "$title" "$plain"
    exit "$status"
  fi
  step_summary+=$(printf '  %4d s  %s' "$took" "$title")$'\n'
}

# configure PRESET [options]: quiet unless it fails.
configure() {
  local preset=$1 log
  shift
  log=$(mktemp)
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log"
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}
