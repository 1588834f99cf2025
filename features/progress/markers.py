"""Lines that are no step but say where the job is: phases, clean ends, restarts, heartbeats.

Each rule's patterns are linear-time and serve both as locators of the block scan and to read the
line. Source of each wording: the project named in its comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import re2


class MarkerKind(StrEnum):
    """What a marker says."""

    PHASE_BEGIN = "phase_begin"
    PHASE_END = "phase_end"
    CLEAN_END = "clean_end"
    """The job itself says that it came to its end."""
    WEAK_END = "weak_end"
    """Usual at a normal end, and printed at others too."""
    RESTART = "restart"
    """Starts again, or goes on from a checkpoint: step numbers may fall back."""
    HEARTBEAT = "heartbeat"
    """A wrapper says that the job is there; no progress."""
    RECOVERED = "recovered"
    """A fault was got over, and the line says so."""


class Phase(StrEnum):
    """The phases of an attempt (DESIGN 4.3)."""

    LAUNCH = "launch"
    FIRST_STEP = "first_step"
    TRAIN = "train"
    EVALUATION = "evaluation"
    CHECKPOINT = "checkpoint"
    TEARDOWN = "teardown"


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker line, read. `phase` is the phase it opens, closes or belongs to."""

    kind: MarkerKind
    phase: Phase


@dataclass(frozen=True, slots=True)
class MarkerRule:
    """One kind of marker with the wordings that make it."""

    kind: MarkerKind
    phase: Phase
    locate: tuple[str, ...]


_BEGIN, _END = MarkerKind.PHASE_BEGIN, MarkerKind.PHASE_END

RULES: Final[tuple[MarkerRule, ...]] = (
    MarkerRule(
        MarkerKind.HEARTBEAT,
        Phase.TRAIN,
        # bigscience slurm-status.py, and watchdog scripts of the same habit
        (
            r"PULSE: .{1,200}\bis (running|waiting|pending)",
            r"(?i)\bheartbeat: .{0,60}\b(alive|running|ok)\b",
        ),
    ),
    MarkerRule(
        MarkerKind.RECOVERED,
        Phase.TRAIN,
        (
            r"wandb: Network error resolved after",
            r"(?i)\b(re-?connected|connection (was )?(restored|re-?established))\b",
            r"(?i)\b(retry|retries|attempt)( #?\d+)? (has )?succeeded\b",
            r"(?i)\bsucceeded (after|on|at) (\d+ |the )?(first |second |third )?(retr|attempt)",
            r"(?i)\brecovered (successfully|from (the |a )?(error|failure|timeout|stall))",
        ),
    ),
    MarkerRule(
        MarkerKind.CLEAN_END,
        Phase.TEARDOWN,
        (
            r':::MLLOG \{.{0,200}"key": "run_stop".{0,400}"status": "success"',
            r"'train_runtime': ",
            r"Training completed\. Do not forget",  # transformers
            r"(?i)\btraining (is |has |was )?(successfully )?(completed?|finished|done|ended)\b",
            r"(?i)\b(finished|completed|done with) training\b",
            r"done training in [\d.]+ seconds",  # fairseq
            r"\[after training is done\] datetime",  # Megatron-LM
            r"`?Trainer\.fit`? stopped: `?max_(steps|epochs)=",  # Lightning
            r"exiting program at iteration \d",  # Megatron-LM, --exit-interval
            r"(?i)\bexit(ed with)?( exit)?[ _]?code:? (=|is )?0(\s|[,;)]|\.?$)",
            r"(?i)\bjob (\S+ )?(has )?(completed|finished) successfully",
            r"Optimization Done\.$",  # Caffe
        ),
    ),
    MarkerRule(
        MarkerKind.WEAK_END,
        Phase.TEARDOWN,
        (
            r"^real\s+\d+m[\d.]+s",  # bash's time, whatever the exit status was
            r"process group has NOT been destroyed",
            r"destroy_process_group\(\) was not called before program exit",
        ),
    ),
    MarkerRule(
        MarkerKind.RESTART,
        Phase.LAUNCH,
        (
            r"(?i)\b(successfully )?load(ing|ed) (model )?checkpoint '?(from|at|in)\b",
            r"(?i)\bresum(e|ed|ing) (the )?(training|from|at|run|epoch|step|iteration)\b",
            r"(?i)Continuing training from (checkpoint|epoch|global_step)",  # transformers
            r"Restor(ed|ing) (all )?states from the checkpoint",  # Lightning
            r"(?i)\b(re)?starting worker group",
            r"will restart worker group",
            r"\] (re)?starting workers for entrypoint",  # torchelastic: [role] in front
            r"Starting with JobEnvironment\(job_id=",  # submitit
            r"Requeued job \d",
        ),
    ),
    MarkerRule(
        _BEGIN,
        Phase.EVALUATION,
        (
            r"\*{2,5} ?Running (Evaluation|evaluation|Prediction|Test)",
            r"(?i)\b(start(ing|ed)?|begin(ning)?|running) (the )?(validation|evaluation|eval)\b",
            r'(?i)\bbegin validation on "',  # fairseq
            r"(?i)\bevaluating (on|iter|the|model|for|\d)",
            r"Start(ed|ing)? inference on \d",  # detectron2
            r':::MLLOG \{.{0,200}"key": "eval_start"',
        ),
    ),
    MarkerRule(
        _END,
        Phase.EVALUATION,
        (
            r"(?i)\b(finished|completed|done|end of) (with |the )?(validation|evaluation)\b",
            r"(?i)\b(validation|evaluation) (is |has )?(finished|completed?|done)\b",
            r"(?i)\b(valid|validation|test) loss at (iteration|the end)",  # Megatron-LM
            r"\{'eval_\w+': ",
            r"step \d+: train loss [\d.]+, val loss",  # nanoGPT
            r':::MLLOG \{.{0,200}"key": "eval_(stop|accuracy)"',
            r"Total inference time: ",  # detectron2
        ),
    ),
    MarkerRule(
        _END,
        Phase.CHECKPOINT,
        (
            r"(?i)\b(successfully saved|finished saving|done saving) (the )?(model )?checkpoint",
            r"(?i)\bsaved (the )?(model |full |training )?(checkpoint|state|snapshot)",
            r"(?i)checkpoint (save )?.{0,80}\b(finalized successfully|is ready|saved|written)\b",
            r"(?i)\bcheckpoint \S+ saved\b",
            r"(?i)\b(model|optimizer) (weights|state|checkpoint) .{0,60}saved (in|to|at)\b",
            r"\[Torch\] Saved ",  # DeepSpeed
            r"save_(all|checkpoint)\S* call done",
        ),
    ),
    MarkerRule(
        _BEGIN,
        Phase.CHECKPOINT,
        (
            r"(?i)\bsaving (\w+ ){0,3}(checkpoints?|state|snapshot|model)\b",
            r"(?i)\bscheduled async checkpoint",  # NeMo
            r"\[Torch\] Saving ",  # DeepSpeed
            r"(?i)\b(writing|storing|creating) (the |a )?(model )?checkpoint\b",
            r"', saving model to '",  # Lightning
        ),
    ),
    MarkerRule(
        _BEGIN,
        Phase.TRAIN,
        (
            r"\*{2,5} ?Running training",  # transformers
            r"\[before the start of training step\] datetime",  # Megatron-LM
            r"(?i)\b(start(ing|ed)?|begin(ning)?|launch(ing)?) (the )?training\b",
            r"Training (starts|started) at (step|epoch|iteration)",  # torchtitan
            r"Start running, host: ",  # mmcv
            r'(?i):::MLLOG \{.{0,200}"key": "run_start"',
            r"Starting training from iteration",  # detectron2
        ),
    ),
)
"""All rules; where several match one line, the first counts."""

MARKER_LOCATE: Final[tuple[str, ...]] = tuple(p for rule in RULES for p in rule.locate)
"""Linear-time patterns (Hyperscan, RE2 and `re` alike) that find marker lines."""
MARKERS: Final[tuple[Marker, ...]] = tuple(
    Marker(rule.kind, rule.phase) for rule in RULES for _ in rule.locate
)
"""The marker that each pattern of `MARKER_LOCATE` means, at the same position."""

_QUOTED: Final = re.compile(r"^\s*(?:\+|#|>>>|File \"|--\w)")
"""Shell traces, comments and code: what is said there isn't happening."""


def _build_set() -> re2.Set:
    options = re2.Options()
    options.never_capture = True
    located = re2.Set.SearchSet(options)
    for pattern in MARKER_LOCATE:
        located.Add(pattern)
    located.Compile()
    return located


_SET: Final = _build_set()


def parse_marker(message: str) -> Marker | None:
    """Read one message as a marker, null when it is none. Never raises.

    Examples
    --------
    >>> marker = parse_marker("***** Running training *****")
    >>> marker.kind, marker.phase
    (<MarkerKind.PHASE_BEGIN: 'phase_begin'>, <Phase.TRAIN: 'train'>)
    """
    try:
        located = _SET.Match(message)
    except UnicodeEncodeError:  # undecodable bytes kept as lone surrogates
        located = _SET.Match(message.encode("utf-8", "replace").decode("utf-8"))
    return marker_located(message, located) if located else None


def marker_located(message: str, patterns: Iterable[int]) -> Marker | None:
    """Return what a line means in which these patterns of `MARKER_LOCATE` were found."""
    if _QUOTED.match(message):
        return None
    return MARKERS[min(patterns)]
