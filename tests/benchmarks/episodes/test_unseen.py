"""The third group is as new, as whole and as fixed as it says."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from relume.benchmarks.episodes import endings, healthy, plan, stories
from relume.benchmarks.episodes.bench import digest_of
from relume.benchmarks.episodes.endings import KNOWN_LAUNCHERS, OTHER_LAUNCHERS
from relume.benchmarks.episodes.generate import UNSEEN_PER_STORY, Episode, find, unseen
from relume.benchmarks.episodes.label import Forms
from relume.benchmarks.episodes.script import Record, Script, Source
from relume.benchmarks.episodes.stories import STORIES, Story
from relume.benchmarks.episodes.systems import KNOWN_SYSTEM, OTHER_SYSTEM
from relume.benchmarks.episodes.unseen.launchers import UNSEEN_ENDINGS, UNSEEN_LAUNCHERS
from relume.benchmarks.episodes.unseen.prefixes import UNSEEN_STYLES
from relume.benchmarks.episodes.unseen.systems import UNSEEN_SYSTEM
from relume.benchmarks.episodes.unseen.words import FORMS, MARK, unmarked
from relume.benchmarks.episodes.world import make_world
from relume.benchmarks.episodes.writers import CLOCKED, KNOWN_STYLES, OTHER_STYLES, PLAIN
from relume.ingest.attempts import find_attempts

UNSEEN = "56d0c15b97d09450c7989af50ab41ad698638a330a2ca8a459dfeb2c8d27ef99"
"""Hash of all files and labels of the group. Whoever changes it says when and why."""


@pytest.fixture(scope="module")
def new() -> list[Episode]:
    return list(unseen())


def told(story: Story, form: int, launcher: str) -> Script:
    rng = Random(f"{story.name} {form} {launcher}")
    script = Script(make_world(rng, min_nodes=story.min_nodes), rng, launcher, form=form)
    healthy.launch(script)
    story.tell(script)
    return script


def test_the_group_is_what_it_was(new: list[Episode]) -> None:
    digest = sha256()
    for episode in new:
        digest.update(digest_of(episode).encode())
    assert digest.hexdigest() == UNSEEN


def test_every_story_is_told_in_new_words(new: list[Episode]) -> None:
    stories_told = Counter(episode.label.story for episode in new)
    assert stories_told == {story.name: UNSEEN_PER_STORY for story in STORIES}
    for label in (episode.label for episode in new):
        assert label.forms is Forms.UNSEEN
        assert "new words" in label.variations
        assert find(label.episode).label == label


def test_every_new_prefix_system_and_launcher_is_there(new: list[Episode]) -> None:
    seen = {name for episode in new for name in episode.label.variations}
    assert {style.name for style in UNSEEN_STYLES} <= seen
    assert {style.name for style in UNSEEN_SYSTEM} <= seen
    assert set(UNSEEN_LAUNCHERS) <= seen
    assert len(UNSEEN_STYLES) >= 6


def test_no_form_of_the_group_is_one_of_the_halves() -> None:
    names = [style.name for style in (*KNOWN_STYLES, *OTHER_STYLES, PLAIN, CLOCKED)]
    names += [style.name for style in (*KNOWN_SYSTEM, *OTHER_SYSTEM)]
    new_names = [style.name for style in UNSEEN_STYLES] + [style.name for style in UNSEEN_SYSTEM]
    assert len({*names, *new_names}) == len(names) + len(new_names)
    assert not set(UNSEEN_ENDINGS) & {*KNOWN_LAUNCHERS, *OTHER_LAUNCHERS}
    sources = _sources()
    for text in (text for forms in FORMS.values() for text in forms):
        assert text.strip(MARK) not in sources


def test_every_place_has_two_forms_and_is_in_a_story() -> None:
    sources = _sources()
    for slot, forms in FORMS.items():
        assert len(set(forms)) == len(forms) >= 2, slot
        assert f'"{slot}"' in sources, slot


def _sources() -> str:
    files = [Path(endings.__file__), Path(healthy.__file__), Path(plan.__file__)]
    files += sorted(Path(stories.__file__).parent.glob("*.py"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_lines_name_whom_their_story_says_they_name(story: Story) -> None:
    for form in range(3):
        for launcher in UNSEEN_LAUNCHERS[form::3]:
            script = told(story, form, launcher)
            for record in script.records:
                _check_names(script, record)


def _check_names(script: Script, record: Record) -> None:
    """A kernel's node is told by where its log is; all others must name it."""
    truth, lines = script.truth, record.text.split("\n")
    said = (
        "\n".join(lines[root % len(lines)] for root in record.roots)
        if record.roots
        else record.text
    )
    is_system = record.source in {Source.KERNEL, Source.NODE_DAEMON}
    if "node" in record.tells and not is_system and truth.node is not None:
        assert truth.node in said
    if "rank" in record.tells and truth.rank is not None:
        # Of a rank that is silent, the others tell by saying who they are.
        assert re.search(rf"\b({truth.rank}|{record.rank})\b", said)
    if record.places is not None:
        assert script.world.node_of(record.places) in record.text
        assert re.search(rf"\b{record.places}\b", record.text)


def test_roots_are_in_the_files_and_say_something(new: list[Episode]) -> None:
    for episode in new:
        assert bool(episode.label.roots) is (episode.label.story != "only_victims")
        for file, line in episode.label.roots:
            assert len(episode.files[file].split("\n")[line].strip()) > 10


def test_no_mark_or_open_place_is_left_in_a_file(new: list[Episode]) -> None:
    open_place = re.compile(rf"\$\{{?[a-z]|\bPEER\b|\bNODE\b(?! FAILURE)|{MARK}|[\x02\x03]")
    for episode in new:
        for text in episode.files.values():
            assert open_place.search(text) is None, episode.label.episode


def test_an_episode_is_one_attempt_with_all_of_its_files(
    new: list[Episode], tmp_path: Path
) -> None:
    for episode in new[::9]:
        folder = tmp_path / episode.label.episode
        episode.write(folder)
        (attempt,) = find_attempts([folder])
        read = {Path(source.path).relative_to(folder).as_posix() for source in attempt.files}
        assert read == set(episode.files)


def test_marked_lines_are_the_roots_of_what_has_any() -> None:
    text = f"head\n{MARK}cause\n{MARK}detail\ntail"
    assert unmarked(text, (0,)) == ("head\ncause\ndetail\ntail", (1, 2))
    assert unmarked(text, ()) == ("head\ncause\ndetail\ntail", ())
    assert unmarked("no mark", (0, -1)) == ("no mark", (0, -1))
