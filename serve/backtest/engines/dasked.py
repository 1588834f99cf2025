"""Replays by the workers of a Dask cluster, which may come, go and die meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from relume.errors import InputError, UnreachableError
from relume.serve.backtest.engines.lost import outliving_workers
from relume.serve.backtest.engines.work import (
    GivenUp,
    Piece,
    Played,
    Work,
    packed,
    replay_packed,
)
from relume.serve.backtest.engines.worker import TOPIC

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_SECONDS = 30
WINDOW = 256
"""Pieces handed to the scheduler at a time: what is done and not yet fetched is so much at most."""


def library() -> ModuleType:
    """Return Dask's `distributed`, which few need.

    Raises
    ------
    InputError
        Without the extra.
    """
    try:
        import distributed  # noqa: PLC0415 - it takes a second, and not everybody has it
    except ImportError as error:
        raise InputError(
            "--engine dask",
            found=f"no module {error.name}",
            expected="Relume with the extra `dask`",
            hint="pip install 'relume[dask]', where the workers run, too",
        ) from error
    return distributed


@contextmanager
def dask_at(address: str) -> Iterator[Dask]:
    """Yield the engine of the cluster whose scheduler is at `address`, such as tcp://10.0.0.1:8786.

    Certificates for ``tls://`` are those of Dask's own configuration (`docs/backtest.md`).

    Raises
    ------
    UnreachableError
        When it doesn't answer.
    """
    distributed = library()
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise UnreachableError(
            f"the Dask scheduler at {address}",
            found=str(error) or f"no answer in {CONNECT_SECONDS} seconds",
            expected="an address such as tcp://HOST:8786",
            hint="look whether `dask scheduler` runs there; tls:// needs certificates in Dask's "
            "configuration",
        ) from error
    with outliving_workers(), client:
        yield Dask(client)


@dataclass(frozen=True, slots=True)
class Dask:
    """Replays by the workers of `client`'s cluster, as many as there are.

    A piece whose worker is lost is replayed by another one. One over which as many are lost as the
    scheduler allows is tried once more, with no other piece on the way, and then given up.
    """

    client: Client

    @property
    def cores(self) -> int:
        """One for each thread of the workers that are there now."""
        there: dict[str, int] = self.client.nthreads()  # type: ignore[no-untyped-call]
        return max(1, sum(there.values()))

    def run(self, work: Work, pieces: Sequence[Piece]) -> Iterator[Played | GivenUp]:
        """Yield what came of each piece as it is done; see `Engine.run`."""
        sent = _Sent(self.client, packed(work))
        suspects: list[Piece] = []
        for one in sent.run(pieces, WINDOW):
            if isinstance(one, GivenUp):
                suspects.append(one.piece)
            else:
                yield one
        yield from sent.run(suspects, 1)


@dataclass(slots=True)
class _Sent:
    """Packed work at a cluster.

    Dask makes groups of tasks by the words that their keys begin with. Those of a large group which
    all need the same few others go to whoever is free; those of one group with what they need go to
    who holds that, and one worker would get all.
    """

    client: Client
    blob: bytes

    def run(self, pieces: Iterable[Piece], window: int) -> Iterator[Played | GivenUp]:
        """Yield what came of pieces, of which `window` are on their way."""
        # As a task, not as data that is scattered: a worker that is lost loses nothing.
        work = self.client.submit(_same, self.blob, key=_key("work"), pure=False)
        left, running = iter(pieces), library().as_completed(loop=self.client.loop)
        sent: dict[str, tuple[Future[Played], Piece]] = {}
        while True:
            for piece in islice(left, window - len(sent)):
                key = _key("piece")
                future = self.client.submit(replay_packed, work, piece, key=key, pure=False)
                sent[key] = future, piece
                running.add(future)
            if not sent:
                return
            future = next(running)
            _, piece = sent.pop(str(future.key))
            yield self._found(future, piece)

    def _found(self, future: Future[Played], piece: Piece) -> Played | GivenUp:
        """Return what came of a piece.

        Raises
        ------
        RelumeError
            As in the worker, and where workers have no Relume or the scheduler is gone.
        """
        distributed = library()
        try:
            found: Played = future.result()
        except distributed.KilledWorker as error:
            return GivenUp(piece, self._lost(error.allowed_failures + 1, error.last_worker.address))
        except ImportError as error:
            raise InputError(
                f"a Dask worker, for {', '.join(piece)}",
                found=f"no module {error.name} there",
                expected="the same Relume as here, with the extra `dask`",
                hint="start workers from the same environment",
            ) from error
        except distributed.client.FutureCancelledError as error:
            raise UnreachableError(
                "the Dask scheduler",
                found=f"that it went away ({error})",
                hint="call the backtest again with the same --out: it goes on from there",
            ) from error
        return found

    def _lost(self, workers: int, last: str) -> str:
        """Say how many workers were lost, and why the last one ended, where it told."""
        events: Sequence[tuple[float, Any]] = self.client.get_events(TOPIC)
        told = {event["worker"]: event["reason"] for _, event in events}
        why = f"{last}, {told[last]}" if last in told else last
        return f"{workers} workers were lost over it; the last: {why}"


def _key(group: str) -> str:
    return f"relume-{group}-{uuid4().hex}"


def _same(blob: Any) -> Any:  # noqa: ANN401 - bytes, which go through Dask
    return blob
