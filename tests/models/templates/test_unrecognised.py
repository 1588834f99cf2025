"""Which lines are shown of a failure that nobody knows, in which order, and why."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from relume.models.templates.familiar import Seen
from relume.models.templates.unrecognised import MAX_SHOWN, LateLine, unrecognised

SHARDS = [f"shard {n} of 900 is there".encode() for n in range(40)]


class History:
    """Healthy attempts of a family that printed `family`, and of other jobs that printed `fleet`."""

    def __init__(self, attempts: int, family: tuple[str, ...], fleet: tuple[str, ...] = ()) -> None:
        self.family_attempts = attempts
        self._family = family
        self._fleet = fleet

    def seen(self, line: bytes) -> Seen:
        text = line.decode()
        family = self.family_attempts if text in self._family else 0
        return Seen(family, family + 3 if text in self._fleet else family)


def late(*texts: str) -> list[LateLine]:
    """Return lines of one log that ends with them."""
    return [LateLine("job.log", n, text, 0, len(texts) - n - 1) for n, text in enumerate(texts)]


def shown(
    *texts: str, earlier: list[bytes] | None = None, history: History | None = None
) -> list[str]:
    lines = late(*texts)
    found = (
        unrecognised(lines, earlier or [])
        if history is None
        else unrecognised(lines, earlier or [], history)
    )
    return [line.text for line in found]


def test_what_came_already_while_there_was_progress_is_not_shown() -> None:
    texts = ("shard 41 of 900 is there", "seal four is open", "shard 42 of 900 is there")
    assert shown(*texts, earlier=SHARDS) == ["seal four is open"]


def test_what_looks_like_a_failure_comes_first_and_the_first_of_them_before_the_others() -> None:
    texts = (
        "vault four comes next",
        "ERROR seal four is open",
        "warning: the keeper is away",
        "ERROR no keeper came",
        "all doors are shut",
    )
    assert shown(*texts) == [texts[1], texts[3], texts[2], texts[4], texts[0]]


def test_of_other_lines_those_come_first_that_are_close_to_the_end_or_to_the_last_steps() -> None:
    lines = late(*(f"{word} is there" for word in ("seal", "keeper", "ward", "door", "bell")))
    by_end = [line.line for line in unrecognised(lines, [], limit=3)]
    assert by_end == [4, 3, 2]
    after = [replace(line, after_steps=True) for line in lines]
    assert [line.line for line in unrecognised(after, [], limit=3)] == [0, 4, 3]


def test_one_line_stands_for_all_like_it() -> None:
    texts = [f"[rank{rank}]: ERROR seal {rank + 3} is open" for rank in range(9)]
    [line] = unrecognised(late("all doors are shut", *texts), [b"all doors are shut"])
    assert (line.line, line.count, line.lines_before_end) == (1, 9, 8)
    assert line.why == ("nothing like it earlier", "9 times", "8 lines before the end")


def test_frames_of_a_stack_are_shown_only_where_there_is_nothing_else() -> None:
    frame = '  File "/app/vault.py", line 8, in open'
    assert shown(frame, "SealError: four") == ["SealError: four"]
    assert shown(frame) == [frame]


def test_what_healthy_attempts_of_the_job_print_is_not_shown() -> None:
    texts = ("ERROR cannot reach the metrics host", "seal four is open")
    history = History(12, family=texts[:1])
    assert shown(*texts) == list(texts)
    assert shown(*texts, history=history) == [texts[1], texts[0]]
    [first, second] = unrecognised(late(*texts), [], history)
    assert first.why[0] == "new: in none of 12 healthy attempts of this job"
    assert second.why[0] == "seen in 12 of 12 healthy attempts of this job"


def test_what_only_other_jobs_print_is_less_new_than_what_nobody_prints() -> None:
    texts = ("keeper four is away", "seal four is open")
    history = History(2, family=(), fleet=texts[1:])
    assert shown(*texts, history=history) == list(texts)
    [_, second] = unrecognised(late(*texts), [], history)
    assert second.why[0] == "new: in none of 2 healthy attempts of this job, in 3 of other jobs"
    [line] = unrecognised(late(texts[1]), [], History(0, family=(), fleet=texts[1:]))
    assert line.why[0] == "seen in 3 healthy attempts of other jobs"


def test_a_failure_at_the_start_is_told_as_such_and_comes_after_those_at_the_end() -> None:
    first, last = late("ERROR no keeper", "ERROR seal four is open")
    found = unrecognised([replace(first, is_early=True), last], [])
    assert [line.line for line in found] == [1, 0]
    assert found[1].why[0] == "looks like a failure, at the start"


def test_the_text_is_kept_as_it_is_and_cut() -> None:
    hostile = "ERROR \x1b[2J\x07 <b>seal</b> " + "x" * 5000
    [line] = unrecognised(late(hostile), [])
    assert line.text == hostile[:500]


@given(st.lists(st.text(max_size=40), max_size=60), st.lists(st.binary(max_size=40), max_size=30))
def test_whatever_is_printed_a_few_of_the_lines_are_shown(
    texts: list[str], earlier: list[bytes]
) -> None:
    lines = late(*texts)
    found = unrecognised(lines, earlier)
    assert len(found) <= MAX_SHOWN
    assert bool(found) == any(text.encode("utf-8", "replace").split() for text in texts)
    assert len({line.line for line in found}) == len(found)
    assert all(lines[line.line].text == line.text for line in found)
