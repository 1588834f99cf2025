"""Configuration: which source wins, where a value came from, and errors that name the place."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from relume import config as config_module
from relume.config import Config, load_config, locate, read_config, schema
from relume.errors import ConfigError
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.settings import (
    DEFAULTS,
    FOLDER_SETTINGS,
    SECTIONS,
    Settings,
    reference,
    to_document,
    to_toml,
    variable,
)

EVIDENCE = "diagnose.max_evidence"


@pytest.fixture(autouse=True)
def _no_file_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        config_module, "SEARCHED_FILES", (tmp_path / "here.toml", tmp_path / "etc.toml")
    )


def written(folder: Path, text: str | bytes, name: str = "relume.toml") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def load(file: Path | None = None, **environ: str) -> Config:
    return load_config(file, environ=environ)


def refused_variable(key: str, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(environ={key: text})
    return str(caught.value)


def refused(file: Path | None = None, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(file, **environ)
    return str(caught.value)


def test_nothing_is_needed() -> None:
    config = load()
    assert config.settings == Settings()
    assert config.file is None
    assert set(config.origins.values()) == {"default"}
    assert config.values() == DEFAULTS


def test_flag_wins_over_environment_over_file_over_default(tmp_path: Path) -> None:
    file = written(
        tmp_path, "[diagnose]\nmax_evidence = 1\nmax_mentions = 1\n[cluster]\nname='a'\n"
    )
    environ = {variable(EVIDENCE): "2", variable("diagnose.max_mentions"): "2"}
    config = load_config(file, flags={EVIDENCE: 3}, environ=environ)
    assert config.values() == dict(DEFAULTS) | {
        EVIDENCE: 3,
        "diagnose.max_mentions": 2,
        "cluster.name": "a",
    }
    assert {name: origin for name, origin in config.origins.items() if origin != "default"} == {
        EVIDENCE: "flag",
        "diagnose.max_mentions": "env RELUME_DIAGNOSE__MAX_MENTIONS",
        "cluster.name": f"file {file}:5",
    }
    assert config.file == file


def test_a_flag_that_is_not_given_says_nothing() -> None:
    config = load_config(flags={EVIDENCE: None}, environ={})
    assert config.origins[EVIDENCE] == "default"


@pytest.mark.parametrize("name", ["diagnose.max", "walrus.max"])
def test_a_flag_of_no_setting_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="flag: unknown"):
        load_config(flags={name: 1}, environ={})


def test_a_bad_flag_is_named() -> None:
    with pytest.raises(ConfigError, match=r"flag: diagnose.max_evidence; found 'x'"):
        load_config(flags={EVIDENCE: "x"}, environ={})


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable(EVIDENCE), "4")
    assert load_config().settings.diagnose.max_evidence == 4


def test_files_are_looked_for_in_order(tmp_path: Path) -> None:
    def name(file: Path | None = None, **environ: str) -> str:
        return load(file, **environ).settings.cluster.name

    written(tmp_path, "cluster.name = 'etc'", "etc.toml")
    assert name() == "etc"
    written(tmp_path, "cluster.name = 'here'", "here.toml")
    assert name() == "here"
    variable_file = written(tmp_path, "cluster.name = 'variable'", "variable.toml")
    assert name(RELUME_CONFIG=str(variable_file)) == "variable"
    assert name(RELUME_CONFIG="") == "here"
    flag_file = written(tmp_path, "cluster.name = 'flag'", "flag.toml")
    assert name(flag_file, RELUME_CONFIG=str(variable_file)) == "flag"


def test_the_documented_places_are_searched(repository: Path) -> None:
    source = (repository / "src/relume/config.py").read_text(encoding="utf-8")
    assert 'SEARCHED_FILES = (Path("relume.toml"), Path("/etc/relume/relume.toml"))' in source


def test_a_file_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    message = refused(tmp_path / "absent.toml")
    assert str(tmp_path / "absent.toml") in message
    assert "No such file" in message
    assert "Errno" not in message
    assert "found Is a directory" in refused(RELUME_CONFIG=str(tmp_path))


def test_a_file_that_never_ends_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "found a named pipe; expected a readable TOML" in refused(tmp_path / "pipe")
    assert "found a device" in refused(Path("/dev/zero"))
    assert load(Path("/dev/null")).settings == Settings()  # the usual word for "no file"


def test_everything_that_is_wrong_is_found_at_once(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "x = 1\n[diagnos]\n[diagnose]\nmax_evidense = 1\nmax_evidence = -1\n"
        "confidence_threshold = 2\nmax_mentions = 7\n[rules]\nfolders = ['', 7]\n",
    )
    environ = {"RELUME_WALRUS__X": "1", "RELUME_CLUSTER__NAME": "a b"}
    config, errors = read_config(file, flags={"cluster.tusk": 1}, environ=environ)
    places = [error.what.removeprefix(f"{file}:") for error in errors]
    assert sorted(places) == [
        "1: unknown section",
        "2: unknown section",
        "4: unknown setting of [diagnose]",
        "5: diagnose.max_evidence",
        "6: diagnose.confidence_threshold",
        "9: rules.folders",
        "9: rules.folders",
        "env RELUME_CLUSTER__NAME: cluster.name",
        "env RELUME_WALRUS__X",
        "flag: unknown setting of [cluster]",
    ]
    assert config.settings.diagnose.max_mentions == 7  # what is right stays
    assert config.settings.diagnose.max_evidence == Settings().diagnose.max_evidence
    with pytest.raises(ConfigError, match=r"x'; .*and 9 more errors: see `relume config check`$"):
        load_config(file, flags={"cluster.tusk": 1}, environ=environ)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[diagnos]\nx = 1\n", ":1: unknown section; found 'diagnos'; expected one of cluster, "),
        (
            "\n\n[diagnose]\n# c\nmax_evidense = 1\n",
            ":5: unknown setting of [diagnose]; found 'max",
        ),
        (
            "[diagnose]\nmax_evidence = 'x'\n",
            ":2: diagnose.max_evidence; found 'x'; expected a valid",
        ),
        ("diagnose.max_evidence = -1\n", ":1: diagnose.max_evidence; found -1; expected greater"),
        (
            "diagnose = {max_evidence = 1.5}",
            ":1: diagnose.max_evidence; found 1.5; expected a valid",
        ),
        ("[diagnose]\nmax_evidence = true\n", "found true; expected a valid integer"),
        ("[diagnose]\nconfidence_threshold = nan\n", "found nan; expected a finite number"),
        ("[diagnose]\nconfidence_threshold = 1.1\n", "expected less than or equal to 1"),
        (
            "[cluster]\nname = 'a b'\n",
            ":2: cluster.name; found 'a b'; expected a text that matches",
        ),
        ("[cluster]\nname = 7\n", "found 7; expected a valid string"),
        ("[cluster]\ntimezone = 'Mars/X'\n", "found 'Mars/X'; expected UTC or an IANA zone"),
        ("[cluster]\ntimezone = '../x'\n", "expected UTC or an IANA zone"),
        (
            "[progress]\npatterns = [\n'ok',\n'(?=x)']\n",
            ":2: progress.patterns; found '(?=x)'; expected",
        ),
        ("[progress]\npatterns = 'x'\n", "found 'x'; expected a list"),
        ("[rules]\nfolders = ['']\n", "rules.folders; found ''; expected a text of at least 1"),
        ("[rules]\nfolders = [7]\n", "rules.folders; found 7; expected a valid string"),
        ("cluster = 3\n", ":1: cluster; found 3; expected a section [cluster]"),
        ("[[cluster]]\nname = 'a'\n", ':1: cluster; found [{"name": "a"}]; expected a section'),
        ("name = 'a'\n", ":1: unknown section; found 'name'"),
        ('["cluster.name"]\n', "unknown section; found 'cluster.name'"),
        (
            "[cluster]\n[cluster.name]\nx = 1\n",
            ':2: cluster.name; found {"x": 1}; expected a valid',
        ),
        ("[cluster]\nname = 'a'\nname = 'b'\n", ":3; found Cannot overwrite"),
        ("[cluster\n", ":1; found "),
        ("x = [\n", "; found Invalid value (at end of document); expected TOML"),
        ("x = " + "[" * 100_000, "; expected TOML"),
        (b"\xff", "; expected a readable TOML file in UTF-8"),
    ],
)
def test_a_bad_file_is_refused_at_its_place(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    file = written(tmp_path, text)
    refusal = refused(file)
    assert str(file) in refusal
    assert message in refusal


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[diagnos]\n", "did you mean 'diagnose'?"),
        ("[diagnose]\nmax-evidence = 1\n", "did you mean 'max_evidence'?"),
        ("[rules]\nfolder = []\n", "did you mean 'folders'?"),
    ],
)
def test_the_nearest_name_is_offered(tmp_path: Path, text: str, hint: str) -> None:
    assert refused(written(tmp_path, text)).endswith(hint)


def test_a_byte_order_mark_and_windows_lines_are_fine(tmp_path: Path) -> None:
    file = written(tmp_path, b"\xef\xbb\xbf[cluster]\r\nname = 'a'\r\n")
    config = load(file)
    assert (config.settings.cluster.name, config.origins["cluster.name"]) == ("a", f"file {file}:2")


def test_folders_of_a_file_start_at_its_own_folder(tmp_path: Path) -> None:
    file = written(tmp_path, "rules.folders = ['mine', '/abs']\nbenchmarks.results_folder = 'r'\n")
    settings = load(file).settings
    assert settings.rules.folders == (str(tmp_path / "mine"), "/abs")
    assert settings.benchmarks.results_folder == str(tmp_path / "r")


def test_folders_of_the_environment_stay_as_they_are() -> None:
    settings = load(RELUME_RULES__FOLDERS='["mine"]').settings
    assert settings.rules.folders == ("mine",)


def test_folder_settings_exist() -> None:
    assert set(DEFAULTS) >= FOLDER_SETTINGS


def test_texts_of_the_environment_are_taken_as_they_are() -> None:
    settings = load(RELUME_CLUSTER__NAME="7", RELUME_BENCHMARKS__RESULTS_FOLDER="[x]").settings
    assert (settings.cluster.name, settings.benchmarks.results_folder) == ("7", "[x]")


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("RELUME_DIAGNOSE__MAX_EVIDENCE", "many", "found 'many'; expected a TOML value such as 12"),
        ("RELUME_DIAGNOSE__MAX_EVIDENCE", "-1", ": diagnose.max_evidence; found -1; expected gr"),
        ("RELUME_DIAGNOSE__MAX_EVIDENCE", "1\nx = 2", "expected a TOML value"),
        ("RELUME_RULES__FOLDERS", "/etc/x", 'expected a TOML value such as ["/etc/rules"]'),
        ("RELUME_RULES__FOLDERS", "[" * 100_000, "expected a TOML value"),
        ("RELUME_DIAGNOSE__MAX_EVIDENSE", "1", "did you mean 'RELUME_DIAGNOSE__MAX_EVIDENCE'?"),
        ("RELUME_DIAGNOSE_MAX_EVIDENCE", "1", "did you mean 'RELUME_DIAGNOSE__MAX_EVIDENCE'?"),
        ("RELUME_WALRUS__X", "1", "see `relume config show`"),
    ],
)
def test_a_bad_variable_is_refused_by_its_name(key: str, text: str, message: str) -> None:
    refusal = refused_variable(key, text)
    assert refusal.startswith(f"env {key}")
    assert message in refusal


@pytest.mark.parametrize("where", ["file", "env", "flag"])
def test_a_password_in_the_ledgers_url_is_refused_and_not_shown(tmp_path: Path, where: str) -> None:
    url = "mysql+pymysql://relume:hidden@db/relume"
    file = tmp_path / "relume.toml"
    file.write_text(f'[serve]\nledger_url = "{url}"\n' if where == "file" else "")
    environ = {"RELUME_SERVE__LEDGER_URL": url} if where == "env" else {}
    flags = {"serve.ledger_url": url} if where == "flag" else {}
    with pytest.raises(ConfigError, match=r"relume:\*\*\*@db.*serve\.ledger_password_file") as told:
        load_config(file, environ=environ, flags=flags)
    assert "hidden" not in str(told.value)


def test_variables_of_others_are_left_alone() -> None:
    config = load(
        RELUME_PORT="tcp://10.0.0.1:80", RELUME_CONFIGS="x", OTHER__KEY="1", relume__x="1"
    )
    assert config.settings == Settings()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("a = 1", {("a",): 1}),
        ("\n# c\na.b = 1\n", {("a",): 3, ("a", "b"): 3}),
        ("[t]\nx = 1\n\n[u]\ny = 2", {("t",): 1, ("t", "x"): 2, ("u",): 4, ("u", "y"): 5}),
        ("x = [\n1,\n# ]\n2]\ny = 1", {("x",): 1, ("y",): 5}),
        ('x = """\n[t]\ny = 1\n"""\nz = 1', {("x",): 1, ("z",): 5}),
        ("x = '''\n[t]\n'''\n[t]", {("x",): 1, ("t",): 4}),
        ("t = {x = 1}\n", {("t",): 1, ("t", "x"): 1}),
        ('["t"]\n"x" = 1\r\n', {("t",): 1, ("t", "x"): 2}),
        ("[[t]]\nx = 1\n[[t]]\nx = 2\n", {("t",): 1}),
        ("  [t]\n  x = 1", {("t",): 1, ("t", "x"): 2}),
        ("x = 1 # [\ny = 2", {("x",): 1, ("y",): 2}),
    ],
)
def test_the_line_of_every_key_is_found(text: str, expected: dict[tuple[str, ...], int]) -> None:
    assert locate(text) == expected


def test_defaults_are_those_of_what_they_configure() -> None:
    diagnose, used = Settings().diagnose, DiagnosisSettings()
    assert diagnose.confidence_threshold == used.confidence_threshold
    assert diagnose.max_evidence == used.max_evidence
    assert diagnose.max_mentions == used.max_mentions


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_setting_has_its_words(name: str) -> None:
    section, key = name.split(".")
    words = SECTIONS[section].model_fields[key].description or ""
    first, _, rest = words.partition("\n\n")
    assert re.match(r"[A-Z][^\n]+\.$", first)
    assert len(rest) > 80, "say why this default, and what another value does"


def test_docs_are_made_from_the_settings(repository: Path) -> None:
    page = (repository / "docs/configuration.md").read_text(encoding="utf-8")
    assert page == reference(), "make it again with the command in its first lines"


def test_docs_name_every_setting_with_its_default() -> None:
    page = reference()
    for name, default in DEFAULTS.items():
        assert (
            f"### {name}\n\nDefault `{to_toml(default)}`, environment `{variable(name)}`." in page
        )


def test_the_example_in_the_docs_is_the_default_configuration(tmp_path: Path) -> None:
    example = reference().split("```toml\n", 1)[1].split("```", 1)[0]
    table = tomllib.loads(example)
    assert Settings.model_validate(table) == Settings()
    assert set(load(written(tmp_path, example)).origins.values()).isdisjoint({"default"})


@pytest.mark.parametrize("value", [0.5, 12, 'a"b\\c\x7f\x00\n', ["a", "é"], [], True])
def test_values_are_written_as_toml(value: Any) -> None:
    assert tomllib.loads(f"x = {to_toml(value)}")["x"] == value


def test_a_document_holds_what_it_is_given() -> None:
    assert to_document({"rules.folders": ("a",), "cluster.name": "b"}) == (
        '[cluster]\nname = "b"\n\n[rules]\nfolders = ["a"]\n'
    )


def test_the_schema_describes_every_setting_and_no_other() -> None:
    document = json.loads(json.dumps(schema()))
    assert document["$schema"].startswith("https://json-schema.org/")
    assert document["additionalProperties"] is False
    sections = {
        section: document["$defs"][SECTIONS[section].__name__] for section in document["properties"]
    }
    names = [f"{section}.{key}" for section in sections for key in sections[section]["properties"]]
    assert names == list(DEFAULTS)
    assert all(sections[section]["additionalProperties"] is False for section in sections)
