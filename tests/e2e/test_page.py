"""The pages in a real Chromium over a real service: live, by keys, in both themes, with hostile text.

Screenshots of every page go to the folder that `RELUME_ARTIFACTS` names, else to the tests' own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from relume.advice import Advice, Answer, Approval
from relume.benchmarks.page.browser import Watched, chromium, window
from relume.benchmarks.page.filling import fill
from relume.benchmarks.serving import CLUSTER, ServiceProcess, running_job, snapshot_of
from relume.clock import SystemClock, to_iso
from relume.serve.ledger import Ledger, sqlite_url

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Route

pytestmark = pytest.mark.needs_server("chromium")
SECOND = 1_000_000
COUNT = 60
PAGES = {
    "incidents": "/",
    "incidents-over": "/?show=over",
    "incident": "/incidents/{incident}",
    "advice": "/advice",
    "one-advice": "/advice/{advice}",
    "jobs": "/jobs",
    "job": "/jobs/7-0",
    "job-course": "/jobs/7-0?part=timeline",
    "nodes": "/nodes",
    "scoreboard": "/scoreboard",
    "goodput": "/goodput",
    "login": "/login",
}
WIDTHS = {"light": (390, 1440), "dark": (390, 1920)}
FOCUSED = "[...document.querySelectorAll('*')].indexOf(document.activeElement)"
NO_POLLING = "document.getElementById('live').dataset.every = 1e6"
"""What comes after this comes by the stream of events."""
IS_SEEN = """document.activeElement === document.body
  || getComputedStyle(document.activeElement).outlineStyle !== 'none'"""
"""Whether it can be seen where the focus is."""


@dataclass
class Site:
    """A running service, filled, with a job that trains; and a browser to look at it."""

    service: ServiceProcess
    ledger: Ledger
    advice: list[Advice]
    incident: str
    browser: Browser
    snapshot: Callable[[], object]

    def window(self, **options: Any) -> AbstractContextManager[Watched]:
        return window(self.browser, self.service.url, **options)

    def path(self, name: str) -> str:
        return PAGES[name].format(incident=self.incident, advice=self.advice[0].advice_id)


def write_log(path: Path, start: int) -> None:
    """Write what a job of four ranks prints in five minutes, one of them lagging."""
    lines = []
    for step in range(150):
        when = to_iso(start + 2 * step * SECOND)[:23].replace("T", " ")
        ranks = range(4 if step < 100 else 3)
        lines += [f"[rank{rank}] {when} iter {step}: loss 3.9, time 2000.00ms" for rank in ranks]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    settings = {"serve": {"mode": "act"}}
    folder = tmp_path_factory.mktemp("service")
    with ServiceProcess(folder, settings) as service, chromium() as browser:
        now = SystemClock().now()
        start = now - 300 * SECOND
        log = service.folder / "logs" / "7.out"
        write_log(log, start)

        def snapshot() -> object:
            jobs = [running_job(7, start, std_out=str(log))]
            return service.report(snapshot_of(CLUSTER, SystemClock().now(), jobs))

        with Ledger.open(sqlite_url(service.ledger)) as ledger:
            snapshot()
            advice = fill(ledger, now, COUNT)
            incident = ledger.incidents(limit=1)[0].incident_id
            yield Site(service, ledger, advice, incident, browser, snapshot)


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("RELUME_ARTIFACTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def watched(site: Site) -> Iterator[Watched]:
    """A window; nothing may have gone wrong in it, and nothing been asked of others."""
    site.snapshot()
    with site.window() as found:
        yield found
        assert found.complaints == []
        assert found.outside == []


def expect_text(watched: Watched, selector: str, words: str) -> None:
    watched.page.locator(selector).filter(has_text=words).first.wait_for()


def log_in(watched: Watched, site: Site) -> None:
    page = watched.page
    page.goto("/login?next=/advice")
    page.locator("#login-form [name=who]").fill("ada")
    page.get_by_label("Token").fill(site.service.token)
    page.keyboard.press("Enter")
    page.wait_for_url("**/advice")
    page.locator("html[data-can~=control]").wait_for()


@pytest.mark.parametrize("scheme", WIDTHS)
def test_every_page_fits_and_says_nothing_to_the_console(
    site: Site, artifacts: Path, scheme: Any
) -> None:
    site.snapshot()
    with site.window(color_scheme=scheme) as watched:
        page = watched.page
        for width in WIDTHS[scheme]:
            page.set_viewport_size({"width": width, "height": 900})
            for name in PAGES:
                answer = page.goto(site.path(name))
                assert answer is not None
                assert answer.status == 200
                page.locator("h1").wait_for()
                if name == "job":
                    page.locator("#chart canvas").first.wait_for()
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
                page.screenshot(path=artifacts / f"{name}-{scheme}-{width}.png", full_page=True)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(251, 251, 250)") is (scheme == "light")
        assert watched.complaints == []
        assert watched.outside == []


def test_what_happens_appears_by_itself(site: Site, watched: Watched) -> None:
    watched.page.goto("/")
    watched.page.locator("html.is-following").wait_for(state="attached")
    watched.page.evaluate(NO_POLLING)
    row(site, watched).wait_for()
    watched.page.goto("/advice")
    watched.page.locator("html.is-following").wait_for(state="attached")
    watched.page.evaluate(NO_POLLING)
    [one] = fill(site.ledger, SystemClock().now(), 1)
    watched.page.locator(f"#row-{one.advice_id}").wait_for()


def test_nothing_falls_between_a_page_and_its_stream(site: Site, watched: Watched) -> None:
    begun: list[Locator] = []

    def begin(route: Route) -> None:  # after the page was drawn, before anybody listens
        begun.append(row(site, watched))
        route.continue_()

    watched.page.route("**/v1/advice/events*", begin)
    watched.page.goto("/")
    watched.page.locator("html.is-following").wait_for(state="attached")
    watched.page.evaluate(NO_POLLING)
    begun[0].wait_for()


def test_what_a_person_has_in_hand_stays_until_it_is_put_down(site: Site, watched: Watched) -> None:
    watched.page.goto("/")
    watched.page.locator("html.is-following").wait_for(state="attached")
    watched.page.keyboard.press("?")
    watched.page.locator("#help[open]").wait_for()
    with watched.page.expect_response(lambda answer: answer.url.endswith("/status")):
        found = row(site, watched)
    assert found.count() == 0
    watched.page.keyboard.press("Escape")
    found.wait_for()


def test_where_nobody_may_listen_pages_ask(site: Site) -> None:
    with site.window() as watched:
        watched.page.route("**/v1/advice/events*", lambda route: route.fulfill(status=429))
        watched.page.goto("/")
        watched.page.locator("#live .row").first.wait_for()
        assert watched.page.locator("html.is-following").count() == 0
        row(site, watched).wait_for()


def row(site: Site, watched: Watched) -> Locator:
    """Let an incident begin, and return its row on the page."""
    [one] = fill(site.ledger, SystemClock().now(), 1)
    incident = site.ledger.incident_of(one.advice_id)
    assert incident is not None
    return watched.page.locator(f"#row-{incident.incident_id}")


def test_hostile_lines_are_text(site: Site, watched: Watched) -> None:
    asked: list[str] = []
    watched.page.on("dialog", lambda one: asked.append(one.message))
    for path in ("/advice", f"/advice/{site.advice[0].advice_id}", "/jobs/41000-0"):
        watched.page.goto(path)
        expect_text(watched, "code", "<script>fetch('https://elsewhere.invalid/')</script>")
        assert watched.page.locator("main img").count() == 0
    assert asked == []


def test_a_course_is_drawn_and_lives_through_updates(watched: Watched) -> None:
    page = watched.page
    page.goto("/jobs/7-0")
    page.locator("#chart canvas").nth(2).wait_for()
    page.locator("#chart .strip .silent").first.wait_for()
    assert page.locator("#chart .ranks > div > .strip span").count() == 4
    page.evaluate("document.querySelector('#chart canvas').dataset.mine = 'yes'")
    page.evaluate("document.getElementById('live').dataset.seen = 'something else'")
    page.locator("#live:not([data-seen='something else'])").wait_for(state="attached")
    assert page.locator("#chart canvas[data-mine=yes]").count() == 1


def test_without_scripts_everything_can_be_read(site: Site) -> None:
    with site.window(java_script_enabled=False) as watched:
        for name in PAGES:
            watched.page.goto(site.path(name))
            assert watched.page.locator("h1").is_visible()
            assert not watched.page.locator("[data-do]").filter(visible=True).count()
        watched.page.goto("/jobs/7-0?part=timeline")
        expect_text(watched, "td", "149")


def test_whoever_is_not_logged_in_only_reads(watched: Watched) -> None:
    watched.page.goto("/advice")
    watched.page.get_by_text("Log in to decide").first.wait_for()
    assert watched.page.get_by_role("button", name="Approve").filter(visible=True).count() == 0


def test_a_wrong_token_is_refused(site: Site) -> None:
    with site.window() as watched:
        watched.page.goto("/login")
        watched.page.locator("#login-form [name=who]").fill("ada")
        watched.page.get_by_label("Token").fill("a token that nobody gave out")
        watched.page.get_by_role("button", name="Log in").click()
        expect_text(watched, "#login-error", "this token isn't known here")


def test_a_person_says_whether_it_was_right(site: Site, watched: Watched) -> None:
    log_in(watched, site)
    page, advice = watched.page, site.advice[7]
    page.goto(f"/advice/{advice.advice_id}")
    page.get_by_role("button", name="It was wrong").click()
    assert page.locator("#decide [name=who]").input_value() == "ada"
    page.locator("#decide [name=why]").fill("a <b>cable</b>")
    page.locator("#decide-yes").click()
    expect_text(watched, "#live li", "a <b>cable</b>")
    [label] = site.ledger.standing(advice.advice_id).labels
    assert (label.right, label.who, label.why) == (False, "ada", "a <b>cable</b>")
    page.get_by_role("link", name="Log out").click()
    page.get_by_role("link", name="Log in", exact=True).wait_for()


@pytest.mark.parametrize(
    ("button", "number", "answer"), [("Approve", 1, "approved"), ("Reject", 2, "rejected")]
)
def test_a_person_approves_and_rejects(
    site: Site, watched: Watched, button: str, number: int, answer: str
) -> None:
    log_in(watched, site)
    page, advice = watched.page, site.advice[number]
    row = page.locator(f"#row-{advice.advice_id}")
    row.get_by_role("button", name=button).click()
    page.locator("#decide [name=why]").fill("looked at it")
    page.locator("#decide-yes").click()
    page.locator("#decide[open]").wait_for(state="detached")
    row.get_by_role("button", name=button).wait_for(state="detached")
    expect_text(watched, f"#row-{advice.advice_id}", f"{answer} by ada")
    known = site.ledger.get(advice.advice_id)
    assert known is not None
    assert known.approval is not None
    told = known.approval
    assert (told.answer.value, told.who, told.why) == (answer, "ada", "looked at it")


def test_an_answer_that_comes_too_late_is_refused_in_words(site: Site) -> None:
    with site.window() as watched:
        log_in(watched, site)
        advice = site.advice[4]
        watched.page.locator(f"#yes-{advice.advice_id}").click()
        gone = Approval(Answer.REJECTED, "grace", None, SystemClock().now())
        site.ledger.answer(advice.advice_id, gone)
        watched.page.locator("#decide-yes").click()
        expect_text(watched, "#decide-error", "grace")
        assert watched.page.locator("#decide[open]").count() == 1


def test_the_keys_decide(site: Site, watched: Watched) -> None:
    log_in(watched, site)
    page = watched.page
    page.keyboard.press("j")
    chosen = page.locator("#live .row.chosen")
    chosen.wait_for()
    page.keyboard.press("n")
    page.locator("#decide[open]").wait_for()
    assert page.locator("#decide-title").text_content() == "Reject"
    page.keyboard.press("Escape")
    page.locator("#decide[open]").wait_for(state="detached")
    page.keyboard.press("y")
    page.locator("#decide[open]").wait_for()
    assert page.locator("#decide-title").text_content() == "Approve"


def test_the_login_goes_nowhere_else(site: Site, watched: Watched) -> None:
    page = watched.page
    page.goto("/login?next=https://elsewhere.invalid/")
    page.locator("#login-form [name=who]").fill("ada")
    page.get_by_label("Token").fill(site.service.token)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.service.url}/")


def test_keys_reach_everything(site: Site, watched: Watched) -> None:
    page = watched.page
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("j")
    following = page.evaluate("document.querySelector('.row.chosen').nextElementSibling.id")
    page.keyboard.press("j")
    assert page.evaluate("document.querySelector('.row.chosen').id") == following
    page.keyboard.press("Enter")
    page.wait_for_url("**/incidents/*")
    for key, path in (
        ("a", "/advice"),
        ("n", "/nodes"),
        ("o", "/goodput"),
        ("j", "/jobs"),
        ("i", "/"),
    ):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"{site.service.url}{path}")
    page.keyboard.press("?")
    page.locator("#help[open]").wait_for()
    page.keyboard.press("Escape")
    page.locator("#help[open]").wait_for(state="detached")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.keyboard.press("/")
    page.wait_for_url("**/jobs")


def test_every_control_is_reached_by_tab(watched: Watched) -> None:
    page = watched.page
    page.goto("/jobs")
    page.locator("html.js").wait_for()
    wanted = page.locator("a, button, input, summary").filter(visible=True).count()
    reached = set()
    for _ in range(4 * wanted):  # what comes meanwhile may bring the focus back to the start
        page.keyboard.press("Tab")
        reached.add(page.evaluate(FOCUSED))
        assert page.evaluate(IS_SEEN)
        if len(reached) >= wanted:
            break
    assert len(reached) >= wanted


def test_a_service_that_is_gone_does_not_look_healthy(site: Site) -> None:
    with site.window() as watched:
        watched.page.goto("/")
        site.service.kill()
        try:
            expect_text(watched, "#lost", "The service doesn't answer. What you see is from")
            expect_text(watched, "#status", "Not reachable")
        finally:
            site.service.start()
        watched.page.locator("#lost").wait_for(state="hidden")
        assert watched.outside == []


def test_where_reading_takes_a_token_pages_lead_to_the_login(site: Site, tmp_path: Path) -> None:
    token = tmp_path / "read"
    token.touch(mode=0o600)
    token.write_text("token-of-role-read\n")
    settings = {"serve": {"read_token_file": str(token)}}
    with (
        ServiceProcess(tmp_path, settings) as service,
        window(site.browser, service.url) as watched,
    ):
        page = watched.page
        page.goto("/jobs")
        page.wait_for_url("**/login?next=/jobs")
        page.locator("#login-form [name=who]").fill("ada")
        page.get_by_label("Token").fill("token-of-role-read")
        page.keyboard.press("Enter")
        page.wait_for_url("**/jobs")
        page.get_by_role("link", name="Log out").click()
        page.wait_for_url("**/login?next=/jobs")
        assert watched.outside == []
