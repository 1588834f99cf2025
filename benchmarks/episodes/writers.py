"""How a line of a rank looks: the prefixes of launchers and loggers, and what they tell.

`known` are those that `relume.ingest.grammar` was written for; the others print the same facts
(which rank, which node, when) in other words. `mpirun_tag` is known, but its launcher's own words are
not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import orjson

from relume.benchmarks.episodes.world import World

Write = Callable[["Voice", str], str]


@dataclass(frozen=True, slots=True)
class Voice:
    """Who writes one line, when by its own clock, and how loud."""

    world: World
    rank: int
    clock: datetime
    zoned: datetime
    level: str

    @property
    def node(self) -> str:
        """Node of the rank."""
        return self.world.node_of(self.rank)


@dataclass(frozen=True, slots=True)
class Style:
    """One way to write: its name, whether rules know it, what it tells, and how it is written.

    `launchers` are those under which a job can look so, all when empty; a `whole` message is in one
    line, however many it had.
    """

    name: str
    known: bool
    write: Write
    tells: frozenset[str] = frozenset()
    launchers: frozenset[str] = frozenset()
    whole: bool = False

    def fits(self, launcher: str) -> bool:
        """Whether a job of that launcher can look so: the label of `srun` is no rank under torchrun."""
        return not self.launchers or launcher in self.launchers


def style(
    name: str, tells: str, write: Write, *, known: bool = False, only: str = "", whole: bool = False
) -> Style:
    """Make a style; what it tells and its launchers are words with spaces between."""
    return Style(name, known, write, frozenset(tells.split()), frozenset(only.split()), whole)


def milliseconds(clock: datetime, mark: str = ",") -> str:
    """Date and time as Python's loggers print them."""
    return f"{clock:%Y-%m-%d %H:%M:%S}{mark}{clock.microsecond // 1000:03d}"


def as_json(**fields: object) -> str:
    """A line of JSON."""
    return orjson.dumps(fields).decode()


KNOWN_STYLES = (
    style("torch", "rank", lambda v, t: f"[rank{v.rank}]: {t}", known=True),
    style("srun_label", "rank", lambda v, t: f"{v.rank}: {t}", known=True, only="srun"),
    style(
        "srun_label_torch",
        "rank",
        lambda v, t: f"{v.world.nodes.index(v.node)}: [rank{v.rank}]: {t}",
        known=True,
        only="torchrun",
    ),
    style(
        "srun_label_clock",
        "rank",
        lambda v, t: f"{v.rank}: {milliseconds(v.clock)} {v.level} {t}",
        known=True,
        only="srun",
    ),
    style(
        "torchrun_local",
        "",
        lambda v, t: f"[default{v.world.local(v.rank)}]:{t}",
        known=True,
        only="torchrun",
    ),
    style("lightning", "rank", lambda v, t: f"[rank: {v.rank}] {t}", known=True),
    style(
        "clock_torch",
        "rank",
        lambda v, t: f"[{milliseconds(v.clock)}] [rank{v.rank}]: {t}",
        known=True,
    ),
    style(
        "composer",
        "rank",
        lambda v, t: (
            f"{milliseconds(v.clock)}: rank{v.rank}[{v.world.pid(v.rank)}][MainThread]: {v.level}: main: {t}"
        ),
        known=True,
    ),
    style(
        "docker",
        "rank",
        lambda v, t: f"{v.clock:%Y-%m-%dT%H:%M:%S.%f}Z [rank{v.rank}]: {t}",
        known=True,
    ),
)
OTHER_STYLES = (
    style(
        "mpirun_tag", "rank", lambda v, t: f"[1,{v.rank}]<stderr>:{t}", known=True, only="mpirun"
    ),
    style("bare_bracket", "rank", lambda v, t: f"[{v.rank}]: {t}", known=False),
    style("worker_bar", "rank", lambda v, t: f"worker-{v.rank} | {t}", known=False),
    style(
        "logfmt",
        "rank node",
        lambda v, t: (
            f"ts={v.clock:%Y-%m-%dT%H:%M:%S.%f}Z level={v.level.lower()} host={v.node} "
            f"rank={v.rank} msg={orjson.dumps(t).decode()}"
        ),
        known=False,
        whole=True,
    ),
    style(
        "json_logger",
        "rank node",
        lambda v, t: as_json(
            timestamp=f"{v.clock:%Y-%m-%dT%H:%M:%S.%f}Z",
            level=v.level,
            host=v.node,
            rank=v.rank,
            message=t,
        ),
        known=False,
        whole=True,
    ),
    style(
        "json_shipper",
        "rank node",
        lambda v, t: as_json(
            **{
                "@timestamp": f"{v.clock:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z",
                "log": {"file": {"path": f"/var/log/jobs/{v.world.job_id}/task_{v.rank}.err"}},
                "message": t,
                "agent": {"hostname": v.node, "type": "filebeat"},
            },
        ),
        known=False,
    ),
    style(
        "loki labels",
        "rank node",
        lambda v, t: (
            f'{v.zoned:%Y-%m-%dT%H:%M:%S%z} {{job="{v.world.job_id}", node="{v.node}", '
            f'procid="{v.rank}"}} {t}'
        ),
        known=False,
    ),
    style("pod", "rank", lambda v, t: f"[pod/llm-train-worker-{v.rank}/pytorch] {t}", known=False),
    style("host_slash", "rank node", lambda v, t: f"{v.node}/{v.rank}> {t}", known=False),
    style(
        "host_local",
        "node",
        lambda v, t: f"[{v.node}:gpu{v.world.local(v.rank)}] {t}",
        known=False,
    ),
    style("r_of", "rank", lambda v, t: f"(r{v.rank:04d}/{v.world.ranks}) {t}", known=False),
    style("rank_equals", "rank", lambda v, t: f"rank={v.rank} {t}", known=False),
    style(
        "loguru_bound",
        "rank node",
        lambda v, t: (
            f"{milliseconds(v.clock, '.')} | {v.level:<8} | {v.node} | global_rank={v.rank} | "
            f"trainer.loop:run:204 - {t}"
        ),
        known=False,
    ),
    style(
        "absl_proc",
        "rank",
        lambda v, t: (
            f"{v.level[0]}{v.clock:%m%d %H:%M:%S.%f} {v.world.pid(v.rank)} train.py:88] "
            f"[process={v.rank}] {t}"
        ),
        known=False,
    ),
    style(
        "prrte_tag",
        "rank node",
        lambda v, t: f"[prterun-{v.world.nodes[0]}-3921@1,{v.rank}][{v.node}]<stderr>: {t}",
        known=False,
        only="mpirun",
    ),
    style(
        "slurm_template",
        "rank node",
        lambda v, t: f"{v.world.job_id}.0 {v.node} task {v.rank:>4} | {t}",
        known=False,
        only="srun",
    ),
    style("angle", "rank", lambda v, t: f"<{v.rank}> {t}", known=False),
    style(
        "german_dates",
        "rank",
        lambda v, t: f"{v.zoned:%d.%m.%Y %H:%M:%S} Rang {v.rank} {v.level}: {t}",
        known=False,
    ),
)
PLAIN = style("plain", "", lambda _, t: t, known=True)
CLOCKED = style(
    "plain_clock", "", lambda v, t: f"{milliseconds(v.clock)} - {v.level} - {t}", known=True
)
"""For files that tell by their name who wrote them."""
