from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import RuleError
from relume.events import LogLine
from relume.models.signatures.checks import check_catalogue
from relume.models.signatures.fields import BadRuleError, FieldError, read_signature
from relume.models.signatures.loader import load_catalogue, read_rules
from relume.models.signatures.rule import Exclude, Implicates, Role, Signature, Tier
from relume.models.signatures.site import as_site_rule
from relume.verdict import Domain, Kind, Retry

Write = Callable[..., Path]
Make = Callable[..., str]


def test_reads_every_field(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule(verify="'^GPU'", specificity="70", advice="'Swap it.'"))
    [signature] = load_catalogue([path], packaged=False).signatures
    assert (signature.id, signature.category, signature.cause) == ("gpu_gone", "site", "gpu_gone")
    assert (signature.role, signature.tier) == (Role.ROOT, Tier.HARDWARE)
    assert (signature.kind, signature.domain) == (Kind.CRASH, Domain.HARDWARE)
    assert (signature.retry, signature.exclude) == (Retry.YES, Exclude.YES)
    assert signature.implicates is Implicates.PRINTER
    assert signature.verify is not None
    assert signature.verify.pattern == "^GPU"
    assert signature.specificity == 70
    assert signature.advice == "Swap it."
    assert len(signature.positive) == len(signature.negative) == 2


def test_flattens_patterns_with_their_owners(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(
        make_rule(id="'a'", patterns="['one', 'two']"), make_rule(id="'b'", patterns="['three']")
    )
    catalogue = load_catalogue([path], packaged=False)
    assert catalogue.patterns == ("one", "two", "three")
    assert catalogue.owners == (0, 0, 1)
    assert catalogue.by_id["b"] is catalogue.signatures[1]


def test_a_folder_is_read_in_order_of_name(write_rules: Write, make_rule: Make) -> None:
    write_rules(make_rule(id="'later'"), name="b.toml")
    folder = write_rules(make_rule(id="'first'"), name="a.toml").parent
    (folder / "notes.txt").write_text("not a rule")
    assert [s.id for s in load_catalogue([folder], packaged=False).signatures] == ["first", "later"]


def test_site_rules_join_the_packaged_ones(write_rules: Write, make_rule: Make) -> None:
    catalogue = load_catalogue([write_rules(make_rule(id="'our_own_rule'"))])
    assert {"our_own_rule", "cuda_oom"} <= set(catalogue.by_id)


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"rolle": "'root'"}, "rolle", "did you mean 'role'?"),
        ({"role": "'rot'"}, "role", "did you mean 'root'?"),
        ({"role": "5"}, "role", "one of root, confirmation"),
        ({"domain": None}, "domain", "found nothing"),
        ({"source": None}, "source", "found nothing"),
        ({"id": "'Gpu Gone'"}, "id", "snake_case"),
        ({"cause": "'Gpu Gone'"}, "cause", "snake_case"),
        ({"summary": "''"}, "summary", "one line of text"),
        ({"summary": '"a\\nb"'}, "summary", "one line of text"),
        ({"specificity": "101"}, "specificity", "0 to 100"),
        ({"specificity": "true"}, "specificity", "0 to 100"),
        ({"patterns": "'GPU'"}, "patterns", "a list of texts"),
        ({"patterns": "[]"}, "patterns", "a list of texts"),
        ({"patterns": "['x', 'x']"}, "patterns", "twice"),
        ({"patterns": "['lost(?!x)']"}, "patterns", "(?!"),
        ({"patterns": "['(lost']"}, "patterns", "(lost"),
        ({"patterns": "['x*']"}, "patterns", "at least one character"),
        ({"patterns": "['a{1,2000}b']"}, "patterns", "modest size"),
        ({"patterns": "['(?P<gpu>GPU) lost']"}, "patterns", "(?P<gpu>"),
        ({"captures": "['GPU (?P<gpus>.)']"}, "captures", "did you mean 'gpu'?"),
        ({"captures": "['GPU .']"}, "captures", "a named group"),
        ({"captures": "['(?P<gpu>']"}, "captures", "a Python regular expression"),
        ({"verify": "'(?:a+)+b'"}, "verify", "a bounded repeat"),
        ({"verify": "'['"}, "verify", "a Python regular expression"),
        ({"positive": "['GPU has fallen off']"}, "positive", "at least two"),
        ({"negative": "['a']"}, "negative", "at least two"),
        ({"negative": "['a', 'GPU has fallen off the bus']"}, "negative", "is no hit"),
        ({"domain": "'workload'"}, "exclude", "isn't to blame"),
        ({"implicates": "'nobody'"}, "exclude", "nobody is implicated"),
        ({"implicates": "'named'", "captures": ["xid (?P<xid>.)"]}, "captures", "says who"),
    ],
)
def test_says_what_is_wrong_with_a_field(
    write_rules: Write,
    make_rule: Make,
    changes: dict[str, str | list[str] | None],
    field: str,
    says: str,
) -> None:
    path = write_rules(make_rule(**changes))
    with pytest.raises(RuleError) as caught:
        load_catalogue([path], packaged=False)
    message = str(caught.value)
    assert message.startswith(f"{path}: rule ")
    assert f": field {field};" in message
    assert says in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("category = 'x'\n[[signature]\n", "not a TOML file"),
        ("category = 'x'\n", "[[signature]] tables"),
        ("category = 'x'\nsignature = 'x'\n", "[[signature]] tables"),
        ("category = 'x'\nsignature = ['x']\n", "a [[signature]] table"),
        ("[[signature]]\nid = 'x'\n", "a name such as 'cuda'"),
        ("category = 'x'\nsignatures = []\n", "did you mean 'signature'?"),
    ],
)
def test_says_what_is_wrong_with_a_file(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(RuleError) as caught:
        load_catalogue([path], packaged=False)
    assert str(caught.value).startswith(str(path))
    assert says in str(caught.value)


def test_names_an_unnamed_rule_by_its_number(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule(id="'good'"), make_rule(id=None))
    _, [error] = read_rules([path], packaged=False)
    assert "rule number 2: field id" in str(error)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"gone\.toml: can't be read"):
        load_catalogue([tmp_path / "gone.toml"], packaged=False)


def test_a_file_that_never_ends_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path, tmp_path / "pipe.toml"):
        with pytest.raises(RuleError, match=r"pipe\.toml: can't be read; found a named pipe; exp"):
            load_catalogue([path], packaged=False)


def test_a_rule_that_closes_one_that_is_not_there_is_refused(
    write_rules: Write, make_rule: Make
) -> None:
    path = write_rules(
        make_rule(id="'a'", closes="['b', 'cuda_oom']"), make_rule(id="'b'", closes="['cuda_om']")
    )
    signatures, errors = read_rules([path])
    assert {"a", "b"} <= {signature.id for signature in signatures}
    [error] = errors
    assert str(error) == (
        f"{path}: rule b: field closes; found 'cuda_om'; expected ids of other rules "
        "(`relume rules list` shows them); did you mean 'cuda_oom'?"
    )


def test_a_rule_that_failed_is_not_called_unknown_too(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule(id="'a'", closes="['b']"), make_rule(id="'b'", role="'rot'"))
    _, errors = read_rules([path], packaged=False)
    assert [error.what for error in errors] == [f"{path}: rule b: field role"]


def test_values_are_shown_as_they_are_written_in_toml(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule(specificity="true"), make_rule(patterns="[['x']]"))
    _, errors = read_rules([path], packaged=False)
    assert [error.found for error in errors] == ["true", '["x"]']


def test_bytes_that_are_no_text_are_no_rule_file(tmp_path: Path) -> None:
    path = tmp_path / "core.toml"
    path.write_bytes(b"category = '\xff'")
    with pytest.raises(RuleError, match="not a TOML file; found bytes that are no UTF-8"):
        load_catalogue([path], packaged=False)


def test_a_clash_names_both_files(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule(id="'cuda_oom'"))
    _, errors = read_rules([path])
    [message] = [str(error) for error in errors if str(path) in str(error)]
    assert (
        "rule cuda_oom: field id; found the same id in <relume>/cuda.toml; expected an id"
        in message
    )


def test_reads_on_after_an_error_and_counts_the_rest(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(
        make_rule(role="'rot'"), make_rule(id="'good'"), make_rule(id="'bad'", kind="'crush'")
    )
    signatures, errors = read_rules([path], packaged=False)
    assert [signature.id for signature in signatures] == ["good"]
    assert len(errors) == 2
    with pytest.raises(RuleError) as caught:
        load_catalogue([path], packaged=False)
    first, *listed = str(caught.value).splitlines()
    assert first == "2 errors in rules:"
    assert listed == [f"- {error}" for error in errors]


def test_the_hash_covers_meaning_and_nothing_else(write_rules: Write, make_rule: Make) -> None:
    def content_hash(*tables: str) -> str:
        return load_catalogue([write_rules(*tables)], packaged=False).content_hash

    one, two = make_rule(id="'a'"), make_rule(id="'b'")
    assert content_hash(one, two) == content_hash(two, one)
    assert content_hash(one) == content_hash(make_rule(id="'a'", summary="'Else.'"))
    different = {
        content_hash(one),
        content_hash(make_rule(id="'a'", patterns="['other']")),
        content_hash(make_rule(id="'a'", verify="'x'")),
        content_hash(make_rule(id="'a'", captures=["(?P<gpu>G)"])),
        content_hash(make_rule(id="'a'", retry="'no'")),
        content_hash(make_rule(id="'a'", specificity="51")),
    }
    assert len(different) == 6


def test_the_packaged_rules_do_what_their_samples_say() -> None:
    report = check_catalogue(load_catalogue())
    assert report.samples >= 4 * report.rules > 0
    # A check of `verify` needs the prefixes removed: the command line's test does that.
    assert [f for f in report.failures if not (f.expected_hit and f.located)] == []


def parse(text: str) -> LogLine:
    return LogLine(text, 0, 0, "sample")


def problems(*paths: Path, packaged: bool = True) -> list[str]:
    """Load site rules with their samples; return each problem of the one message."""
    with pytest.raises(RuleError) as caught:
        load_catalogue(paths, packaged=packaged, parse_line=parse)
    first, *listed = str(caught.value).splitlines()
    return [line.removeprefix("- ") for line in listed] or [first]


def test_every_problem_is_in_one_message(write_rules: Write, make_rule: Make) -> None:
    one = write_rules(make_rule(rolle="'root'", domain="'hard'", negative=None), name="a.toml")
    two = write_rules(
        make_rule(id="'cuda_oom'"),
        make_rule(patterns="['x*', 'y', 'z(?=.)']", captures=["(?P<host>.)", "(?P<gpus>.)", "("]),
        name="b.toml",
    )
    three = write_rules(make_rule(positive=["GPU PCI:1", "no such words"]), name="c.toml")
    found = problems(one, two, three, one.parent / "gone.toml")
    assert [line.split("; ")[0] for line in found] == [
        f"{one}: rule gpu_gone: field rolle",
        f"{one}: rule gpu_gone: field negative",
        f"{one}: rule gpu_gone: field domain",
        f"{two}: rule cuda_oom: field id",
        *[f"{two}: rule gpu_gone: field patterns"] * 2,
        *[f"{two}: rule gpu_gone: field captures"] * 3,
        f"{one.parent}/gone.toml: can't be read",
        f"{three}: rule gpu_gone: positive sample is not found by any pattern: GPU PCI:1",
        f"{three}: rule gpu_gone: positive sample is not found by any pattern: no such words",
    ]


def test_samples_are_run_only_when_asked(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule(negative=["fine", "GPU has fallen off the wall"]))
    assert load_catalogue([path], packaged=False).signatures
    [problem] = problems(path, packaged=False)
    assert problem.startswith(f"{path}: rule gpu_gone: negative sample is hit")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"verify": r"'(G)PU\1'"}, "verify; found '(G)PU\\\\1'"),
        ({"verify": "'GPU(?=.)'"}, "verify; found 'GPU(?=.)'"),
        ({"captures": ["(?P<gpu>[0-9a-f]{1,2000})"]}, "captures; found"),
        ({"captures": ["gpu (?P<gpu>\\d)"]}, "captures; found 'gpu (?P"),
        ({"captures": ["(?P<gpu>[^\\s\\S])"]}, "captures; found"),
        ({"patterns": ["GPU", "a$b"]}, "patterns; found a refusal by Hyperscan"),
    ],
)
def test_a_site_rule_that_can_not_run_is_refused(
    write_rules: Write, make_rule: Make, changes: dict[str, str | list[str]], says: str
) -> None:
    path = write_rules(make_rule(**changes))
    [problem] = problems(path, packaged=False)
    assert problem.startswith(f"{path}: rule gpu_gone: field {says}")
    assert "expected" in problem


def test_an_override_takes_the_place_of_the_packaged_rule(
    write_rules: Write, make_rule: Make
) -> None:
    path = write_rules(make_rule(id="'cuda_oom'", override="true"))
    catalogue = load_catalogue([path])
    assert catalogue.by_id["cuda_oom"].summary == "The GPU is gone."
    assert catalogue.by_id["cuda_oom"].origin == str(path)
    assert len(catalogue.signatures) == len(load_catalogue().signatures)


def test_an_override_is_of_a_packaged_rule_and_once(write_rules: Write, make_rule: Make) -> None:
    one = write_rules(make_rule(id="'cuda_oom'", override="true"), name="a.toml")
    two = write_rules(
        make_rule(id="'cuda_oom'", override="true"),
        make_rule(id="'cuda_omm'", override="true"),
        make_rule(id="'other'", override="false"),
        name="b.toml",
    )
    found = problems(one, two)
    assert [line.split("; ")[:2] for line in found] == [
        [f"{two}: rule cuda_oom: field id", f"found the same id in {one}"],
        [f"{two}: rule cuda_omm: field override", "found no packaged rule of this id"],
        [f"{two}: rule other: field override", "found false"],
    ]
    assert "did you mean 'cuda_oom'?" in found[1]


def test_the_way_to_override_is_told(write_rules: Write, make_rule: Make) -> None:
    [problem] = problems(write_rules(make_rule(id="'cuda_oom'")))
    assert problem.endswith(
        "rename the rule, or put it in the place of the packaged one with override = true"
    )


@pytest.mark.parametrize("name", ["no_such_rule", "gpu_gone"])
def test_a_rule_refines_another_one(write_rules: Write, make_rule: Make, name: str) -> None:
    [problem] = problems(write_rules(make_rule(refines=f"'{name}'")), packaged=False)
    assert f"field refines; found '{name}'; expected ids of other rules" in problem
    known = write_rules(make_rule(refines="'cuda_oom'"))
    assert load_catalogue([known]).by_id["gpu_gone"].refines == "cuda_oom"


def test_a_file_that_is_named_twice_is_read_once(write_rules: Write, make_rule: Make) -> None:
    path = write_rules(make_rule())
    catalogue = load_catalogue([path, path.parent, path], packaged=False)
    assert len(catalogue.signatures) == 1


def test_a_folder_of_any_name_is_a_site_s(
    write_rules: Write, make_rule: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_rules(make_rule(id="'cuda_oom'")).parent / "catalogue"
    folder.mkdir()
    (folder.parent / "site.toml").rename(folder / "cuda.toml")
    monkeypatch.chdir(folder.parent)
    [problem] = problems(Path("catalogue"))
    assert problem.startswith("catalogue/cuda.toml: rule cuda_oom: field id")


ENTRY = {
    "id": "gpu_gone",
    "role": "root",
    "tier": "hardware",
    "kind": "crash",
    "domain": "hardware",
    "retry": "yes",
    "summary": "The GPU is gone.",
    "patterns": ["GPU has fallen off"],
    "captures": ["PCI:(?P<gpu>[0-9a-f:]+)"],
    "positive": ["GPU has fallen off", "PCI:1b: GPU has fallen off"],
    "negative": ["fell off the table", "GPU has not fallen"],
    "source": "NVRM",
}
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=12),
        st.sampled_from(
            ["root", "never", "(a+)+", "(?P<gpu>x", "a{1,9999}", "$x", "[", "x*", "\\1"]
        ),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(
    changes=st.dictionaries(
        st.sampled_from([*(f.name for f in fields(Signature)), "rolle", ""]), VALUES, max_size=4
    )
)
def test_whatever_a_rule_holds_is_told_as_a_problem(
    changes: dict[str, object],
) -> None:
    entry = ENTRY | changes
    problems: tuple[FieldError, ...] = ()
    try:
        as_site_rule(read_signature(entry, "site"))
    except BadRuleError as error:
        problems = error.problems
        assert problems
    assert {problem.name for problem in problems} <= {*entry}
    assert all(problem.found for problem in problems)
