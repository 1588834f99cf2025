"""Streaming models on disk: pickles, read by a loader that knows a few classes and nothing else."""

from __future__ import annotations

import io
import pickle
from typing import Any

from relume.errors import InputError

FORMAT = 4
"""Pickle protocol that is written."""
_PLAIN = {
    "builtins": {"dict", "list", "set", "tuple", "int", "float", "bool", "str", "object"},
    "collections": {"Counter", "defaultdict", "deque", "OrderedDict"},
    "copyreg": {"_reconstructor"},
    "functools": {"partial"},
    "_codecs": {"encode"},
    "random": {"Random"},
}
_RIVER = {
    "river._river_rust.drift": {"AdaptiveWindowing"},
    "river._river_rust.vectordict": {"VectorDict"},
    "river.anomaly.hst": {"HalfSpaceTrees", "make_padded_tree"},
    "river.drift.adwin": {"ADWIN"},
    "river.linear_model.log_reg": {"LogisticRegression"},
    "river.optim.initializers": {"Zeros"},
    "river.optim.losses": {"Log"},
    "river.optim.schedulers": {"Constant"},
    "river.optim.sgd": {"SGD"},
    "river.preprocessing.scale": {"StandardScaler"},
    "river.tree.padded": {"PaddedBranch", "PaddedLeaf"},
}
_ALLOWED = {(module, name) for module, names in (_PLAIN | _RIVER).items() for name in names}


def dump(*parts: object) -> bytes:
    """Return the parts of a model as bytes, for `load`."""
    return pickle.dumps(parts, FORMAT)


def load(saved: bytes, *expected: type) -> tuple[Any, ...]:
    """Return the parts that `dump` made bytes of.

    Raises
    ------
    InputError
        When it can't be read, holds anything that no model of ours is made of, or other parts.
    """
    try:
        parts = _Loader(io.BytesIO(saved)).load()
    except InputError:
        raise
    except Exception as error:  # a broken pickle raises whatever it likes
        raise InputError(
            "a streaming model can't be restored", found=f"{type(error).__name__}: {error}"
        ) from error
    found = tuple(map(type, parts)) if isinstance(parts, tuple) else (type(parts),)
    if found != expected:
        raise InputError(
            "a streaming model can't be restored",
            found=" ".join(one.__name__ for one in found),
            expected=" ".join(one.__name__ for one in expected),
        )
    return tuple(parts)


class _Loader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in _ALLOWED:
            raise InputError(
                "a streaming model can't be restored",
                found=f"{module}.{name}, which no model is made of",
                hint="it isn't ours: delete it, and the model learns anew",
            )
        return super().find_class(module, name)
