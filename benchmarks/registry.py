"""Which benches there are. Their code is imported only when one runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from relume.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from relume.benchmarks.result import BenchResult


@dataclass(frozen=True, slots=True)
class Bench:
    """One bench: its id, what it shows, what data it needs, and where its code is.

    `has_quick` says whether it can look quickly, with fewer runs. `minutes` is how long a campaign
    goes on when nobody says; null for a bench that has an end of its own.
    """

    id: str
    shows: str
    data: str
    module: str
    has_quick: bool = False
    minutes: float | None = None

    def run(
        self, data: Path | None, *, quick: bool = False, minutes: float | None = None
    ) -> BenchResult:
        """Import the bench and run it on `data`.

        Parameters
        ----------
        data
            Folder of the recorded corpora, null for none.
        quick
            For a quick look, stored apart by its id.
        minutes
            How long a campaign goes on; null for as long as it says itself. A shorter one is a
            quick look as well.

        Raises
        ------
        InputError
            For a quick look at a bench that has none, and minutes for one that is no campaign.
        """
        self._require(quick=quick, minutes=minutes)
        options: dict[str, float | bool] = {"quick": True} if quick else {}
        if minutes is not None:
            options["minutes"] = minutes
        call: Callable[..., BenchResult] = import_module(self.module).run
        result = call(data, **options)
        if quick or (minutes is not None and minutes < (self.minutes or 0.0)):
            result.id = f"{self.id}-quick"
        return result

    def _require(self, *, quick: bool, minutes: float | None) -> None:
        if quick and not self.has_quick:
            raise InputError(
                f"bench {self.id} --quick",
                found="a bench without a quick form",
                expected=f"one of {', '.join(one.id for one in BENCHES if one.has_quick)}",
                hint="leave --quick out",
            )
        if minutes is not None and self.minutes is None:
            raise InputError(
                f"bench {self.id} --minutes",
                found="a bench with an end of its own",
                expected=f"one of {', '.join(one.id for one in BENCHES if one.minutes)}",
                hint="leave --minutes out",
            )


BENCHES: tuple[Bench, ...] = (
    Bench(
        "cases",
        "verdicts on labelled excerpts of real failures, plain and perturbed",
        "folder with failure-cases/ (and mlperf logs for splicing)",
        "relume.benchmarks.cases",
    ),
    Bench(
        "kill-points",
        "deaths at every write, fsync, rename and unlink, without power too, and 300 kills -9",
        "none",
        "relume.benchmarks.killpoints.bench",
        minutes=60.0,
    ),
    Bench(
        "healthy",
        "verdicts on logs of runs that ended well or that the scheduler ended, and of calm hosts",
        "folder with mlperf-training-v2.1/, bigscience/ and m4-logs/",
        "relume.benchmarks.healthy",
    ),
    Bench(
        "accounting",
        "rows of printed accounting, all of them read or counted by reason",
        "folder with slurm-fixtures/",
        "relume.benchmarks.accounting",
    ),
    Bench(
        "examples",
        "the signature reference's example lines: who they name, and the rule of every wording",
        "failure-signature-examples.jsonl, or the folder that holds it",
        "relume.benchmarks.examples",
    ),
    Bench(
        "diagnose-speed",
        "lines diagnosed per CPU-second and peak memory on mixed real logs",
        "folder with mlperf-training-v2.1/ and failure-cases/",
        "relume.benchmarks.diagnose_speed",
    ),
    Bench(
        "baselines",
        "points per CPU-second of the online baselines, beside river's own",
        "none",
        "relume.benchmarks.baselines",
    ),
    Bench(
        "straggler",
        "slow steps put into recorded paces: how soon they are found; false alarms in quiet "
        "job-days; who is blamed in recorded slow jobs",
        "folder with mlperf-training-v2.1/, bigscience/, bytedance-straggler/ and alibaba-gpu/",
        "relume.benchmarks.straggler.bench",
        has_quick=True,
    ),
    Bench(
        "node-or-job",
        "who is blamed for made-up slow jobs in a published mix of causes, and how many nodes "
        "would be left out for nothing (simulated; takes five minutes)",
        "none",
        "relume.benchmarks.straggler.node_or_job",
        has_quick=True,
    ),
    Bench(
        "hang",
        "recorded runs that fall silent at known lines, at many paces: how soon that is found",
        "folder with mlperf-training-v2.1/",
        "relume.benchmarks.hang.bench",
        has_quick=True,
    ),
    Bench(
        "false-alarms",
        "alarms in thousands of made-up job-days in which nothing is wrong, in five regimes",
        "none (takes ten minutes)",
        "relume.benchmarks.false_alarms.bench",
        has_quick=True,
    ),
    Bench(
        "peers",
        "delay and false alarms of ours and of what others do about silences and slow steps, on "
        "the same job-days",
        "none (takes some minutes)",
        "relume.benchmarks.peers.bench",
        has_quick=True,
    ),
    Bench(
        "streaming",
        "each streaming model beside the baseline that it has to beat: node health, stale "
        "calibrations, which suspicions are right",
        "none (takes some minutes)",
        "relume.benchmarks.streaming.bench",
        has_quick=True,
    ),
    Bench(
        "nab",
        "general detectors on general series: NAB's score, and alarms on normal metrics; no bar",
        "folder with nab/ and exathlon/",
        "relume.benchmarks.nab.bench",
    ),
    Bench(
        "scan",
        "4 GB of healthy log scanned for signatures, beside ripgrep with the same patterns; and "
        "the candidates per megabyte of recorded healthy logs",
        "none (4 GB of disk; ripgrep for the comparison); with a folder that has "
        "mlperf-training-v2.1/, bigscience/ and m4-logs/ recorded logs, too",
        "relume.benchmarks.scan.bench",
        has_quick=True,
    ),
    Bench(
        "error-heavy",
        "generated error lines that no rule knows: templates mined and lines diagnosed per "
        "CPU-second",
        "none",
        "relume.benchmarks.error_heavy",
        has_quick=True,
    ),
    Bench(
        "unmatched",
        "recorded failures without a rule, and whether the lines that are shown of such failures "
        "hold the labelled one",
        "folder with failure-cases/, m4-logs/, loghub/ and mlperf-training-v2.1/",
        "relume.benchmarks.unmatched",
    ),
    Bench(
        "formulas",
        "closed forms of ETTR, MTTF and checkpoints against printed numbers",
        "none",
        "relume.benchmarks.formulas",
    ),
    Bench(
        "goodput",
        "buckets of GPU time of recorded runs, of a recorded cluster of which only the scheduler's "
        "times are known, and of simulated ones: they add up, and nothing is counted twice",
        "folder with mlperf-training-v2.1/, bigscience/, m4-logs/, failure-cases/ and alibaba-gpu/",
        "relume.benchmarks.goodput",
        has_quick=True,
    ),
    Bench(
        "replay",
        "events that a backtest judges per CPU-second: lines as jobs print them, hundreds of lines "
        "a second, and metrics",
        "none (takes some minutes)",
        "relume.benchmarks.replay",
        has_quick=True,
    ),
    Bench(
        "lemons",
        "nodes held by their faults, walking forward through a recorded year of faults: refaults, "
        "faults avoided, node-days held; beside naive rules",
        "folder with infinitehbd/",
        "relume.benchmarks.lemons.bench",
    ),
    Bench(
        "oracle",
        "goodput of a simulated run at three sizes under Relume as measured, against a perfect "
        "detector, the timer of the collectives, and a human",
        "none (takes some minutes)",
        "relume.benchmarks.simulator.oracle",
        has_quick=True,
    ),
    Bench(
        "simulator",
        "simulated faults, repairs and times to failure beside published ones; CPU time of a month",
        "none",
        "relume.benchmarks.simulator.facts",
    ),
    Bench(
        "telemetry",
        "what a backtest finds in the full telemetry of simulated clusters, in which faults come "
        "often (simulated, never pooled with recorded)",
        "none (takes some minutes)",
        "relume.benchmarks.simulator.telemetry.bench",
        has_quick=True,
    ),
    Bench(
        "policy",
        "what is decided when a recorded workload failure comes again in other clothes, with "
        "progress or without, or after another one",
        "folder with failure-cases/ and mlperf-training-v2.1/",
        "relume.benchmarks.policy",
    ),
    Bench(
        "ingest",
        "a generated recording of 10 M lines into a lake: speed and memory; and a small one over "
        "50 kills: no torn segment, no lost or doubled row",
        "none (needs 4 GB of disk; takes some minutes)",
        "relume.benchmarks.ingest.bench",
        has_quick=True,
    ),
    Bench(
        "backtest",
        "recorded and spliced runs through the live pipeline; a lake of 10 M lines: speed and "
        "memory; and results over 50 kills: none lost, doubled or other",
        "folder with mlperf-training-v2.1/, bigscience/, m4-logs/ and failure-cases/ "
        "(4 GB of disk; takes half an hour)",
        "relume.benchmarks.backtest.bench",
        has_quick=True,
    ),
    Bench(
        "scale-out",
        "a backtest by Dask workers that are jobs of a real Slurm: the same bytes, over a killed "
        "worker too; CPU time beside one process; speed on slow reads",
        "none (installs Slurm where it may; takes ten minutes)",
        "relume.benchmarks.scaleout.bench",
        has_quick=True,
    ),
    Bench(
        "dumps",
        "who holds up a hung job by its collective dumps: twelve made-up families of hangs, with "
        "all dumps and with a fifth missing; recorded runs apart; 1,024 ranks",
        "folder with flight-recorder/",
        "relume.benchmarks.dumps.bench",
        has_quick=True,
    ),
    Bench(
        "demo",
        "verdicts on the project's own generated corpus (simulated, never pooled with recorded)",
        "none",
        "relume.benchmarks.demo.bench",
    ),
    Bench(
        "episodes",
        "root line and culprit in generated failures of 8 to 1,024 ranks, half of them in forms "
        "that no rule was written against, and a third group that no rule writer has read "
        "(simulated)",
        "none",
        "relume.benchmarks.episodes.bench",
        has_quick=True,
    ),
    Bench(
        "calibration",
        "how far confidence can be believed, by tables that had not seen the attempt; recorded and "
        "simulated apart",
        "folder with failure-cases/ (takes some minutes)",
        "relume.benchmarks.calibration.bench",
        has_quick=True,
    ),
    Bench(
        "progress",
        "step lines of five frameworks through all that reads progress, in MB per CPU-second",
        "none",
        "relume.benchmarks.progress.bench",
        has_quick=True,
    ),
    Bench(
        "hostile",
        "logs of 1 GB without a line's end or full of NULs, waves of a million lines, and "
        "catastrophic expressions of a site: time, memory and what is said",
        "none (1 GB of disk; takes ten minutes)",
        "relume.benchmarks.hostile.bench",
        has_quick=True,
    ),
    Bench(
        "memory",
        "the memory of its own that diagnosing a log of 10 GB takes",
        "none (10 GB of disk; takes some minutes)",
        "relume.benchmarks.memory",
        has_quick=True,
    ),
    Bench(
        "forged",
        "jobs that print made-up lines of Slurm, kernels and other nodes: none accuses anybody",
        "none",
        "relume.benchmarks.hostile.forged",
        has_quick=True,
    ),
    Bench(
        "loop",
        "failed jobs restarted, moved, stopped or left alone on a real Slurm of one machine "
        "(needs `make torch`; takes half an hour)",
        "none",
        "relume.benchmarks.loop.bench",
        has_quick=True,
    ),
    Bench(
        "latency",
        "from a job's error line, pushed, to the first and the settled Advice about it, as a "
        "client hears of them",
        "none",
        "relume.benchmarks.latency",
        has_quick=True,
    ),
    Bench(
        "load",
        "200,000 samples of 3 M series and 20 MB of lines a second, pushed for ten minutes: rates, "
        "time to a decision, memory, rows counted at both ends",
        "none (some GB of disk)",
        "relume.benchmarks.load.bench",
        minutes=10.0,
    ),
    Bench(
        "pushed-equals-offline",
        "attempts pushed over HTTP at 1 to 1000 times their speed give the Advice of a replay, and "
        "no line is lost or doubled, with 20 kills in between",
        "none (recorded attempts with a folder that holds failure-cases/)",
        "relume.benchmarks.pushed.bench",
        has_quick=True,
    ),
    Bench(
        "page",
        "the dashboard of a real service with 1,000 open incidents in a real Chromium: first load, "
        "what it weighs, what it asks of others",
        "none (needs chromium)",
        "relume.benchmarks.page.bench",
        has_quick=True,
    ),
    Bench(
        "live-equals-offline",
        "a lake judged anew gives the Advice of the live run, killed again and again",
        "none (installs Slurm where it may; 3 minutes)",
        "relume.benchmarks.live_equals_offline",
    ),
    Bench(
        "faults",
        "a service whose disk is full, whose database is away, whose clock jumps, and with clients "
        "that are slow, idle or send what they shouldn't: what it keeps, says and survives",
        "none (as root with MariaDB; takes some minutes)",
        "relume.benchmarks.faults.bench",
        minutes=5.0,
    ),
    Bench(
        "fuzz",
        "a real service under requests made from its OpenAPI document and bodies with something "
        "wrong in them: crashes, status 500, answers that the document doesn't allow",
        "none (needs schemathesis, which `make env` installs)",
        "relume.benchmarks.fuzz.bench",
        minutes=10.0,
    ),
)


def find(bench_id: str) -> Bench:
    """Return the bench of that id.

    Raises
    ------
    InputError
        With the nearest id, when there is none.
    """
    for bench in BENCHES:
        if bench.id == bench_id:
            return bench
    ids = [bench.id for bench in BENCHES]
    raise InputError(
        "unknown bench",
        found=bench_id,
        expected=f"one of {', '.join(ids)}",
        hint=did_you_mean(bench_id, ids) or "see relume bench list",
    )


def data_folder(data: Path | None, bench_id: str, wanted: str, *, file_too: bool = False) -> Path:
    """Return `data`, or say which folder the bench needs (or file, where `file_too`)."""
    if data is None:
        raise InputError(
            f"bench {bench_id} needs recorded data", found="no --data", expected=wanted
        )
    if not (data.is_dir() or (file_too and data.is_file())):
        raise InputError(
            f"bench {bench_id} cannot use --data",
            found=f"{data} is no folder" + (" and no file" if file_too else ""),
            expected=wanted,
        )
    return data
