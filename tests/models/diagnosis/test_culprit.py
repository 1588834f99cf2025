"""Who is named, and when nobody is."""

from __future__ import annotations

from making import make_episode, make_hit, make_signature
from relume.models.diagnosis.blame import Blame, exclusions
from relume.models.diagnosis.culprit import find_culprit
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import Episode, SchedulerFacts
from relume.models.diagnosis.order import choose_root
from relume.models.ranks.mapping import RankMap, RankPlace
from relume.models.signatures.rule import Exclude, Implicates, Role, Tier
from relume.verdict import Domain, Kind, Locator

PRINTER = make_signature("printer", implicates=Implicates.PRINTER)
NAMED = make_signature(
    "named",
    implicates=Implicates.NAMED,
    exclude=Exclude.YES,
    tier=Tier.DECISIVE,
    domain=Domain.HARDWARE,
)


def blame_of(episode: Episode) -> Blame:
    root = choose_root(episode)
    assert root is not None
    return find_culprit(episode, root)


def excluded(episode: Episode) -> tuple[str, ...]:
    root = choose_root(episode)
    assert root is not None
    return exclusions(find_culprit(episode, root), root)


def test_the_printer_of_an_exception_is_named_with_its_node() -> None:
    episode = make_episode(make_hit(PRINTER, 1, rank=11))
    episode.ranks = RankMap({11: RankPlace("gpu-a02", "3", local_rank=3)})
    where = Locator(node="gpu-a02", rank=11, local_rank=3, gpu="3")
    assert blame_of(episode).where == where


def test_an_error_that_many_ranks_print_names_nobody() -> None:
    hits = [make_hit(PRINTER, rank, rank=rank) for rank in range(2)]
    assert blame_of(make_episode(hits[0])).where == Locator(rank=0)
    assert blame_of(make_episode(*hits)).where == Locator()


def test_a_named_node_is_excluded_but_never_an_address_nor_a_list() -> None:
    one = make_episode(make_hit(NAMED, 1, captures={"nodes": "gpu-c04"}, node="gpu-a01"))
    address = make_episode(make_hit(NAMED, 1, captures={"nodes": "10.0.0.7"}))
    several = make_episode(make_hit(NAMED, 1, captures={"nodes": "gpu-c[04-05]"}))
    assert excluded(one) == ("gpu-c04",)
    assert blame_of(address).where == Locator(node="10.0.0.7")
    assert excluded(address) == ()
    assert blame_of(several).where == Locator()
    assert excluded(several) == ()


def test_nobody_is_excluded_for_a_workload_error() -> None:
    assert excluded(make_episode(make_hit(PRINTER, 1, node="gpu-a01", rank=3))) == ()


def test_log_text_excludes_no_node_outside_the_attempt() -> None:
    episode = make_episode(make_hit(NAMED, 1, captures={"nodes": "gpu-c04"}))
    episode.scheduler = SchedulerFacts("FAILED", nodes=("gpu-a01", "gpu-a02"))
    assert diagnose(episode).exclude_nodes == ()
    episode.scheduler = SchedulerFacts("FAILED", nodes=("gpu-a01", "gpu-c04"))
    assert diagnose(episode).exclude_nodes == ("gpu-c04",)


def test_a_kernel_line_that_a_rank_printed_excludes_nobody() -> None:
    kernel = make_signature(
        "kernel",
        category="gpu_driver",
        tier=Tier.HARDWARE,
        domain=Domain.HARDWARE,
        implicates=Implicates.PRINTER,
        exclude=Exclude.YES,
    )
    assert excluded(make_episode(make_hit(kernel, 1, node="gpu-a01"))) == ("gpu-a01",)
    assert excluded(make_episode(make_hit(kernel, 1, node="gpu-a01", rank=3))) == ()


def test_a_broken_hostlist_names_nobody() -> None:
    episode = make_episode(make_hit(NAMED, 1, captures={"nodes": "gpu-c[04-"}))
    assert blame_of(episode).where == Locator()


def test_a_collective_time_out_blames_the_rank_that_lags() -> None:
    timeout = make_signature("timeout", tier=Tier.TIMEOUT, kind=Kind.HANG, domain=Domain.UNKNOWN)
    status = make_signature("status", tier=Tier.TIMEOUT, role=Role.CASCADE, kind=Kind.HANG)
    hits = [make_hit(timeout, r, captures={"seq": "9"}, rank=r) for r in range(3)]
    hits += [make_hit(status, 10 + r, captures={"enqueued": "9"}, rank=r) for r in range(3)]
    late = make_hit(status, 20, captures={"enqueued": "8"}, rank=3)
    assert blame_of(make_episode(*hits)).where == Locator()
    blame = blame_of(make_episode(*hits, late))
    assert blame.where == Locator(rank=3)
    assert blame.hit is late


def test_a_line_that_names_nobody_borrows_the_name_from_one_of_the_same_cause() -> None:
    event = make_signature(
        "event", implicates=Implicates.PRINTER, cause="oom", tier=Tier.DECISIVE, specificity=60
    )
    task = make_signature("task", implicates=Implicates.NAMED, cause="oom", tier=Tier.DECISIVE)
    told = make_hit(task, 4, captures={"nodes": "gpu-a02", "tasks": "3"})
    where = Locator(node="gpu-a02", rank=3)
    assert blame_of(make_episode(make_hit(event, 3), told)).where == where
    other = make_hit(task, 5, captures={"nodes": "gpu-a07", "tasks": "8"})
    assert blame_of(make_episode(make_hit(event, 3), told, other)).where == Locator()
