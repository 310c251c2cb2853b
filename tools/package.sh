#!/usr/bin/env bash
# Debian packages (the shared library, what programs are built with, the commands) and an archive of the sources, in build/package.
set -euo pipefail
source "$(dirname "$0")/common.sh"

build() {
  configure package
  cmake --build --preset package
}
# quietly COMMAND...: its output only when it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  [ $status -eq 0 ] || cat "$log"
  rm -f "$log"
  return $status
}
pack() { (cd build/package && rm -f ./*.deb && quietly cpack -G DEB); }
pack_sources() { (cd build/package && quietly cpack --config CPackSourceConfig.cmake -G TGZ); }

steps_total=4
step "packages" tools/setup.sh package
step "build, for /usr" build
step "Debian packages" pack
step "archive of the sources" pack_sources
ls -sh build/package/*.deb build/package/*.tar.gz
