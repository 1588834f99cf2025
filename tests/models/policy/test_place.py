"""Code has one name wherever it lies; two files of one base name have two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.policy.place import code_place, is_installed


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("/home/ada/a/model.py", "/home/eve/a/model.py"),
        ("/gpfs/home/ada/train.py", "/Users/eve/train.py"),
        ("~ada/a/train.py", "/root/a/train.py"),
        ("/w/run17/a/train.py", "/w/run18/a/train.py"),
        ("/w/torch-2.1/nn/f.py", "/w/torch-2.4.1/nn/f.py"),
        ("/tmp/tmpa_k2x8bq/train.py", "/tmp/tmp9fw3kd_1/train.py"),  # noqa: S108
        ("/w/pkg_a1b2c3d4e5/train.py", "/w/pkg_0f9e8d7c6b/train.py"),
        ("/w/1a2b3c4d-aa11-bb22/a.py", "/w/5e6f7a8b-cc33-dd44/a.py"),
        ("/tmp/ipykernel_77/1234567.py", "/tmp/ipykernel_9/42.py"),  # noqa: S108
        ("/w/a/./model.py", "/w/a/model.py"),
        ("/a/lib/python3.9/site-packages/x/y.py", "/b/c/lib64/python3.12/site-packages/x/y.py"),
        ("/a/site-packages/x-1.0-py3.10.egg/x/y.py", "/usr/lib/python3/dist-packages/x/y.py"),
        ("/a/lib/python3.9/json/decoder.py", "/usr/lib/python3.12/json/decoder.py"),
    ],
)
def test_machines_people_and_versions_do_not_count(one: str, same: str) -> None:
    assert code_place(f"{one}:f") == code_place(f"{same}:f")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/w/a/model.py", "/w/b/model.py"),
        ("a/model.py", "b/model.py"),
        ("/w/a/src/model.py", "/w/b/src/model.py"),
        ("/home/ada/a/model.py", "/home/ada/b/model.py"),
        ("/w/stage1.py", "/w/stage2.py"),
        ("/e/site-packages/x/p/y.py", "/e/site-packages/z/p/y.py"),
        ("<string>", "<stdin>"),
    ],
)
def test_two_files_have_two_names(one: str, other: str) -> None:
    assert code_place(f"{one}:f") != code_place(f"{other}:f")
    assert code_place(f"{one}:f > {other}:g") != code_place(f"{other}:f > {one}:g")


def test_what_is_installed_is_not_the_job_s_own() -> None:
    assert is_installed("<frozen importlib._bootstrap>")
    assert is_installed("/usr/lib/python3.11/json/decoder.py")
    assert not is_installed("/work/python/train.py")
    assert not is_installed("<string>")


@given(st.text())
def test_any_place_has_a_name(place: str) -> None:
    assert code_place(place).count(" > ") == place.count(" > ")
