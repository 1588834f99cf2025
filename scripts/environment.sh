#!/bin/sh
# Make the folder .venv: Python packages pinned by hash in requirements.lock, Relume itself editable.
# Needs Python >= 3.11 with venv; where this is root on apt, installs it. Run by the Makefile.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'environment: %s\n' "$*" >&2; }

# A Python that can make environments: new enough, and with ensurepip (Debian packs it apart).
usable() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if command -v "$candidate" >/dev/null && usable "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

install_python() {
  say 'no Python >= 3.11 with venv found; installing python3-venv'
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >&2
  apt-get install -q -y python3-venv >&2
}

advise() {
  say "found $(python3 --version 2>&1 || true), expected Python >= 3.11 with venv and ensurepip"
  say 'run `apt-get install python3-venv` (for another Python 3.N: python3.N-venv), or `make PYTHON=/path/to/python`'
  exit 3
}

if ! python=$(find_python); then
  if [ "$(id -u)" = 0 ] && [ -z "${PYTHON:-}" ] && command -v apt-get >/dev/null; then
    install_python
  fi
  python=$(find_python) || advise
fi

# Keep a working environment (a second run only brings it up to date), else make it anew.
if ! .venv/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  say "making .venv with $("$python" --version)"
  "$python" -m venv --clear .venv
fi

# uv is pinned in the lock like the rest, so that its hash is checked as well.
sed -n '/^uv==/,/[^\\]$/p' requirements.lock >.venv/uv.txt
.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r .venv/uv.txt
export UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV="$PWD/.venv"
.venv/bin/uv pip sync --compile-bytecode --require-hashes requirements.lock
.venv/bin/uv pip install --no-deps --no-build-isolation --editable .

# Imports are 2-5x slower without byte code, PYTHONDONTWRITEBYTECODE may be set, and compileall
# follows no links: so compile here, each folder by its root path.
.venv/bin/python -m compileall -q src/relume ingest features models serve controller benchmarks
touch .venv/stamp
