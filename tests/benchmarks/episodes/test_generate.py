"""The corpus is as large and as varied as it says, and its labels point at what is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from relume.benchmarks.episodes import layout
from relume.benchmarks.episodes.endings import OTHER_LAUNCHERS
from relume.benchmarks.episodes.generate import PER_STORY, SEED, Episode, find, make
from relume.benchmarks.episodes.label import Forms
from relume.benchmarks.episodes.stories import STORIES
from relume.benchmarks.episodes.systems import KNOWN_SYSTEM, OTHER_SYSTEM
from relume.benchmarks.episodes.writers import CLOCKED, KNOWN_STYLES, OTHER_STYLES, PLAIN
from relume.errors import InputError
from relume.verdict import Domain, Kind

UNKNOWN_LAUNCHERS = set(OTHER_LAUNCHERS) - {"srun", "torchrun"}
STYLES = {style.name: style for style in (*KNOWN_STYLES, *OTHER_STYLES, PLAIN, CLOCKED)}


def test_there_are_enough_of_both_halves(made: list[Episode]) -> None:
    assert len(made) == len(STORIES) * PER_STORY >= 500
    assert sum(episode.label.forms is Forms.KNOWN for episode in made) * 2 == len(made)
    assert len({episode.label.episode for episode in made}) == len(made)


def test_sizes_reach_from_8_to_1024_ranks(made: list[Episode]) -> None:
    ranks = {episode.label.ranks for episode in made}
    nodes = {episode.label.nodes for episode in made}
    assert (min(ranks), max(ranks), min(nodes), max(nodes)) == (8, 1024, 1, 128)


@pytest.mark.parametrize("number", [0, 100, 500])
def test_an_episode_is_the_same_whenever_it_is_made(made: list[Episode], number: int) -> None:
    name = made[number].label.episode
    assert find(name) == find(name) == made[number]
    assert find(name, SEED + 1).files != made[number].files


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'node_lost'"):
        find("node_lst-known-03")
    with pytest.raises(InputError, match="expected STORY-known-NN"):
        find("node_lost")


def test_every_form_is_there(made: list[Episode]) -> None:
    seen = Counter(name for episode in made for name in episode.label.variations)
    wanted = {layout.ONE, layout.TWO, layout.PER_RANK, layout.PER_NODE, "cut start", "cut end"}
    wanted |= {"torn lines", "interleaved", "culprit late", "new words"} | set(OTHER_LAUNCHERS)
    wanted |= set(STYLES) | {style.name for style in (*KNOWN_SYSTEM, *OTHER_SYSTEM)}
    assert not {name for name in wanted if not seen[name]}
    assert any(name.startswith("skew") for name in seen)
    assert any(name.endswith("unmarked") for name in seen)


def test_no_two_forms_have_one_name() -> None:
    forms = [style.name for style in (*KNOWN_STYLES, *OTHER_STYLES, PLAIN, CLOCKED)]
    forms += [style.name for style in (*KNOWN_SYSTEM, *OTHER_SYSTEM)] + [*set(OTHER_LAUNCHERS)]
    assert len(set(forms)) == len(forms)


def test_known_forms_are_known_and_the_others_are_new_in_something(made: list[Episode]) -> None:
    for episode in made:
        names = set(episode.label.variations)
        styles = [STYLES[name] for name in names if name in STYLES]
        is_new = (
            "new words" in names or "new file names" in names or bool(names & UNKNOWN_LAUNCHERS)
        )
        is_new = is_new or not all(style.known for style in styles)
        assert is_new is (episode.label.forms is Forms.OTHER), episode.label.episode


def test_labels_speak_the_words_of_verdicts(made: list[Episode]) -> None:
    for label in (episode.label for episode in made):
        assert all(Kind(kind) for kind in label.kinds)
        assert all(Domain(domain) for domain in label.domains)


def test_root_lines_are_in_the_files_and_say_something(made: list[Episode]) -> None:
    without = Counter[str]()
    for episode in made:
        if not episode.label.roots:
            without[episode.label.story] += 1
        for file, line in episode.label.roots:
            assert file != "sacct.txt"
            assert len(episode.files[file].split("\n")[line].strip()) > 10
    assert set(without) == {"only_victims"}


def test_blame_and_exclusions_fit_together(made: list[Episode]) -> None:
    for label in (episode.label for episode in made):
        if label.node is not None:
            assert label.node in label.harmless
        if label.rank is not None:
            assert f"rank {label.rank}" in label.harmless
        if label.is_workload or label.node is None:
            assert label.excludable == frozenset()
        assert label.excludable <= label.harmless


def test_some_episodes_blame_nobody_and_some_no_node(made: list[Episode]) -> None:
    blamed = Counter(
        "node" if label.node else "rank" if label.rank is not None else "nobody"
        for label in (episode.label for episode in made)
    )
    assert blamed["nobody"] > 100
    assert blamed["rank"] >= 3


def test_files_hold_whole_lines_below_their_folder(made: list[Episode], tmp_path: Path) -> None:
    for episode in made:
        for name, text in episode.files.items():
            path = Path(name)
            assert not path.is_absolute()
            assert ".." not in path.parts
            assert text.endswith("\n")
            assert not {"\x02", "\x03"} & set(text)
    made[0].write(tmp_path)
    assert {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()} == set(
        made[0].files
    )


def test_files_keep_the_time_when_they_were_collected(made: list[Episode], tmp_path: Path) -> None:
    made[0].write(tmp_path)
    name = next(iter(made[0].files))
    assert (tmp_path / name).stat().st_mtime == pytest.approx(made[0].collected, abs=1)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_every_story_can_be_told_on_any_seed(story: object) -> None:
    told = next(one for one in STORIES if one is story)
    for seed in range(5):
        for forms in Forms:
            episode = make(told, 0, forms, seed=seed)
            assert episode.label.forms is forms
            assert episode.label.ranks >= 8


def test_lines_of_one_process_keep_their_order(made: list[Episode]) -> None:
    """The exception that was raised last is printed last, whoever prints in between."""
    seen = 0
    for episode in made:
        if episode.label.story != "chained_exceptions":
            continue
        places = {
            file: sorted(n for f, n in episode.label.roots if f == file) for file in episode.files
        }
        for file, (*_, last) in ((file, found) for file, found in places.items() if found):
            assert "could not make a batch" in episode.files[file].split("\n")[last]
            seen += 1
    assert seen == PER_STORY
