#!/usr/bin/env bash
# Installs the Debian packages that are missing. `setup.sh build` covers building and running; `setup.sh test` adds what
# the checks need, `setup.sh package` what Debian packages are made with. Does nothing, and asks for no rights, where all is there.
set -euo pipefail

build=(g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libxxhash-dev libcli11-dev libeigen3-dev libgtest-dev libgmock-dev
       librapidcheck-dev libbenchmark-dev ccache mold)
checks=(clang clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 git python3
        pkg-config dpkg-dev file)
packing=(dpkg-dev file)  # cpack looks with them for what a package depends on

wanted=("${build[@]}")
case ${1:-build} in
  test) wanted+=("${checks[@]}") ;;
  package) wanted+=("${packing[@]}") ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "This is no Debian system: taking it on trust that these are installed: ${wanted[*]}"
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "Please install as root: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "Installing Debian packages: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  exit 1
fi
