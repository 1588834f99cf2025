"""Reports of NCCL's RAS, as ``ncclras`` prints them: text, and JSON since NCCL 2.28.

Source: ``src/ras/client_support.cc``. As text it names ranks only where they are few; how many the
others are comes from its summary and its counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from relume.dumps import RasCommunicator, RasLaunched, RasPlace, RasReport

MAX_COMMUNICATORS: Final = 4096
MAX_PLACES: Final = 1 << 17
MAX_TEXT: Final = 200

_GROUP_ROW = re.compile(
    r"\s{0,8}(?P<group>\d{1,6})\s+\d+\s+\d+\s+[\d-]+\s+(?P<size>\d{1,7})\s+\d+\s+[A-Z]+\s"
)
_HEADING = re.compile(r"#(?P<group>\d{1,6})-\d{1,6} \((?P<name>[0-9a-f]{1,16})\) (?P<what>[A-Z]+)")
_COUNTS = re.compile(
    r" {2}Communicator ranks have different (?P<operation>\w{1,40}) operation counts"
)
_MANY = re.compile(
    r" {2}(?P<ranks>\d{1,7}) ranks have "
    r"(?:launched up to operation (?P<number>\d{1,19})|not launched)"
)
_PLACE = re.compile(
    r" {2}Rank (?P<rank>\d{1,7})"
    r"(?: has (?:launched up to operation (?P<number>\d{1,19})"
    r"|(?P<none>not launched) any operations|status \w+)"
    r"| reported (?P<error>[^-]{1,80}?))? -- "
    r"(?:GPU (?P<gpu>\d{1,3})(?: \(NVML \d+\))? managed by process \d+"
    r" on node (?P<node>\S{1,253})|\[)"
)
_ERRORS = re.compile(r" {2}\d{1,7} ranks? reported (?P<error>.{1,80})")
_PROCESS = re.compile(
    r" {2}Process \d+ on node (?P<node>\S{1,253}) managing GPUs? (?P<gpu>[\d,]{1,200})"
)


def read_text(text: str, file: str) -> RasReport:
    r"""Read a report as text.

    Examples
    --------
    >>> report = read_text(
    ...     "#0-0 (00ab) MISMATCH\n"
    ...     "  Communicator ranks have different AllReduce operation counts\n"
    ...     "  7 ranks have launched up to operation 12\n"
    ...     "  Rank 3 has launched up to operation 11"
    ...     " -- GPU 3 managed by process 9 on node 10.0.0.1\n",
    ...     "ras.txt",
    ... )
    >>> [few for few in report.communicators[0].launched["AllReduce"] if few.places][0].number
    11
    """
    reader = _Reader()
    for line in text.splitlines():
        reader.read(line)
    return reader.report(file)


class _Reader:
    """Takes the lines of a report one by one; what is no line of one is passed over."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._section = ""
        self._comms: dict[str, _Comm] = {}
        self._dead: list[RasPlace] = []
        self._kept = 0

    def read(self, line: str) -> None:
        if (row := _GROUP_ROW.match(line)) is not None:
            self._sizes[row["group"]] = int(row["size"])
        elif (heading := _HEADING.match(line)) is not None:
            self._begin(heading["name"], self._sizes.get(heading["group"]), heading["what"])
        elif line and not line.startswith(" "):
            self._section = line.strip()
            self._comm = None
        elif (process := _PROCESS.match(line)) is not None:
            if self._section in {"DEAD", "INCOMPLETE"} and self._comm is None:
                self._dead.append(RasPlace(node=process["node"], gpu=process["gpu"]))
        elif self._comm is not None:
            self._comm.read(line)

    _comm: _Comm | None = None

    def _begin(self, name: str, size: int | None, what: str) -> None:
        if name not in self._comms and len(self._comms) >= MAX_COMMUNICATORS:
            self._comm = None
            return
        self._comm = self._comms.setdefault(name, _Comm(name, size))
        self._comm.begin(what)

    def report(self, file: str) -> RasReport:
        comms = tuple(comm.made() for comm in self._comms.values())
        return RasReport(file=file, communicators=comms, dead=tuple(self._dead[:MAX_PLACES]))


class _Comm:
    """One communicator, line by line."""

    def __init__(self, name: str, size: int | None) -> None:
        self._name, self._size = name, size
        self._what = self._operation = self._error = ""
        self._many: int | None = None
        self._counts: dict[str, list[tuple[int, int, RasPlace | None]]] = {}
        self._unresponsive: list[RasPlace] = []
        self._errors: list[tuple[RasPlace, str]] = []

    def begin(self, what: str) -> None:
        self._what, self._operation, self._error, self._many = what, "", "", None

    def read(self, line: str) -> None:
        if (counts := _COUNTS.match(line)) is not None:
            self._operation, self._many = counts["operation"], None
        elif (many := _MANY.match(line)) is not None:
            self._many = int(many["number"] or 0)
            self._count(self._many, int(many["ranks"]), None)
        elif (errors := _ERRORS.match(line)) is not None:
            self._error = errors["error"].strip()
        elif (found := _PLACE.match(line)) is not None:
            self._take(found)

    def _take(self, found: re.Match[str]) -> None:
        place = RasPlace(rank=int(found["rank"]), node=found["node"], gpu=found["gpu"])
        if self._what == "ERROR":
            self._errors.append((place, (found["error"] or self._error)[:MAX_TEXT]))
        elif self._what == "INCOMPLETE":
            self._unresponsive.append(place)
        elif self._operation and (found["number"] or found["none"]):
            self._count(int(found["number"] or 0), 1, place)
        elif self._operation and self._many is not None:
            self._count(self._many, 0, place)  # one of those that the line before counted

    def _count(self, number: int, ranks: int, place: RasPlace | None) -> None:
        self._counts.setdefault(self._operation, []).append((number, ranks, place))

    def made(self) -> RasCommunicator:
        return RasCommunicator(
            name=self._name,
            size=self._size,
            launched={op: _launched(counts) for op, counts in self._counts.items() if op},
            unresponsive=tuple(self._unresponsive),
            errors=tuple(self._errors),
        )


def _launched(counts: Iterable[tuple[int, int, RasPlace | None]]) -> tuple[RasLaunched, ...]:
    ranks: dict[int, int] = {}
    places: dict[int, list[RasPlace]] = {}
    for number, many, place in counts:
        ranks[number] = ranks.get(number, 0) + many
        if place is not None:
            places.setdefault(number, []).append(place)
    return tuple(
        RasLaunched(number=n, ranks=ranks[n], places=tuple(places.get(n, ())))
        for n in sorted(ranks)
    )


# --- JSON --------------------------------------------------------------------------------------


class _Rank(NamedTuple):
    place: RasPlace
    counts: Mapping[str, int]
    error: str | None


def read_json(document: object, file: str) -> RasReport:
    """Read a report as JSON; what is not as NCCL writes it is passed over."""
    told = document.get("communicators") if isinstance(document, dict) else None
    found = [item for item in told if isinstance(item, dict)] if isinstance(told, list) else []
    comms = [_communicator(item) for item in found[:MAX_COMMUNICATORS]]
    dead = {
        place
        for item in found[:MAX_COMMUNICATORS]
        for missing in _dicts(item.get("missing_ranks"))
        if _status(missing).get("considered_dead") is True
        for place in [_place(missing)]
    }
    ordered = sorted(dead, key=lambda place: (place.node or "", place.gpu or "", place.rank or 0))
    return RasReport(file=file, communicators=tuple(comms), dead=tuple(ordered))


def _communicator(item: Mapping[str, Any]) -> RasCommunicator:
    ranks = [_rank(rank) for rank in _dicts(item.get("ranks"))]
    missing = _dicts(item.get("missing_ranks"))
    gone = [_place(m) for m in missing if _status(m).get("unresponsive") is not False]
    return RasCommunicator(
        name=str(item.get("hash"))[:MAX_TEXT],
        size=_whole(item.get("size")),
        launched=dict(_differing(ranks)),
        unresponsive=tuple(gone),
        errors=tuple((rank.place, rank.error) for rank in ranks if rank.error),
    )


def _differing(ranks: list[_Rank]) -> Iterator[tuple[str, tuple[RasLaunched, ...]]]:
    for operation in sorted({name for rank in ranks for name in rank.counts}):
        counts = [(rank.counts.get(operation, 0), 1, rank.place) for rank in ranks]
        if len({number for number, _, _ in counts}) > 1:
            yield operation[:MAX_TEXT], _launched(counts)


def _rank(item: Mapping[str, Any]) -> _Rank:
    told = item.get("collective_counts")
    counts = told.items() if isinstance(told, dict) else ()
    numbers = {str(name): n for name, value in counts if (n := _whole(value)) is not None}
    code = _whole(_status(item).get("async_error"))
    return _Rank(_place(item), numbers, _ERROR_WORDS.get(code or 0))


_ERROR_WORDS: Final = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
}
"""``ncclResult_t``, in the words of the text form; 7 is an operation in progress."""


def _place(item: Mapping[str, Any]) -> RasPlace:
    node, gpu = item.get("host"), _whole(item.get("cuda_dev"))
    known = isinstance(node, str) and node not in {"", "unknown"}
    return RasPlace(
        rank=_whole(item.get("rank")),
        node=str(node)[:MAX_TEXT] if known else None,
        gpu=None if gpu is None else str(gpu),
    )


def _status(item: Mapping[str, Any]) -> Mapping[str, Any]:
    told = item.get("status")
    return told if isinstance(told, dict) else {}


def _dicts(value: object) -> list[Mapping[str, Any]]:
    items = value[:MAX_PLACES] if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def _whole(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 1 << 63 else None
