"""The root is chosen by causality: not by count, and not by who prints first."""

from __future__ import annotations

import pytest

from making import make_episode, make_hit, make_signature
from relume.models.diagnosis import order
from relume.models.diagnosis.order import choose_root
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Implicates, Role, Tier
from relume.reasons import ReasonCode
from relume.verdict import Domain, Kind

EXCEPTION = make_signature("exception")
GENERIC = make_signature("generic", specificity=5)
TIMEOUT = make_signature(
    "timeout",
    category="torch_nccl",
    tier=Tier.TIMEOUT,
    kind=Kind.HANG,
    domain=Domain.UNKNOWN,
)
FABRIC = make_signature("fabric", tier=Tier.FABRIC, domain=Domain.NETWORK)
HARDWARE = make_signature("hardware", tier=Tier.HARDWARE, domain=Domain.HARDWARE)
WEAK = make_signature(
    "weak", tier=Tier.HARDWARE, domain=Domain.HARDWARE, specificity=40, category="gpu_driver"
)
APPLICATION = make_signature("application", category="gpu_driver")
DECISIVE = make_signature(
    "decisive", tier=Tier.DECISIVE, role=Role.CONFIRMATION, domain=Domain.HARDWARE
)
LIMIT = make_signature("limit", domain=Domain.SCHEDULER)
CASCADE = make_signature("cascade", role=Role.CASCADE, tier=Tier.FABRIC)
POINTER = make_signature("pointer", role=Role.POINTER, tier=Tier.POINTER)
WARNING = make_signature("warning", role=Role.WARNING)


@pytest.mark.parametrize(
    ("signatures", "chosen"),
    [
        ([CASCADE, EXCEPTION], "exception"),
        ([EXCEPTION, DECISIVE], "decisive"),
        ([EXCEPTION, HARDWARE], "hardware"),
        ([FABRIC, GENERIC], "fabric"),
        ([TIMEOUT, EXCEPTION], "timeout"),
        ([EXCEPTION, TIMEOUT], "exception"),
        ([TIMEOUT, GENERIC], "timeout"),
        ([GENERIC, EXCEPTION], "exception"),
        ([EXCEPTION, LIMIT], "exception"),
        ([FABRIC, LIMIT], "fabric"),
        ([TIMEOUT, LIMIT], "timeout"),
        ([LIMIT, EXCEPTION], "limit"),
        ([LIMIT, TIMEOUT], "limit"),
        ([POINTER, CASCADE], "cascade"),
        ([WARNING, POINTER], "pointer"),
    ],
)
def test_the_order_of_lines_decides_the_root(signatures: list, chosen: str) -> None:  # type: ignore[type-arg]
    hits = [make_hit(signature, line) for line, signature in enumerate(signatures)]
    root = choose_root(make_episode(*hits))
    assert root is not None
    assert root.hit.signature.id == chosen


def test_warnings_alone_are_no_failure() -> None:
    assert choose_root(make_episode(make_hit(WARNING, 0))) is None


def test_a_wave_does_not_outvote_one_earlier_exception() -> None:
    wave = [make_hit(TIMEOUT, line, rank=line) for line in range(5, 105)]
    root = choose_root(make_episode(make_hit(EXCEPTION, 2), *wave))
    assert root is not None
    assert root.hit.line.line == 2


def test_of_a_wave_of_thousands_of_nodes_the_earliest_lines_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = [make_signature(f"fault_{n}", tier=Tier.HARDWARE) for n in range(4)]
    wave = [
        make_hit(rules[n % 4], 10 + n, node=f"gpu-{n}", captures={"gpu": f"{n:04x}"})
        for n in range(2_000)
    ]
    compared = 0

    def count(_episode: object, _hit: Hit, _earlier: Hit) -> bool:
        nonlocal compared
        compared += 1
        return False

    monkeypatch.setattr(order, "CONSEQUENCES", [(ReasonCode.TOLD_TO_STOP, count)])
    root = choose_root(make_episode(make_hit(EXCEPTION, 2), *wave))
    assert root is not None
    assert root.hit.line.line == 10  # the first in the strongest tier
    assert compared <= (4 * order.OF_A_WAVE + 1) ** 2


def test_a_failure_that_the_job_outlived_is_set_aside() -> None:
    hit = make_hit(EXCEPTION, 3)
    assert choose_root(make_episode(hit, advances=(4, 5))) is not None
    assert choose_root(make_episode(hit, advances=(4, 5, 6))) is None


def test_progress_in_another_file_is_no_recovery_without_clocks() -> None:
    hit = make_hit(EXCEPTION, 3, file="rank1.log")
    episode = make_episode(hit, files=("rank0.log", "rank1.log"), advances=(4, 5, 6))
    assert choose_root(episode) is not None


def test_leavings_after_a_clean_end_are_no_failure() -> None:
    assert choose_root(make_episode(make_hit(CASCADE, 9), clean_end=5)) is None
    assert choose_root(make_episode(make_hit(EXCEPTION, 9), clean_end=5)) is not None
    assert choose_root(make_episode(make_hit(EXCEPTION, 3), clean_end=5)) is None


def test_a_device_error_after_an_application_fault_on_the_same_gpu_is_a_consequence() -> None:
    fault = make_hit(APPLICATION, 1, captures={"gpu": "0000:1b:00"})
    same = make_hit(WEAK, 2, captures={"gpu": "0000:1b:00"})
    other = make_hit(WEAK, 2, captures={"gpu": "0000:2b:00"})
    first, second = choose_root(make_episode(fault, same)), choose_root(make_episode(fault, other))
    assert first is not None
    assert second is not None
    assert (first.hit, second.hit) == (fault, other)


def test_a_confirmation_points_to_what_it_confirms() -> None:
    error = make_hit(HARDWARE, 1, captures={"gpu": "0000:1b:00"})
    confirmation = make_hit(DECISIVE, 2, captures={"gpu": "0000:1b:00"})
    root = choose_root(make_episode(error, confirmation))
    assert root is not None
    assert root.hit is error


def test_between_files_only_clocks_tell_the_order() -> None:
    late = make_hit(EXCEPTION, 1, file="a.log", event_time=9_000_000)
    early = make_hit(EXCEPTION, 50, file="b.log", event_time=2_000_000)
    root = choose_root(make_episode(late, early, files=("a.log", "b.log")))
    assert root is not None
    assert root.hit is early


def test_one_line_known_by_two_rules_counts_for_the_more_specific() -> None:
    carrier = make_signature("carrier", role=Role.CASCADE, specificity=60)
    hits = [make_hit(GENERIC, 1, text="same line"), make_hit(carrier, 1, text="same line")]
    root = choose_root(make_episode(*hits))
    assert root is not None
    assert root.hit.signature is carrier


def test_a_task_killed_before_the_step_was_cancelled_is_where_to_look() -> None:
    killed = make_signature(
        "killed", role=Role.CASCADE, tier=Tier.TEARDOWN, implicates=Implicates.NAMED
    )
    cancelled = make_signature(
        "cancelled", role=Role.CASCADE, tier=Tier.TEARDOWN, domain=Domain.SCHEDULER
    )
    aborted = make_signature("aborted", role=Role.CASCADE, tier=Tier.TEARDOWN)
    first = choose_root(make_episode(make_hit(killed, 1), make_hit(cancelled, 2)))
    second = choose_root(make_episode(make_hit(aborted, 1), make_hit(cancelled, 2)))
    assert first is not None
    assert second is not None
    assert (first.hit.signature, second.hit.signature) == (killed, cancelled)


def test_a_process_that_failed_before_the_agent_was_told_to_stop_comes_first() -> None:
    told = make_signature("told", role=Role.CASCADE, domain=Domain.SCHEDULER, specificity=15)
    before = choose_root(make_episode(make_hit(POINTER, 1), make_hit(told, 2)))
    after = choose_root(make_episode(make_hit(told, 1), make_hit(POINTER, 2)))
    assert before is not None
    assert after is not None
    assert (before.hit.signature, after.hit.signature) == (POINTER, told)


def test_between_ranks_merged_into_one_file_only_clocks_make_a_consequence() -> None:
    waited = make_hit(TIMEOUT, 1, rank=0)
    raised, aborted = make_hit(EXCEPTION, 2, rank=5), make_hit(EXCEPTION, 2, rank=0)
    first, second = (choose_root(make_episode(waited, hit)) for hit in (raised, aborted))
    assert first is not None
    assert second is not None
    assert (first.hit, second.hit) == (raised, waited)
    late = make_hit(EXCEPTION, 3, rank=5, event_time=90_000_000)
    first_out = make_hit(TIMEOUT, 1, rank=0, event_time=1_000_000)
    too = make_hit(TIMEOUT, 2, rank=5, event_time=1_000_000)
    third, fourth = (choose_root(make_episode(first_out, *hits, late)) for hits in ([too], []))
    assert third is not None
    assert fourth is not None
    assert third.hit.signature is TIMEOUT  # rank 5 had waited, too
    assert fourth.hit is late  # it had not: the others timed out on it


def test_a_death_by_signal_explains_the_time_outs_after_it_and_outranks_victims() -> None:
    died = make_hit(POINTER, 1, captures={"exit_code": "-11"})
    aborted = make_hit(POINTER, 1, captures={"exit_code": "-6"})
    for hit, chosen in ((died, POINTER), (aborted, TIMEOUT)):
        root = choose_root(make_episode(hit, make_hit(TIMEOUT, 2, rank=0)))
        assert root is not None
        assert root.hit.signature is chosen
    root = choose_root(make_episode(make_hit(CASCADE, 0), died))
    assert root is not None
    assert root.hit is died


def test_a_line_that_takes_another_back_closes_it_for_the_same_peer_only() -> None:
    stalled = make_signature("stalled", tier=Tier.TIMEOUT, kind=Kind.HANG)
    resumed = make_signature("resumed", role=Role.NOISE, closes=("stalled",))
    stall = make_hit(stalled, 1, captures={"peer": "store1"})
    for peer, line, closed in (("store1", 2, True), ("store2", 2, False), ("store1", 0, False)):
        episode = make_episode(stall, make_hit(resumed, line, captures={"peer": peer}))
        assert (choose_root(episode) is None) is closed


def test_an_exception_that_python_ignored_is_no_failure_but_the_next_one_is() -> None:
    notice = make_hit(make_signature("exception_ignored", role=Role.NOISE), 1)
    ignored, raised = make_hit(EXCEPTION, 4), make_hit(EXCEPTION, 9)
    assert choose_root(make_episode(notice, ignored)) is None
    root = choose_root(make_episode(notice, ignored, raised))
    assert root is not None
    assert root.hit is raised


def test_a_storage_stall_explains_no_exception_after_it() -> None:
    stalled = make_signature("stalled", category="host", tier=Tier.TIMEOUT, kind=Kind.HANG)
    root = choose_root(make_episode(make_hit(stalled, 1), make_hit(EXCEPTION, 2)))
    assert root is not None
    assert root.hit.signature is EXCEPTION


LINK = make_signature("link", role=Role.WARNING, tier=Tier.FABRIC, domain=Domain.NETWORK)


def down(node: str, second: int) -> Hit:
    time = second * 1_000_000
    return make_hit(LINK, second, node=node, stream="kernel", file=f"{node}.log", event_time=time)


@pytest.mark.parametrize(
    ("links", "chosen"),
    [
        ([down("n1", 990)], "link"),
        ([down("n1", 990), down("n1", 995)], "link"),
        ([down("n1", 990), down("n2", 991)], "cascade"),
        ([down("n1", 1_030)], "cascade"),
        ([down("n1", 5)], "cascade"),
        ([], "cascade"),
    ],
    ids=["before", "twice", "two nodes", "after", "long ago", "none"],
)
def test_a_link_that_one_node_alone_lost_just_before_all_victims_is_the_root(
    links: list[Hit], chosen: str
) -> None:
    victims = [make_hit(CASCADE, n, rank=n, event_time=1_000_000_000 + n) for n in range(3)]
    files = ("job.log", "n1.log", "n2.log")
    root = choose_root(make_episode(*victims, *links, files=files))
    assert root is not None
    assert root.hit.signature.id == chosen
