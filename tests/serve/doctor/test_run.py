"""Checks run side by side; one that hangs or breaks stops no other."""

from __future__ import annotations

from threading import Event

from relume.clock import ManualClock
from relume.errors import ConfigError, InputError, UnreachableError
from relume.serve.doctor.checks import checks_of, secret_files
from relume.serve.doctor.finding import Check, failing, ok, unknown, unreachable, warning
from relume.serve.doctor.run import exit_code, run_checks
from relume.settings import AlertsSettings, ClusterSettings, ServeSettings, Settings


def raising(error: Exception) -> Check:
    def check() -> list[None]:
        raise error

    return check  # type: ignore[return-value]


def test_each_error_is_a_line_and_the_order_stays() -> None:
    found = run_checks(
        {
            "fine": lambda: [ok("fine", "well")],
            "config": raising(ConfigError("x", found="y", expected="z", hint="mend it")),
            "away": raising(UnreachableError("db", found="no answer")),
            "input": raising(InputError("x")),
            "broken": raising(ZeroDivisionError("oops")),
        },
        60.0,
    )
    assert [(one.check, one.status.value) for one in found] == [
        ("fine", "ok"),
        ("config", "failing"),
        ("away", "failing"),
        ("input", "failing"),
        ("broken", "unknown"),
    ]
    assert (found[1].words, found[1].fix) == ("x; y; expected z", "mend it")
    assert [one.is_unreachable for one in found] == [False, False, True, False, False]
    assert all(one.fix for one in found[1:4])


def test_one_that_hangs_is_unknown() -> None:
    over = Event()

    def hang() -> list[None]:
        over.wait()
        return []

    late, fine = run_checks({"late": hang, "fine": lambda: [ok("fine", "well")]}, 0.2)  # type: ignore[dict-item]
    over.set()
    assert (late.status, "0 s" in late.words) == ("unknown", True)
    assert fine.check == "fine"


def test_the_exit_code_tells_what_kind_it_is() -> None:
    fine = [ok("a", ""), warning("a", "", "x"), unknown("a", "")]
    assert exit_code(fine) == 0
    assert exit_code([*fine, failing("a", "", "x")]) == 1
    assert exit_code([*fine, failing("a", "", "x"), unreachable("a", "", "x")]) == 3


def test_what_is_configured_is_looked_at() -> None:
    settings = Settings(
        cluster=ClusterSettings(name="lab"),
        serve=ServeSettings(
            tls_cert_file="/c", tls_key_file="/k", ledger_url="mysql+pymysql://u@h/d"
        ),
        alerts=AlertsSettings(alertmanager_urls=("http://a:1", "http://b:1"), token_file="/t"),  # noqa: S106
    )
    names = list(checks_of(settings, ManualClock(0), prometheus="http://p"))
    assert names[-4:] == ["tls", "alertmanager 1", "alertmanager 2", "prometheus"]
    assert set(secret_files(settings)) == {"serve.tls_key_file", "alerts.token_file"}
    assert "tls" not in checks_of(Settings(), ManualClock(0))
