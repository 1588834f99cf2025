"""What slurmctld, slurmd and node health checks log of nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.events import Actor, CheckOutcome, LogLine, NodeEvent
from relume.ingest.loglines import LineParser
from relume.ingest.nodes.actors import judge
from relume.ingest.nodes.daemons import MAX_REASONS, DaemonReader, telling_lines
from relume.ingest.skips import SkipCounts

CLOCK = "[2026-01-02T03:04:05.678] "


def read(*lines: str, file: str = "slurmctld.log") -> list[NodeEvent]:
    reader, parser = DaemonReader(SkipCounts()), LineParser(file, stream="slurmctld")
    parsed = (parser.parse(CLOCK + text, number, 0) for number, text in enumerate(lines))
    return [event for line in parsed for event in reader.read(line)]


def said(*lines: str) -> list[tuple[str, str | None, str | None, Actor | None]]:
    return [(event.node, event.state, event.reason, event.actor) for event in read(*lines)]


@pytest.mark.parametrize(
    ("line", "state", "reason"),
    [
        ("error: Nodes n1 not responding, setting DOWN", "DOWN", "Not responding"),
        ("error: Nodes n1 not responding", "NOT_RESPONDING", "Not responding"),
        ("Node n1 now responding", "RESPONDING", None),
        ("slurmctld: node n1 returned to service", "RESUME", None),
        ("validate_node_specs: node n1 returned to service", "RESUME", None),
        ("validate_node_specs: Node n1 unexpectedly rebooted boot_time=5 last response=4",
         "DOWN", "Node unexpectedly rebooted"),
        ("Node n1 rebooted 42 secs ago", None, "rebooted 42 secs ago"),
        ("drain_nodes: node n1 state set to DRAIN", "DRAIN", None),
        ("error: Setting node n1 state to INVAL with reason:gres/gpu count reported lower",
         "INVAL", "gres/gpu count reported lower"),
        ("Killing JobId=7 on failed node n1", "DOWN", "failed node"),
        ("requeue job JobId=7_1 due to failure of node n1", "DOWN", "failed node"),
        ("Removing failed node n1 from JobId=7", "DOWN", "failed node"),
        ("Batch JobId=7 missing from batch node n1 (not found BatchStartTime after startup)",
         None, "batch job missing"),
    ],
)  # fmt: skip
def test_wordings_of_slurm_itself(line: str, state: str | None, reason: str | None) -> None:
    assert said(line) == [("n1", state, reason, Actor.SLURM)]
    [event] = read(line)
    assert (event.event_time, event.check, event.outcome) == (1767323045678000, None, None)


@pytest.mark.parametrize(
    ("line", "check"),
    [
        (
            "error: _slurm_rpc_epilog_complete: JobId=7 epilog error on n1, draining the node",
            "epilog",
        ),
        ("error: epilog error on n1, draining the node", "epilog"),
        ("error: f: Prolog or job env setup failure on node n1, draining the node", "prolog"),
    ],
)
def test_prolog_and_epilog_are_checks(line: str, check: str) -> None:
    [event] = read(line)
    assert (event.node, event.state, event.actor) == ("n1", "DRAIN", Actor.CHECK)
    assert (event.check, event.outcome) == (check, CheckOutcome.FAILED)


def test_the_reason_stands_on_the_line_before() -> None:
    assert said(
        "update_node: node n1 reason set to: bad riser",
        "update_node: node n2 reason set to: relume: lost its GPU",
        "update_node: node n2 state set to DRAINED",
        "update_node: node n1 state set to DRAINING",
        "update_node: node n1 state set to IDLE",
        "error: slurmd error running JobId=6 on node(s)=n[3-4]: Kill task failed",
        "drain_nodes: node n3 state set to DRAIN",
        "update_node: node n5 reason set to: NHC: check_ps_cpu",
        "update_node: node n5 state set to DRAINED",
    ) == [
        ("n2", "DRAINED", "relume: lost its GPU", Actor.RELUME),
        ("n1", "DRAINING", "bad riser", Actor.ADMIN),
        ("n1", "IDLE", None, Actor.ADMIN),
        ("n3", "DRAIN", "Kill task failed", Actor.SLURM),
        ("n5", "DRAINED", "NHC: check_ps_cpu", Actor.CHECK),
    ]


def test_reasons_that_wait_are_bounded() -> None:
    many = [f"update_node: node n{n} reason set to: x" for n in range(MAX_REASONS + 1)]
    last = f"n{MAX_REASONS}"
    states = [f"update_node: node {node} state set to DRAIN" for node in ("n0", last)]
    assert [reason for _, _, reason, _ in said(*many, *states)] == [None, "x"]


def test_one_event_for_each_node_of_a_list() -> None:
    events = read("error: Nodes gpu-a[01-03],login1 not responding, setting DOWN")
    assert [event.node for event in events] == ["gpu-a01", "gpu-a02", "gpu-a03", "login1"]


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("error: health_check failed: rc:1 output:no ib", CheckOutcome.FAILED),
        ("debug2: health_check success rc:0 output:", CheckOutcome.OK),
        ("error: health_check killed by signal 9 output:", CheckOutcome.UNKNOWN),
        ("error: health_check didn't run: status:1 reason:x", CheckOutcome.UNKNOWN),
        ("error: health_check: timeout after 3000 ms: killing pgid 5", CheckOutcome.UNKNOWN),
    ],
)
def test_a_check_in_the_log_of_a_node(line: str, outcome: CheckOutcome) -> None:
    parser = LineParser("slurmd.log", stream="slurmctld")
    reader = DaemonReader(SkipCounts())
    unknown = parser.parse(CLOCK + line, 0, 0)
    assert reader.read(unknown) == []
    known = LogLine(line, 0, 0, "slurmd.log", stream="slurmd", node="n1")
    [event] = reader.read(known)
    assert (event.node, event.actor, event.outcome) == ("n1", Actor.CHECK, outcome)
    assert event.check == "HealthCheckProgram"
    assert event.state is None
    assert (event.reason is None) == (outcome is CheckOutcome.OK)


def test_a_health_check_in_the_log_of_a_system() -> None:
    parser = LineParser("messages-n1", stream="kernel")
    text = "Jan 02 03:04:05 n1 nhc[42]: Health check failed: check_hw_mem: 3 GB"
    [event] = DaemonReader(SkipCounts()).read(parser.parse(text, 0, 0))
    assert (event.node, event.check, event.outcome) == ("n1", "check_hw_mem", CheckOutcome.FAILED)


@pytest.mark.parametrize(
    "line",
    [
        "sched: Allocate JobId=5 NodeList=n1 #CPUs=4",
        "_slurm_rpc_submit_batch_job: JobId=5 InitPrio=1 usec=3",
        "JobId=7 named 'Nodes n1 not responding, setting DOWN'",
        "error: Nodes n[1- not responding, setting DOWN",
        "node",
    ],
)
def test_other_lines_say_nothing(line: str) -> None:
    assert said(line) == []


def test_a_hostlist_that_cannot_be_read_is_counted() -> None:
    skipped = SkipCounts()
    line = LogLine("error: Nodes n[1- not responding", 0, 0, "f")
    assert DaemonReader(skipped).read(line) == []
    assert skipped.as_dict() == {"node_row": 1}


@pytest.mark.parametrize(
    ("reason", "user", "actor", "check"),
    [
        ("Not responding", "root(0)", Actor.SLURM, None),
        ("Kill task failed", "root", Actor.SLURM, None),
        ("gres/gpu count reported lower than configured (3 < 8)", "slurm", Actor.SLURM, None),
        ("something of Slurm's own", "slurm(64030)", Actor.SLURM, None),
        ("Low RealMemory (reported:3 < 4)", None, Actor.SLURM, None),
        ("nhc: check_nv: x", "root", Actor.CHECK, "check_nv"),
        ("check_gpu failed", "root", Actor.CHECK, "check_gpu"),
        ("Epilog error", "slurm", Actor.CHECK, "epilog"),
        ("HealthCheck: no ib", "root", Actor.CHECK, "HealthCheckProgram"),
        ("Relume: lemon", "relume", Actor.RELUME, None),
        ("the NIC is not responding", "ada", Actor.ADMIN, None),
        ("", "ada", Actor.ADMIN, None),
        ("bad riser", "Unknown", None, None),
        (None, None, None, None),
    ],
)
def test_who_it_was(
    reason: str | None, user: str | None, actor: Actor | None, check: str | None
) -> None:
    cause = judge(reason, user)
    assert (cause.actor, cause.check) == (actor, check)
    assert (cause.outcome is CheckOutcome.FAILED) == (actor is Actor.CHECK)


@given(st.text() | st.text("nodes []-,JobId=not responding:").map("Nodes {} not responding".format))
def test_whatever_a_line_is_it_never_raises(text: str) -> None:
    DaemonReader(SkipCounts()).read(LogLine(text, 0, 0, "f", node="n1"))


TELLING = ["error: Nodes n1 not responding", "update_node: node n2 reason set to: x",
           "slurmd error running JobId=7 on node(s)=n1: y", "error: Setting node n1 state to INVAL with reason:z",
           "Prolog or job env setup failure on node n3", "epilog error on n1, draining",
           "error: health_check failed: rc:1", "update_node: node n2 state set to DRAINED"]  # fmt: skip
SILENT = ["", "sched: Allocate JobId=7 NodeList=n1", "x" * 99, "\N{SNOWMAN}"]


@given(lines=st.lists(st.sampled_from([*TELLING, *SILENT])), ended=st.booleans())
def test_the_lines_that_may_tell_are_found_where_they_are(lines: list[str], *, ended: bool) -> None:
    data = "\n".join([*lines, ""] if ended else lines).encode()
    found = list(telling_lines(data))
    assert [raw.decode() for _, raw in found] == [line for line in lines if line in TELLING]
    for start, raw in found:
        assert data[start : start + len(raw)] == raw
        assert start == 0 or data[start - 1 : start] == b"\n"
