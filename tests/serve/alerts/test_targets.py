"""Alertmanager's API, heartbeats, and what a service makes of its settings."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from desk import Desk
from relume.advice import Operation
from relume.errors import ConfigError
from relume.serve.alerts.service import Alerts, liveness, read_secret, rules_of, targets_of
from relume.serve.alerts.targets import Alertmanager, Heartbeat, Post
from relume.serve.api import PartStatus
from relume.settings import AlertsSettings
from relume.verdict import Health, Kind

PATIENCE_SECONDS = 60.0


def alerts(desk: Desk) -> list[dict[str, Any]]:
    """What Alertmanager was sent of incidents, in order."""
    every = (one for body in desk.receiver.bodies for one in body)
    return [one for one in every if one["labels"]["alertname"] == "RelumeIncident"]


def manager(desk: Desk) -> Alertmanager:
    return Alertmanager(f"{desk.receiver.url}/", "alertmanager 1", "a token")


def test_alertmanager_hears_again_and_again_of_what_goes_on(desk: Desk) -> None:
    lane = desk.begun(manager(desk))
    advice = desk.advise()
    for _ in range(5):
        lane.step()
        desk.clock.advance(30)
    first, *others = alerts(desk)
    assert len(others) == 2
    assert {one["startsAt"] for one in others} == {first["startsAt"]}
    assert first["endsAt"] < others[0]["endsAt"] < others[1]["endsAt"]
    desk.close(advice)
    lane.step()
    over = alerts(desk)[-1]
    assert over["labels"] == first["labels"]
    assert over["startsAt"] < over["endsAt"] < others[-1]["endsAt"]
    assert set(desk.receiver.paths) == {"/api/v2/alerts"}
    assert set(desk.receiver.tokens) == {"Bearer a token"}


def test_a_level_that_rises_is_a_new_alert_and_one_that_falls_is_not(desk: Desk) -> None:
    lane = desk.begun(manager(desk))
    slow: dict[str, Any] = {"kind": Kind.STRAGGLER, "operation": Operation.OBSERVE}
    desk.advise(**slow)
    lane.step()
    desk.clock.advance(10)
    advice = desk.advise(generation=2)
    lane.step()
    severities = [(one["labels"]["severity"], one["endsAt"]) for one in alerts(desk)]
    assert [name for name, _ in severities] == ["warning", "warning", "critical"]
    assert severities[1][1] < severities[0][1] < severities[2][1]
    desk.clock.advance(10)
    desk.close(advice)
    lane.step()
    assert alerts(desk)[-1]["labels"]["severity"] == "critical"
    desk.clock.advance(1)
    over = desk.advise(2, generation=1)
    lane.step()
    desk.clock.advance(10)
    taken_back = desk.advise(2, generation=2, operation=Operation.OBSERVE, kind=Kind.STRAGGLER)
    lane.step()
    assert over.subject == taken_back.subject
    last = alerts(desk)[-1]
    assert (last["labels"]["severity"], last["annotations"]["kind"]) == ("critical", "crash")


def test_the_alert_that_always_fires_ends_when_nobody_watches(desk: Desk) -> None:
    parts = {"runner": PartStatus(Health.HEALTHY), "scheduler": PartStatus(Health.HEALTHY)}
    lane = desk.lane(manager(desk), is_alive=liveness(lambda: parts))
    for _ in range(5):
        lane.step()
        desk.clock.advance(30)
    assert [body[0]["labels"]["alertname"] for body in desk.receiver.bodies] == ["RelumeAlive"] * 3
    parts["scheduler"] = PartStatus(Health.UNHEALTHY, "nothing for 70 s")
    desk.clock.advance(60)
    lane.step()
    del parts["scheduler"]
    lane.step()
    assert len(desk.receiver.bodies) == 3


def test_a_heartbeat_is_asked_for_each_minute_whatever_the_clock_does(desk: Desk) -> None:
    beat = Heartbeat("heartbeat", Post(f"{desk.receiver.url}/ping", "heartbeat"))
    lane = desk.lane(beat)
    desk.advise()
    for seconds in (0, 59, 1, -3600, 0):
        desk.clock.advance(seconds)
        lane.step()
    assert (
        list(zip(desk.receiver.methods, desk.receiver.paths, strict=True)) == [("GET", "/ping")] * 3
    )


def private(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text)
    file.chmod(0o600)
    return str(file)


def test_targets_are_those_of_the_configuration(tmp_path: Path) -> None:
    hook = "https://hooks.slack.example/services/T/B/secret"
    settings = AlertsSettings(
        alertmanager_urls=("http://127.0.0.1:9093",),
        webhook_urls=("http://127.0.0.1:1/a", "http://127.0.0.1:1/b"),
        slack_url_file=private(tmp_path, "slack", f"{hook}\n"),
        heartbeat_url_file=private(tmp_path, "beat", "https://hc.example/1"),
        token_file=private(tmp_path, "token", "abc"),
        least_level="info",
        cooldown_seconds=1.0,
    )
    targets = targets_of(settings)
    kinds = ["alertmanager", "webhook", "webhook", "slack", "heartbeat"]
    assert [one.kind for one in targets] == kinds
    assert len({one.name for one in targets}) == 5
    assert not any("secret" in one.name or "http" in one.name for one in targets)
    assert (rules_of(settings).least, rules_of(settings).cooldown_seconds) == ("info", 1.0)
    for one in targets:
        one.close()
    assert targets_of(AlertsSettings()) == []


@pytest.mark.parametrize("text", ["", "two words", "\xff"])
def test_a_secret_is_one_word(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"alerts\.token_file"):
        read_secret(private(tmp_path, "secret", text), "alerts.token_file")


def test_a_secret_that_everybody_can_read_is_refused(tmp_path: Path) -> None:
    file = Path(private(tmp_path, "secret", "word"))
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="everybody"):
        read_secret(str(file), "alerts.token_file")
    with pytest.raises(ConfigError, match="No such file"):
        read_secret(str(tmp_path / "none"), "alerts.token_file")


def test_an_address_in_a_file_must_be_one_and_is_not_shown(tmp_path: Path) -> None:
    file = private(tmp_path, "slack", "ftp://secret.example")
    with pytest.raises(ConfigError) as caught:
        targets_of(AlertsSettings(slack_url_file=file))
    assert "secret" not in str(caught.value)


def test_threads_send_by_themselves_and_end_when_they_are_told(desk: Desk) -> None:
    lane = desk.lane()
    running = Alerts([lane], look_seconds=0.01)
    running.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not any(key.endswith(" since") for key in desk.ledger.cursors()):
        assert time.monotonic() < deadline
    desk.advise()
    while not desk.receiver.bodies:
        assert time.monotonic() < deadline
    running.stop()
    assert desk.receiver.events == [("opened", 1)]
    assert json.loads(json.dumps(desk.receiver.bodies[0]))["event"] == "opened"
