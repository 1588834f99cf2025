"""Every page: its structure, its twin, its words when there is nothing, and what it never holds."""

from __future__ import annotations

import json
import re

import pytest

from paging import NOW, SECOND, Html, Site
from relume.advice import Answer, Approval, Disposition, Mode, Reconciliation
from relume.benchmarks.page.filling import HOSTILE, fill
from relume.errors import UnreachableError
from relume.serve.api import PartStatus
from relume.serve.ledger import Closing, LabelRecord
from relume.serve.page.incidents import PAGE
from relume.verdict import Health

PAGES = ("/", "/?show=over", "/jobs", "/nodes", "/advice", "/scoreboard", "/goodput", "/login")
MENU = ["/", "/advice", "/jobs", "/nodes", "/scoreboard", "/goodput"]
EMPTY = {
    "/": "Nothing is open. That means what it says only while the service watches",
    "/?show=over": "No incident has ended yet.",
    "/jobs": "No job is being watched",
    "/jobs?q=nobody": "No job with this id, and no run of this name",
    "/nodes": "Nobody has told of any node yet",
    "/advice": "Nothing waits for a person.",
    "/scoreboard": "No rule raised an alarm in the last 30 days",
    "/goodput": "No attempt is known to have run in the last 7 days.",
}


def check_structure(page: Html) -> None:
    """What every page has, and what none may have."""
    assert [one["id"] for one in page.named("main")] == ["main"]
    assert page.named("a")[0]["href"] == "#main"
    menu = [one["href"] for one in page.named("a") if "data-key" in one]
    assert menu == MENU
    assert sum("aria-current" in one and "data-key" in one for one in page.named("a")) <= 1
    for tag, attributes in page.elements:
        assert tag not in {"style", "iframe", "object", "embed", "base"}
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        assert tag != "script" or set(attributes) <= {"src", "defer"}
        for name in ("src", "href", "action", "hx-get"):
            value = attributes.get(name)
            assert value is None or re.match(r"[/?#]", value), f"{tag} {name} {value}"
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = {attributes.get("for") for attributes in page.named("label")}
    assert named - {None} <= set(ids)


@pytest.mark.parametrize(
    "path", [*PAGES, "/jobs/41002-2", "/advice/{advice}", "/incidents/{incident}"]
)
def test_a_page_is_whole_and_has_a_twin(site: Site, path: str) -> None:
    advice = fill(site.ledger, NOW, 12)
    incident = site.ledger.incidents(limit=1)[0].incident_id
    path = path.format(advice=advice[0].advice_id, incident=incident)
    page = site.page(path)
    check_structure(page)
    assert page.heading()
    twin = site.twin(path)
    joined = f"{path}{'&' if '?' in path else '?'}format=json"
    assert site.client.get(joined).json() == twin


@pytest.mark.parametrize(("path", "words"), EMPTY.items())
def test_a_page_without_anything_says_so_in_words(site: Site, path: str, words: str) -> None:
    page = site.page(path)
    check_structure(page)
    assert words in page.text


def test_silence_does_not_look_like_health(site: Site) -> None:
    site.parts = {"scheduler": PartStatus(Health.UNKNOWN, "no snapshot yet")}
    page = site.page("/")
    assert "not sure that it watches" in page.text
    assert "scheduler: no snapshot yet" in page.text
    assert site.twin("/status")["health"] == "unknown"
    site.parts = {"runner": PartStatus(Health.UNHEALTHY, "nothing for 99 s")}
    assert "Not watching well" in site.page("/status").text


def test_a_ledger_that_cannot_be_read_is_said(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise UnreachableError("ledger", found="disk I/O error")

    monkeypatch.setattr(site.ledger, "ping", broken)
    assert site.twin("/status")["parts"]["ledger"]["status"] == "unhealthy"


def test_open_incidents_come_newest_first_in_pages(site: Site) -> None:
    advice = fill(site.ledger, NOW, PAGE + 7)
    first = site.twin("/")
    assert first["total"] == PAGE + 7
    assert len(first["incidents"]) == PAGE
    assert first["incidents"][0]["incident"]["advice"] == [advice[-1].advice_id]
    assert "57 open incidents" in site.page("/").heading()
    links = [one["href"] for one in site.page("/").named("a") if one.get("rel") == "next"]
    assert links == [f"/?before={first['before']}"]
    last = site.twin(f"/?before={first['before']}")
    assert len(last["incidents"]) == 7
    assert last["before"] is None
    assert "Newest" in site.page(f"/?before={first['before']}").text
    assert site.twin("/?before=nobody", 422)["detail"]


def test_an_incident_that_is_over_is_on_the_other_page(site: Site) -> None:
    [one] = fill(site.ledger, NOW, 1)
    site.ledger.note(Closing(advice_id=one.advice_id, at=NOW, ending="its steps went on"))
    assert site.twin("/")["total"] == 0
    page = site.page("/?show=over")
    assert "its steps went on" in page.text
    [row] = site.twin("/?show=over")["incidents"]
    assert "over" in site.page(f"/incidents/{row['incident']['incident_id']}").text


def test_advice_waits_in_mode_approve_only(site: Site) -> None:
    fill(site.ledger, NOW, 6)
    twin = site.twin("/advice")
    assert twin["waiting_total"] == 4  # what only watches has nobody to ask
    ends = [one["advice"]["expires_at"] for one in twin["waiting"]]
    assert ends == sorted(ends)
    page = site.page("/advice")
    names = [
        one["data-do"]
        for one in page.named("button")
        if "data-advice" not in one and "data-do" in one
    ]
    assert names.count("approve") == names.count("reject") == 4
    assert "4 Advice wait for a person" in site.page("/").text


def test_advice_of_other_modes_waits_for_nobody(site: Site) -> None:
    fill(site.ledger, NOW, 6, mode=Mode.ACT)
    twin = site.twin("/advice")
    assert (twin["waiting_total"], twin["active_total"], len(twin["recent"])) == (0, 6, 0)
    site.clock.advance(86_400)
    late = site.twin("/advice")
    assert (late["active_total"], len(late["recent"])) == (0, 6)
    assert "Approve" not in site.page("/advice").text.replace("Approve or reject", "")


@pytest.mark.parametrize("answer", [Answer.APPROVED, Answer.REJECTED])
def test_an_answer_is_shown_with_who_gave_it(site: Site, answer: Answer) -> None:
    [one, *_] = fill(site.ledger, NOW, 2)
    site.ledger.answer(one.advice_id, Approval(answer, "ada", "<i>sure</i>", NOW))
    words = f"{answer.value} by ada 0 s ago: <i>sure</i>"
    assert words in site.page(f"/advice/{one.advice_id}").text.replace("ago :", "ago:")
    assert words in site.page("/advice").text.replace("ago :", "ago:")
    twin = site.twin("/advice")
    assert twin["waiting_total"] == 1
    assert len(twin["recent"]) == (answer is Answer.REJECTED)


def test_one_advice_tells_what_became_of_it_and_who_said_what(site: Site) -> None:
    [one] = fill(site.ledger, NOW, 1)
    label = LabelRecord(advice_id=one.advice_id, right=False, who="ada", why="a cable", at=NOW)
    site.ledger.put_label(label)
    lease = site.ledger.take_lease("lab", "c", 60.0, NOW)
    gone = Reconciliation(Disposition.ABANDONED, "the job was cancelled", 1)
    site.ledger.reconcile(one.advice_id, gone, lease.fencing_token, NOW)
    page = site.page(f"/advice/{one.advice_id}")
    assert "wrong by ada" in page.text
    assert "wrong , says ada" in page.text
    assert "a cable" in page.text
    assert "given up the job was cancelled" in page.text
    twin = site.twin(f"/advice/{one.advice_id}")
    assert (twin["waits"], twin["is_newest"], twin["standing"]["label"]) == (False, True, "false")


@pytest.mark.parametrize(
    "path", ["/jobs/9-0", "/incidents/none", "/advice/none", "/jobs/9-0?part=timeline"]
)
def test_what_is_not_there_is_said_on_a_page(site: Site, path: str) -> None:
    page = site.page(path, 404)
    check_structure(page)
    assert page.heading() == "Not Found"
    assert site.twin(path, 404)["status"] == 404


@pytest.mark.parametrize(
    "path", ["/jobs/a b", "/goodput?days=3", "/scoreboard?days=3", "/?before=nobody"]
)
def test_what_makes_no_sense_is_said_on_a_page(site: Site, path: str) -> None:
    page = site.page(path, 422)
    check_structure(page)
    assert "Back to the incidents" in page.text


def test_a_job_has_its_tries_advice_and_evidence(site: Site) -> None:
    advice = fill(site.ledger, NOW, 3)
    page = site.page(f"/jobs/{advice[1].attempt}")
    assert "Job 41001 try 2" in page.heading()
    assert "CUDA out of memory" in page.text
    marks = [one["data-mark"] for one in page.named("li") if "data-mark" in one]
    assert marks == [str(advice[1].created_at)]
    twin = site.twin("/jobs/41001-1")
    assert [one["attempt"] for one in twin["tries"]] == [advice[1].attempt]
    assert twin["attempt"]["attempt"] == advice[1].attempt


def test_jobs_are_found_by_id_and_by_run(site: Site) -> None:
    fill(site.ledger, NOW, 9)
    assert [one["run"] for one in site.twin("/jobs?q=41004")["attempts"]] == ["run-4"]
    assert len(site.twin("/jobs?q=run-5")["attempts"]) == 1
    every = site.twin("/jobs")
    assert (every["running"], every["total"], len(every["attempts"])) == (3, 9, 3)


def test_hostile_text_stays_text(site: Site) -> None:
    advice = fill(site.ledger, NOW, 1)
    for path in (
        "/",
        "/advice",
        "/jobs",
        f"/jobs/{advice[0].attempt}",
        f"/advice/{advice[0].advice_id}",
    ):
        page = site.page(path)
        check_structure(page)
        assert page.named("img") == []
        assert "<script>fetch(" in page.text
        assert "{{ 7 * 7 }}" in page.text
        assert not set("\x1b\u202e\x07") & set(page.text)
    assert site.twin(f"/advice/{advice[0].advice_id}")["advice"]["evidence"][0]["text"] == HOSTILE


def test_only_what_changed_is_sent(site: Site) -> None:
    fill(site.ledger, NOW, 2)
    asks = {"HX-Request": "true"}
    part = site.client.get("/", headers=asks)
    found = Html(part.text)
    assert found.named("html") == []
    [live] = [one for one in found.named("div") if one.get("id") == "live"]
    seen = {**asks, "X-Relume-Seen": str(live["data-seen"])}
    site.clock.advance(5)
    assert site.client.get("/", headers=seen).status_code == 204
    fill(site.ledger, NOW + SECOND, 1)
    assert site.client.get("/", headers=seen).status_code == 200
    site.parts = {"runner": PartStatus(Health.UNKNOWN, "why")}
    assert site.client.get("/", headers=seen).status_code == 200


def test_pages_are_not_kept_by_caches(site: Site) -> None:
    answer = site.client.get("/")
    assert answer.headers["cache-control"] == "no-store"
    assert json.loads(site.client.get("/?format=json").text)["total"] == 0


def test_who_is_not_known_yet_learns_nothing_of_the_service(site: Site) -> None:
    site.parts = {"scheduler": PartStatus(Health.UNKNOWN, "a secret reason")}
    page = site.page("/login")
    assert "secret" not in page.text
    assert not [one for _, one in page.elements if "hx-get" in one]


def test_a_page_follows_the_stream_from_where_it_was_drawn(site: Site) -> None:
    assert site.page("/").named("body")[0]["data-news"] == "0"
    fill(site.ledger, NOW, 2)
    page = site.page("/advice")
    assert page.named("body")[0]["data-news"] == str(site.ledger.last_news())
    [live] = [one for one in page.named("div") if one.get("id") == "live"]
    assert ("data-told" in live, live["hx-trigger"], live["data-every"]) == (True, "again", "2")
    [jobs] = [one for one in site.page("/jobs").named("div") if one.get("id") == "live"]
    assert "data-told" not in jobs
    assert "data-news" not in site.page("/login").named("body")[0]
