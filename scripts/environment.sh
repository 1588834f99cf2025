#!/bin/sh
# Make the folder .venv: Python packages pinned by hash in requirements.lock, Relume itself editable.
# Needs Python >= 3.11 with venv; where this is root on apt, installs it. Run by the Makefile.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'environment: %s\n' "$*" >&2; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# Debian and Ubuntu pack the modules that make environments apart from Python.
usable() { new_enough "$1" && "$1" -c 'import venv, ensurepip' 2>/dev/null; }

# The first Python for which the given test holds.
first_python() {
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if command -v "$candidate" >/dev/null && "$1" "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# The package that makes the Python at hand usable; where none is new enough, the default one.
venv_package() {
  if python=$(first_python new_enough); then
    "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
  else
    echo python3-venv
  fi
}

if ! python=$(first_python usable); then
  package=$(venv_package)
  say "found $(python3 --version 2>&1 || true), expected Python >= 3.11 with venv and ensurepip"
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing $package"
    export DEBIAN_FRONTEND=noninteractive
    if ! { apt-get update -q && apt-get install -q -y "$package"; } >&2; then
      say "apt could not install $package"
    fi
  fi
  if ! python=$(first_python usable); then
    say "run \`apt-get install $package\`, or \`make PYTHON=/path/to/a/newer/python\`"
    exit 3
  fi
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
