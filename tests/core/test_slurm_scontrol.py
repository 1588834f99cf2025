from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.slurm.scontrol import is_up, parse_config, parse_nodes

HEAD = "NodeName=n1 Arch=x86_64 CoresPerSocket=1 OS=Linux 6.1 #1 SMP @0 Sockets=8 State=DOWN*+DRAIN"


@pytest.mark.parametrize(
    ("text", "up"),
    [
        ("Slurmctld(primary) at a is UP\n", True),
        ("Slurmctld(primary) at a is DOWN\nSlurmctld(backup1) at b is UP\n", True),
        ("Slurmctld(primary/backup) at a/b are UP/DOWN\n", True),
        ("Slurmctld(primary) at a is DOWN\n*****\n** RESTORE SLURMCTLD SERVICE **\n", False),
        ("", False),
    ],
)
def test_one_controller_that_answers_is_enough(text: str, *, up: bool) -> None:
    assert is_up(text) is up


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        ("", None),
        (" Reason=Not responding [slurm@2026-01-02T03:04:05]", "Not responding"),
        (" Reason=bad State=IDLE Partitions=x [a@b]", "bad State=IDLE Partitions=x"),
        (" Reason=no bracket", "no bracket"),
        (" Reason=gpu [root@t] Comment=swap it", "gpu"),
    ],
)
def test_a_node_has_its_words_and_its_reason(tail: str, reason: str | None) -> None:
    [node] = parse_nodes(f"{HEAD} Partitions=gpu,all CfgTRES=cpu=8{tail}\n")
    assert (node.node, node.state, node.reason) == ("n1", "DOWN*+DRAIN", reason)
    assert node.partitions == ("gpu", "all")


def test_a_node_may_be_in_no_partition() -> None:
    [node] = parse_nodes(HEAD)
    assert node.partitions == ()


def test_a_line_that_is_no_node_is_an_error() -> None:
    with pytest.raises(InputError, match="scontrol show node"):
        parse_nodes("Node n9 not found\n")
    with pytest.raises(InputError, match="scontrol show node"):
        parse_nodes("NodeName=n1 Arch=x86_64\n")


def test_settings_are_read_with_their_whole_value() -> None:
    text = (
        "Configuration data as of 2026-01-02T03:04:05\n"
        "AuthInfo                = socket=/m/s,cred_expire=5\n"
        "SLURM_CONF              = /etc/slurm/slurm.conf\n"
        "EpilogSlurmctld[0]      = /helper\n"
        "\nSlurmctld(primary) at a is UP\n"
    )
    assert parse_config(text) == {
        "AuthInfo": "socket=/m/s,cred_expire=5",
        "SLURM_CONF": "/etc/slurm/slurm.conf",
        "EpilogSlurmctld[0]": "/helper",
    }


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    parse_config(text)
    is_up(text)
    try:
        parse_nodes(text)
    except InputError:
        return
    assert not text.strip("\n").strip()
