"""Which lines say that what failed is tried again."""

from __future__ import annotations

import pytest

from making import make_hit, make_signature
from relume.models.diagnosis.retrying import is_retried
from relume.models.signatures.rule import Tier

RULE = make_signature()
STALL = make_signature(tier=Tier.TIMEOUT)


@pytest.mark.parametrize(
    "text",
    [
        "ConnectionError: timed out. Retrying in 5 s",
        "write failed: EIO, will be retried",
        "error: no answer of the controller, still trying",
        "read failed, will retry (2 of 5)",
        "upload failed; trying again in 30 seconds",
        "lost the server, reconnecting",
        "Network error (ConnectTimeout), entering retry loop.",
    ],
)
def test_the_next_try_is_announced(text: str) -> None:
    assert is_retried(make_hit(RULE, 1, text=text))


@pytest.mark.parametrize(
    "text",
    [
        "ConnectionError: Max retries exceeded with url: /x",
        "OSError: EIO, gave up after retrying 5 times",
        "upload failed, no longer retrying",
        "read failed, not retrying",
        "RuntimeError: please try again later",
        "NCCL WARN ibv status: transport retry counter exceeded",
        "RuntimeError: stopped trying to connect",
    ],
)
def test_whoever_gives_up_tells_of_a_failure(text: str) -> None:
    assert not is_retried(make_hit(RULE, 1, text=text))


def test_a_kernel_that_goes_on_trying_is_stalled() -> None:
    text = "nfs: server 10.0.0.9 not responding, still trying"
    assert not is_retried(make_hit(STALL, 1, text=text, stream="kernel"))
    assert is_retried(make_hit(STALL, 1, text=text))
