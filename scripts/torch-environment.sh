#!/bin/sh
# Make the folder .venv-torch: PyTorch for the training job of the demo and the bench on a real Slurm.
# Apart from .venv and outside the lock: Relume itself never imports it, and pip takes a build
# without CUDA where its index has one. Run by the Makefile, which makes .venv first.
set -eu
cd "$(dirname "$0")/.."

version=2.13.0
if ! .venv-torch/bin/python -c "import torch, sys; sys.exit(torch.__version__.split('+')[0] != '$version')" 2>/dev/null; then
  printf 'environment: installing PyTorch %s into .venv-torch\n' "$version" >&2
  .venv/bin/python -m venv --clear .venv-torch
  .venv-torch/bin/python -m pip install -q --disable-pip-version-check "torch==$version"
fi
touch .venv-torch/stamp
