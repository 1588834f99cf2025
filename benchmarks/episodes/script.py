"""What happens in one episode: records with true times, told by the stories, and its label.

A story calls the methods of a `Script`. It says who prints what and when, and marks the lines that
a careful reader would name as the cause; how lines look and where they go is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from string import Template

from relume.benchmarks.episodes.unseen import words
from relume.benchmarks.episodes.world import World

ERROR, WARNING, INFO = "ERROR", "WARNING", "INFO"
IF_PREFIXED = "rank, if prefixed"
"""A record tells of the culprit's rank by who prints it and who doesn't: prefixes must say who."""


def clock(form: str) -> str:
    """Return a place in a text where the clock of its host stands, in the form of `strftime`."""
    return f"\x02{form}\x03"


class Source(Enum):
    """Who writes a record."""

    RANK = "rank"
    AGENT = "agent"
    LAUNCHER = "launcher"
    KERNEL = "kernel"
    CONTROLLER = "slurmctld"
    NODE_DAEMON = "syslog"


JOB_SOURCES = frozenset({Source.RANK, Source.AGENT, Source.LAUNCHER})


@dataclass(slots=True)
class Record:
    """One message, of one line or several.

    `node` is empty and `rank` -1 where it is none's.

    `at` is the true time in seconds after the start, `late` by how much later it reaches the file.
    `roots` are those of its lines that name the cause, from either end. `tells` is what the text itself
    says of the culprit: ``node`` and ``rank``. `places` is the rank whose node the text tells;
    `lists_nodes` is whether it lists all nodes; `raw` text has no logger's clock; `dated_only`
    would mislead where lines have no date.
    """

    at: float
    source: Source
    node: str
    rank: int
    text: str
    level: str = ERROR
    late: float = 0.0
    roots: tuple[int, ...] = ()
    tells: frozenset[str] = frozenset()
    places: int | None = None
    lists_nodes: bool = False
    raw: bool = False
    dated_only: bool = False


@dataclass(slots=True)
class Truth:
    """What really happened; the generator turns it into what the lines can tell.

    `also_ranks` print or are named by the line of the cause though they did nothing: to say where
    it was printed is no accusation. `also_nodes` failed just as `node` did,
    and `also_names` are no nodes of the job: a storage server, say.
    """

    kinds: tuple[str, ...] = ("crash",)
    domains: tuple[str, ...] = ("unknown",)
    node: str | None = None
    rank: int | None = None
    may_exclude: bool = False
    also_ranks: tuple[int, ...] = ()
    also_nodes: tuple[str, ...] = ()
    also_names: tuple[str, ...] = ()
    state: str = "FAILED"
    exit_code: str = "1:0"


@dataclass(slots=True)
class Script:
    """The stage of one episode.

    `new_words` asks for wordings that no rule was written against; `used_new` says whether there
    were any. With a number in `form` all wordings are of the third group, and it chooses which.
    `launcher` is how ranks were started. With a number in `trained` the steps up to that one are
    told elsewhere.
    """

    world: World
    rng: Random
    launcher: str
    new_words: bool = False
    used_new: bool = False
    form: int | None = None
    now: float = 0.0
    records: list[Record] = field(default_factory=list)
    truth: Truth = field(default_factory=Truth)
    no_cut: bool = False
    trained: int | None = None

    def wait(self, low: float, high: float | None = None) -> float:
        """Let time pass."""
        self.now += low if high is None else self.rng.uniform(low, high)
        return self.now

    @property
    def is_unseen(self) -> bool:
        """Whether wordings are of the third group."""
        return self.form is not None

    def say(
        self, known: Sequence[str], other: Sequence[str] = (), slot: str = "", **facts: object
    ) -> str:
        """Choose a wording: one that rules know, or in other episodes one that they don't.

        `slot` is where wordings of the third group are found, into which `facts` are filled.
        """
        if self.is_unseen and slot:
            return self.unseen(slot, **facts)
        if self.new_words and other:
            self.used_new = True
            return self.rng.choice(other)
        return self.rng.choice(known)

    def swap(self, text: str, slot: str, **facts: object) -> str:
        """Return the text, or what stands in its place in the third group; nothing is drawn."""
        return self.unseen(slot, **facts) if self.is_unseen else text

    def unseen(self, slot: str, **facts: object) -> str:
        """Fill a wording of the third group; episodes of a story go through all that there are."""
        self.used_new = True
        forms = words.FORMS[slot]
        return Template(forms[(self.form or 0) % len(forms)]).substitute(self._facts(**facts))  # type: ignore[arg-type]

    def _facts(self, rank: int | None = None, **more: object) -> dict[str, object]:
        """What wordings may speak of: by default of the culprit, where there is one."""
        world, node = self.world, self.truth.node
        if rank is None:
            rank = self.truth.rank
            if rank is None and node is not None:
                rank = world.ranks_of(node)[0]
        else:
            node = world.node_of(rank)
        facts: dict[str, object] = {
            "job": world.job_id,
            "ranks": world.ranks,
            "per_node": world.per_node,
            "count": len(world.nodes),
            "first": world.nodes[0],
            "n": self.rng.randrange(100, 999),
            "hex": f"{self.rng.randrange(1 << 40):012x}",
        }
        if rank is not None and node is not None:
            facts |= {"rank": rank, "node": node, "address": world.address(node)}
            facts |= {"gpu": world.local(rank), "pci": world.pci(rank), "pid": world.pid(rank)}
        return facts | more

    def rank(
        self,
        rank: int,
        text: str,
        *,
        after: float = 0.0,
        late: float = 0.0,
        level: str = ERROR,
        roots: tuple[int, ...] = (),
        tells: Iterable[str] = (),
        places: int | None = None,
        raw: bool = False,
    ) -> None:
        """Let the process of a rank print; `raw` keeps a logger's own layout off it."""
        text, roots = words.unmarked(text, roots)
        self.records.append(
            Record(
                self.now + after,
                Source.RANK,
                self.world.node_of(rank),
                rank,
                text,
                level,
                late,
                roots,
                frozenset(tells),
                places,
                raw=raw,
            )
        )

    def agent(self, node: str, text: str, *, after: float = 0.0, **facts: object) -> None:
        """Let the launcher's agent of a node print."""
        self._add(Source.AGENT, node, text, after, facts)

    def launch(self, text: str, *, after: float = 0.0, **facts: object) -> None:
        """Let the launcher of the whole job print: srun, mpirun, the driver."""
        self._add(Source.LAUNCHER, "", text, after, facts)

    def kernel(self, node: str, text: str, *, after: float = 0.0, **facts: object) -> None:
        """Let the kernel of a node print."""
        self._add(Source.KERNEL, node, text, after, {"tells": {"node"}} | facts)

    def daemon(self, node: str, text: str, *, after: float = 0.0, **facts: object) -> None:
        """Let a daemon of a node write to its system log: ``program[pid]: text``."""
        self._add(Source.NODE_DAEMON, node, text, after, {"tells": {"node"}} | facts)

    def controller(self, text: str, *, after: float = 0.0, **facts: object) -> None:
        """Let slurmctld print."""
        self._add(Source.CONTROLLER, "", text, after, facts)

    def _add(
        self, source: Source, node: str, text: str, after: float, facts: dict[str, object]
    ) -> None:
        text, roots = words.unmarked(text, facts.pop("roots", ()))  # type: ignore[arg-type]
        record = Record(self.now + after, source, node, -1, text, roots=roots)
        for name, value in facts.items():
            setattr(record, name, frozenset(value) if name == "tells" else value)  # type: ignore[call-overload]
        self.records.append(record)

    def wave(
        self,
        ranks: Iterable[int],
        text: Callable[[int], str],
        *,
        spread: float = 3.0,
        raw: bool = False,
        roots: bool = False,
        after: float = 0.0,
    ) -> None:
        """Let many ranks print the same kind of message within `spread` seconds, in any order."""
        for rank in ranks:
            self.rank(
                rank,
                text(rank),
                after=after + self.rng.uniform(0.0, spread),
                raw=raw,
                roots=(-1,) if roots else (),
            )

    def exception(
        self,
        rank: int,
        error: str,
        *,
        frames: Sequence[tuple[str, int, str, str]] = (),
        after: float = 0.0,
        late: float = 0.0,
        root: bool = False,
        tells: Iterable[str] = (),
    ) -> None:
        """Let a rank die of a Python exception; the exception's own line is the root, if asked.

        A wording with marked lines is no exception and printed as it is.
        """
        is_python = words.MARK not in error
        body = traceback(frames or MAIN_FRAMES, error) if is_python else error
        at = len(body.split("\n")) - len(error.split("\n"))
        roots = (at,) if root else ()
        self.rank(rank, body, after=after, late=late, roots=roots, tells=tells, raw=True)

    def others(self, *but: int) -> list[int]:
        """All ranks except some."""
        return [rank for rank in range(self.world.ranks) if rank not in but]

    def blame(self, *, node: str | None = None, rank: int | None = None) -> None:
        """Say who did it."""
        self.truth.node = node or (None if rank is None else self.world.node_of(rank))
        self.truth.rank = rank


MAIN_FRAMES = (
    ("/workspace/train.py", 318, "<module>", "main(parse_args())"),
    ("/workspace/train.py", 271, "main", "trainer.fit(loader)"),
)


def traceback(frames: Sequence[tuple[str, int, str, str]], error: str) -> str:
    """Return a Python traceback as it is printed."""
    lines = ["Traceback (most recent call last):"]
    for file, line, function, code in frames:
        lines += [f'  File "{file}", line {line}, in {function}', f"    {code}"]
    return "\n".join([*lines, error])
