"""Where logs are looked for, and which may be read."""

from __future__ import annotations

import os
from pathlib import Path
from pwd import getpwuid

import pytest

from relume.errors import InputError
from relume.ingest.accounting.row import AccountingRow
from relume.serve.scan.places import LogPlaces, Place, names_of, no_paths, option_of
from scanning import attempts, write

ME = getpwuid(os.geteuid()).pw_name
SUBMITTED = "sbatch -N2 --output=logs/%x-%j.out -e logs/%j.err train.sh --output=x"


def row(**changes: str) -> AccountingRow:
    [(_, found)] = attempts({"JobID": "7", "User": ME, **changes})
    return found


def opened(place: Place) -> str:
    with os.fdopen(place.opener(Path(place.path))) as stream:
        return stream.read()


def paths(places: list[Place]) -> list[tuple[str, str]]:
    return [(place.path, place.stream) for place in places]


def test_a_template_is_filled_with_slurms_patterns(tmp_path: Path) -> None:
    where = LogPlaces(templates=(f"{tmp_path}/%u/%x-%4j.out",))
    path = write(tmp_path, f"{ME}/train-0007.out", ["hello"])
    [place] = where.of_job(row(), told=[("/elsewhere", "stdout")])
    assert paths([place]) == [(str(path), "stdout")]
    assert opened(place) == "hello\n"


def test_a_job_name_leads_no_template_out_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path, "secret.out", ["secret"])
    (tmp_path / "logs").mkdir()
    where = LogPlaces(templates=(f"{tmp_path}/logs/%x.out",))
    [place] = where.of_job(row(JobName="../secret"))
    with pytest.raises(InputError, match="outside of the folders"):
        opened(place)


def test_a_link_leads_no_template_out_of_its_folder(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.out", ["secret"])
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "7.out").symlink_to(secret)
    [place] = LogPlaces(templates=(f"{tmp_path}/logs/%j.out",)).of_job(row())
    with pytest.raises(InputError, match="outside of the folders"):
        opened(place)


def test_a_file_that_a_job_names_is_read_below_the_roots_only(tmp_path: Path) -> None:
    path = write(tmp_path, "logs/7.out", ["hello"])
    told = [(str(path), "stdout")]
    [inside] = LogPlaces(roots=(str(tmp_path / "logs"),)).of_job(row(), told)
    [outside] = LogPlaces(roots=(str(tmp_path / "other"),)).of_job(row(), told)
    [nowhere] = LogPlaces().of_job(row(), told)
    assert opened(inside) == "hello\n"
    for place in (outside, nowhere):
        with pytest.raises(InputError, match="outside of the folders"):
            opened(place)


def test_a_user_reads_their_own_files_anywhere_and_nobody_elses(tmp_path: Path) -> None:
    path = write(tmp_path, "7.out", ["hello"])
    mine = LogPlaces(own_user=ME)
    [place] = mine.of_job(row(), [(str(path), "stdout")])
    [passwords] = mine.of_job(row(User="daemon"), [("/etc/passwd", "stdout")])
    assert opened(place) == "hello\n"
    with pytest.raises(InputError):
        opened(passwords)


def test_a_file_of_another_user_is_not_read_for_a_job(tmp_path: Path) -> None:
    path = write(tmp_path, "7.out", ["hello"])
    where = LogPlaces(roots=(str(tmp_path),))
    [place] = where.of_job(row(User="daemon"), [(str(path), "stdout")])
    with pytest.raises(InputError, match="one of user"):
        opened(place)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [("/w/slurm-7.out", "stdout")]),
        ({"JobID": "8_3", "JobIDRaw": "9"}, [("/w/slurm-8_3.out", "stdout")]),
        (
            {"SubmitLine": SUBMITTED},
            [("/w/logs/train-7.out", "stdout"), ("/w/logs/7.err", "stderr")],
        ),
        (
            {"SubmitLine": SUBMITTED, "StdOut": "/o/%N"},
            [("/o/gpu-a07", "stdout"), ("/w/logs/7.err", "stderr")],
        ),
        ({"SubmitLine": "sbatch -o/dev/null x"}, []),
        ({"WorkDir": ""}, []),
    ],
)
def test_without_templates_the_job_says_where(
    changes: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    assert paths(LogPlaces().of_job(row(**changes))) == expected


def test_why_nobody_knows_where_a_log_is() -> None:
    assert "JobIDRaw" in no_paths(AccountingRow("8_3", "FAILED"))
    assert "--logs" in no_paths(AccountingRow("8", "FAILED"))
    assert "asked for none" in no_paths(row(SubmitLine="sbatch -o /dev/null x"))
    assert names_of(AccountingRow("8+1", "FAILED")) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sbatch -o a.out x.sh", "a.out"),
        ("sbatch -oa.out x.sh", "a.out"),
        ("sbatch --output a.out", "a.out"),
        ("sbatch --output='my logs/%j' x.sh", "my logs/%j"),
        ("sbatch x.sh", None),
        ("sbatch -o", None),
        ("sbatch 'unclosed", None),
        (None, None),
    ],
)
def test_options_of_a_submit_line(line: str | None, expected: str | None) -> None:
    assert option_of(line, ("-o", "--output")) == expected


def test_kernel_logs_by_node() -> None:
    where = LogPlaces(kernel=("/var/log/nodes/{node}.log", "/k/{node}"))
    assert paths(where.of_node("n1")) == [("/var/log/nodes/n1.log", "kernel"), ("/k/n1", "kernel")]
    assert where.of_node("../../etc") == where.of_node("..") == []
