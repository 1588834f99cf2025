"""The command that asks accounting for a time."""

from __future__ import annotations

from relume.ingest.accounting.read import read_rows
from relume.ingest.skips import SkipCounts
from relume.slurm.history import FIELDS, PATH_FIELDS, Asked, command, refuses_fields


def test_what_is_asked_for_is_in_the_command() -> None:
    asked = Asked(since=0, until=3_600_000_000, users=["a", "b"], jobs=["7"], partitions=["gpu"])
    argv = command(asked, with_paths=True)
    assert argv[:3] == ("sacct", "--duplicates", "--parsable2")
    assert "--starttime=1970-01-01T00:00:00" in argv
    assert "--endtime=1970-01-01T01:00:00" in argv
    assert {"--user=a,b", "--jobs=7", "--partition=gpu"} <= set(argv)
    assert f"--format={','.join(FIELDS + PATH_FIELDS)}" in argv
    assert "--allusers" not in argv


def test_without_anything_all_users_are_asked_for_until_now() -> None:
    argv = command(Asked(since=0), with_paths=False)
    assert "--allusers" in argv
    assert not any(word.startswith(("--endtime", "--user", "--jobs")) for word in argv)
    assert "StdOut" not in " ".join(argv)


def test_the_delimiter_is_another_one_each_time_and_can_be_read() -> None:
    def drawn() -> str:
        argv = command(Asked(since=0), with_paths=False)
        [word] = [word for word in argv if word.startswith("--delimiter=")]
        return word.removeprefix("--delimiter=")

    one, other = drawn(), drawn()
    assert one != other
    cells = {"JobID": "7", "State": "FAILED", "JobName": "a|b#%FAILED"}
    lines = [one.join(FIELDS), one.join(cells.get(name, "") for name in FIELDS)]
    skipped = SkipCounts()
    [row] = read_rows(lines, skipped)
    assert (row.job_id, row.state, row.name) == ("7", "FAILED", "a|b#%FAILED")
    assert not skipped


def test_an_unknown_column_is_known_by_the_message() -> None:
    assert refuses_fields('sacct: fatal: Invalid field requested: "StdOut"\n')
    assert not refuses_fields("sacct: error: slurmdbd: Connection refused\n")
