"""What simulated clusters are made of; the published rates by default."""

from __future__ import annotations

import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from relume.errors import InputError
from relume.verdict import Domain

PUBLISHED = Path(__file__).with_name("published.toml")
_MAX_FACTOR = 10_000


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Faults(_Part):
    """Faults of nodes: how many, how they cluster, how long repairs take."""

    per_node_day: float = Field(ge=0)
    node_size: float = Field(gt=0)
    again_share: float = Field(ge=0, lt=1)
    again_median_days: float = Field(gt=0)
    again_spread: float = Field(ge=0)
    together_share: float = Field(ge=0, lt=1)
    repair_median_days: float = Field(gt=0)
    repair_spread: float = Field(ge=0)
    persistent_share: float = Field(ge=0, le=1)
    fails_again_mean_seconds: float = Field(gt=0)


class Cause(_Part):
    """One cause of failures.

    `node`: it is tied to one node. `loses_node`: that goes down, and Slurm takes it out.
    """

    name: str
    weight: float = Field(gt=0)
    domain: Domain
    node: bool
    loses_node: bool = False


class Kinds(_Part):
    """How failures show."""

    hang_share: float = Field(ge=0, le=1)
    repeats_share: float = Field(ge=0, le=1)
    mend_seconds: float = Field(ge=0)


class Stragglers(_Part):
    """Slow times of runs."""

    per_job_day: float = Field(ge=0)
    node_share: float = Field(ge=0, le=1)
    factor: float = Field(ge=1)
    node_factor: float = Field(ge=1)
    mean_seconds: float = Field(gt=0)


class Run(_Part):
    """What a restart and a checkpoint are like, and how many nodes there are beside a run."""

    restart_seconds: float = Field(ge=0)
    checkpoint_seconds: float = Field(gt=0)
    node_timeout_seconds: float = Field(ge=0)
    check_seconds: float = Field(ge=0)
    spare_share: float = Field(ge=0)


class Mix(_Part):
    """Jobs of a cluster: how large, how long."""

    nodes: tuple[int, ...] = Field(min_length=1)
    weights: tuple[float, ...] = Field(min_length=1)
    median_hours: float = Field(gt=0)
    spread: float = Field(ge=0)

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        if len(self.nodes) != len(self.weights) or min(self.weights) < 0 or min(self.nodes) < 1:
            raise ValueError("as many weights as sizes, none below zero, sizes from 1 on")
        return self


class Parameters(_Part):
    """All of it."""

    faults: Faults
    causes: tuple[Cause, ...] = Field(min_length=1)
    kinds: Kinds
    stragglers: Stragglers
    run: Run
    mix: Mix

    def with_faults(self, factor: float) -> Self:
        """Return the same with so many times as many faults: to see some in a small cluster.

        Raises
        ------
        InputError
            For a factor that is none.
        """
        if not 0 <= factor < _MAX_FACTOR:
            raise InputError(
                "times as many faults", found=f"{factor:g}", expected=f"0 to {_MAX_FACTOR}"
            )
        faults = self.faults.model_copy(update={"per_node_day": self.faults.per_node_day * factor})
        return self.model_copy(update={"faults": faults})

    @property
    def node_weight(self) -> float:
        """Share of failures that are tied to a node."""
        total = sum(cause.weight for cause in self.causes)
        return sum(cause.weight for cause in self.causes if cause.node) / total


def load(path: Path = PUBLISHED) -> Parameters:
    """Read parameters from a TOML file.

    Raises
    ------
    InputError
        When it can't be read, or a part is missing, unknown or out of its range.

    Examples
    --------
    >>> load().faults.per_node_day
    0.0038
    """
    try:
        return Parameters.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(str(path), found=str(error), expected="a TOML file") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {place}", found=first["msg"]) from error


def file_hash(path: Path = PUBLISHED) -> str:
    """Return the hash that a published result names: of the whole file, comments and all."""
    return sha256(path.read_bytes()).hexdigest()[:16]
