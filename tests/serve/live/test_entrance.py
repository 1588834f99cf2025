"""Who is let in, as the configuration says it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from certificates import certificate
from relume.clock import ManualClock, SystemClock
from relume.errors import ConfigError
from relume.serve.api import Role
from relume.serve.live.entrance import access_of, note_certificate, require_entrance
from relume.settings import ServeSettings

TOKEN = "of somebody who reads"  # noqa: S105 - of this test


def private(file: Path, text: str = f"{TOKEN.replace(' ', '-')}\n") -> str:
    file.write_text(text)
    file.chmod(0o600)
    return str(file)


def refusal(**settings: object) -> str:
    with pytest.raises(ConfigError) as caught:
        require_entrance(ServeSettings.model_validate(settings))
    return str(caught.value)


def test_an_open_address_needs_tokens_of_those_who_read_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    everywhere = {"listen": "0.0.0.0:8470"}
    assert "serve.control_token_file" in refusal(**everywhere)
    control = everywhere | {"control_token_file": "c"}
    assert "--allow-open-reads" in refusal(**control)
    for more in ({"allow_open_reads": True}, {"read_token_file": "r"}):
        caplog.clear()
        require_entrance(ServeSettings.model_validate(control | more))
        assert "tokens travel as they are" in caplog.text
    pair = zip(("cert", "key"), map(str, certificate(tmp_path)), strict=True)
    files = {f"tls_{name}_file": file for name, file in pair}
    caplog.clear()
    require_entrance(ServeSettings.model_validate(control | {"read_token_file": "r"} | files))
    assert caplog.text == ""


def test_tls_needs_both_files_and_a_key_of_its_own(tmp_path: Path) -> None:
    certificate, key = private(tmp_path / "cert"), private(tmp_path / "key")
    assert "both, or none" in refusal(tls_cert_file=certificate)
    missing = str(tmp_path / "none")
    assert missing in refusal(tls_cert_file=missing, tls_key_file=key)
    Path(key).chmod(0o604)
    assert "lets everybody read it" in refusal(tls_cert_file=certificate, tls_key_file=key)


def test_a_pair_that_can_t_be_served_is_refused_before_anything_starts(tmp_path: Path) -> None:
    cert, key = map(str, certificate(tmp_path))
    _, other = map(str, certificate(tmp_path, "other"))
    _, locked = map(str, certificate(tmp_path, "locked", phrase="open sesame"))
    text = private(tmp_path / "text")
    assert "the key of another certificate" in refusal(tls_cert_file=cert, tls_key_file=other)
    assert "a key with a pass phrase" in refusal(tls_cert_file=cert, tls_key_file=locked)
    for pair in ((text, key), (cert, text), (key, cert)):
        Path(pair[1]).chmod(0o600)
        words = refusal(tls_cert_file=pair[0], tls_key_file=pair[1])
        assert "expected a certificate in PEM" in words
    require_entrance(ServeSettings(tls_cert_file=cert, tls_key_file=key))


def test_a_certificate_that_has_expired_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cert, key = map(str, certificate(tmp_path))
    serve = ServeSettings(tls_cert_file=cert, tls_key_file=key)
    note_certificate(ServeSettings(), SystemClock())
    note_certificate(serve, SystemClock())
    assert caplog.text == ""
    note_certificate(serve, ManualClock(SystemClock().now() + 101 * 86_400 * 1_000_000))
    assert "is valid until" in caplog.text
    assert "renew it" in caplog.text


def test_tokens_that_nobody_named_are_made_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    first = access_of(ServeSettings(), tmp_path)
    files = sorted(file.name for file in tmp_path.iterdir())
    assert files == ["control.token", "ingest.token"]
    control, ingest = ((tmp_path / name).read_text().strip() for name in files)
    again = access_of(ServeSettings(), tmp_path)
    for access in (first, again):
        assert access.tokens.roles(control) == {Role.CONTROL, Role.LABEL, Role.READ}
        assert access.tokens.roles(ingest) == {Role.INGEST}
        assert access.open_reads
        assert access.knows_host("localhost")
        assert not access.knows_host("gateway")
    assert control not in caplog.text


def test_tokens_of_the_site_are_read_and_close_what_they_are_for(tmp_path: Path) -> None:
    files = {
        f"{role}_token_file": private(tmp_path / role, f"the-token-of-{role}\n") for role in Role
    }
    serve = ServeSettings.model_validate(
        files | {"listen": "0.0.0.0:8470", "host_names": ["Relume.example"]}
    )
    access = access_of(serve, tmp_path)
    assert access.tokens.roles("the-token-of-read") == {Role.READ}
    assert not access.open_reads
    assert access.knows_host("anything")  # tokens are asked for instead
    local = access_of(serve.model_copy(update={"listen": "127.0.0.1:1"}), tmp_path)
    assert local.knows_host("relume.EXAMPLE:443")
    assert not local.knows_host("anything")
