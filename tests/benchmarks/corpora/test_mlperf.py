from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.corpora.mlperf import FOLDER, first_lines, load
from relume.errors import InputError


def write(root: Path, name: str, text: str = "one\ntwo\nthree\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_logs_are_found_in_order_and_nothing_else(tmp_path: Path) -> None:
    second = write(tmp_path, "site-b/system/bert/result_0.txt")
    first = write(tmp_path, "site-a/system/bert/result_1.txt")
    write(tmp_path, "site-a/system/bert/notes.txt")
    write(tmp_path, "site-a/result_0.txt")
    logs = load(tmp_path)
    assert (logs.name, logs.paths) == (FOLDER, (first, second))


def test_the_data_folder_is_as_good_as_the_corpus(tmp_path: Path) -> None:
    write(tmp_path / FOLDER, "site/system/bert/result_0.txt")
    assert load(tmp_path) == load(tmp_path / FOLDER)


def test_the_hash_names_paths_and_content(tmp_path: Path) -> None:
    write(tmp_path / "a", "site/system/bert/result_0.txt")
    write(tmp_path / "b", "site/system/bert/result_0.txt")
    write(tmp_path / "c", "site/system/bert/result_0.txt", "other\n")
    write(tmp_path / "d", "site/system/bert/result_1.txt")
    hashes = [load(tmp_path / name).hash for name in "abcd"]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_a_folder_without_logs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot load the MLPerf logs; .* --data"):
        load(tmp_path)


def test_first_lines_are_those_of_the_first_log(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c/result_0.txt", "bar 1\rbar 2\ntwo\nthree\n")
    write(tmp_path, "b/b/c/result_0.txt", "other\n")
    assert first_lines(load(tmp_path), 2) == ["bar 1\rbar 2", "two"]
