from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from relume.benchmarks.loop.demo import main
from relume.benchmarks.loop.site import Site, cleaned_up_on_sigterm
from relume.errors import InputError


def test_a_folder_that_is_not_ours_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("two years of work")
    with pytest.raises(InputError, match="files that no earlier run of ours left"):
        Site(tmp_path, Path("python")).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_sigterm_ends_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), cleaned_up_on_sigterm():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_demo_says_what_it_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--python", str(tmp_path / "python"), "--folder", str(tmp_path / "site")]) == 3
    assert "run `make torch`" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
