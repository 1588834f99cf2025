"""Each story gets its verdict, from both scan engines."""

from __future__ import annotations

import pytest

from relume.serve.offline import Analyzer
from relume.verdict import Verdict
from stories import STORIES, Story


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer()


def diagnose(analyzer: Analyzer, story: Story) -> tuple[Verdict, list[str]]:
    lines = story.log.strip("\n").split("\n")
    return analyzer.diagnose_lines("story", lines), lines


@pytest.mark.parametrize("name", STORIES)
def test_story(analyzer: Analyzer, name: str) -> None:
    story = STORIES[name]
    verdict, lines = diagnose(analyzer, story)
    assert (verdict.kind.value, verdict.domain.value) == (story.kind, story.domain), verdict.why
    assert verdict.exclude_nodes == story.excluded
    if story.root is not None:
        assert verdict.root_line is not None
        assert story.root in lines[verdict.root_line]
    if story.culprit is not None:
        named = {
            key: getattr(verdict.culprit, key)
            for key in ("node", "rank", "local_rank", "gpu", "nic")
            if getattr(verdict.culprit, key) is not None
        }
        assert named == story.culprit
    if story.operation is not None:
        assert verdict.operation == story.operation


@pytest.mark.parametrize("name", STORIES)
def test_both_engines_say_the_same(analyzer: Analyzer, name: str) -> None:
    fallback = Analyzer(engine="re2")
    assert diagnose(fallback, STORIES[name]) == diagnose(analyzer, STORIES[name])
