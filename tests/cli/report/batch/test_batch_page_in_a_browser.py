"""The page of a batch in a real Chromium, with its script running. Skipped without a Chromium."""

from __future__ import annotations

import pytest

from cli.number_format import dollars
from cli.report.command import make_report
from tests.support.batch_written import asked, said
from wire import events
from wire.batch.outcome import TaskStatus, Usage
from wire.events import Cost

MANY = 150
CLICK_HEAD = "document.querySelectorAll('#tasks thead button')[{}].click()"
FIRST = "document.querySelector('#tasks tbody tr:not([hidden])').textContent"
ROWS = "document.querySelectorAll('#tasks tbody tr:not([hidden])').length"
COST = Cost("exited", 250, 9 << 20, 1, 1, 1, 1, 1, 3, 1, 0, 2, 1, 1, 0, 1.5, 2.5, 1, "exit 0", 1, 1)


@pytest.fixture
def written(batch):
    """Many tasks; some have failed, one waited, some were not run."""
    ids = [f"a-task-with-a-rather-long-name-{number:03}" for number in range(MANY)]
    written = batch(*ids)
    written.open()
    for number, task in enumerate(ids[:-2]):
        status = TaskStatus.TIMEOUT if number % 10 == 9 else TaskStatus.OK
        reason = f"{number}.5 s of its 10 s are over " * 4 if status is TaskStatus.TIMEOUT else ""
        written.start(task)
        if number == 5:
            written.journal.paused(task, 1, "account default: 50 requests a minute")
        written.at += 1 + number % 7
        cost = None if number == 3 else 0.001 * (1 + number)
        fields = {"duration_ms": 1000 * (1 + number % 7), "cost_usd": cost, "usage": Usage(number, 2)}
        written.finish(task, status=status, reason=reason, extensions={"a-guard-with-a-name": COST}, **fields)
    written.write_events(ids[0], asked("go"), said("word " * 400), events.Done())
    written.close("budget")
    return written


@pytest.fixture
def show(browser, written):
    """Opens a page. Afterwards nothing was logged, and nothing but the page was fetched."""
    assert make_report(str(written.path), None) == 0
    opened = []

    def show(name="report.html", **given):
        browser.open(written.path / name, **given)
        opened.append(written.path / name)
        return browser

    yield show
    assert browser.complaints() == []
    assert browser.requests() == [opened[-1].as_uri()]


def test_the_tasks_are_sorted_filtered_and_shown_in_parts(show):
    browser = show()
    assert browser.evaluate("document.documentElement.dataset.ready") == "yes"
    assert browser.evaluate(ROWS) == 15
    assert "timeout" in browser.evaluate(FIRST)
    browser.evaluate("document.querySelector('#more').click()")
    assert browser.evaluate(ROWS) == 60
    browser.evaluate("document.querySelector('#more').click()")
    assert browser.evaluate(ROWS) == MANY
    browser.evaluate(CLICK_HEAD.format(5))  # cost
    assert f"name-147ok11 s{dollars(0.148)}" in browser.evaluate(FIRST)
    browser.evaluate(CLICK_HEAD.format(5))
    assert "name-000" in browser.evaluate(FIRST)
    wanted = "const filter = document.querySelector('#filter'); filter.value = 'NOT_RUN';"
    browser.evaluate(f"(() => {{ {wanted} filter.dispatchEvent(new Event('input')); }})()")
    assert browser.evaluate(ROWS) == 2
    assert browser.evaluate("document.querySelector('#count').textContent") == f"2 of {MANY}"


def test_the_charts_say_what_the_tables_do(show):
    browser = show()
    texts = "Array.from(document.querySelectorAll({!r}), each => each.textContent)"
    assert browser.evaluate(texts.format("#distributions figcaption b")) == ["Cost", "Time", "Tokens"]
    told = browser.evaluate(texts.format("#distributions .bars title"))
    rows = browser.evaluate(texts.format("#distributions tbody tr"))
    assert [each.replace(": ", "").removesuffix("s").removesuffix(" task") for each in told] == rows
    assert browser.evaluate(texts.format("#workload .key")) == ["running", "paused: waits"]
    assert len(browser.evaluate(texts.format("#workload .columns title"))) == 240
    assert not browser.evaluate("document.querySelector('.told').open")
    assert browser.evaluate("document.querySelectorAll('[d*=NaN], [width*=NaN]').length") == 0


COPY = "document.querySelector('button.copy')"
REFUSED = "Object.defineProperty(navigator, 'clipboard', {value: undefined}); document.execCommand = () => %s;"


@pytest.mark.parametrize(("copies", "said"), [("true", "copied"), ("false", "selected: press Ctrl+C")])
def test_a_command_is_copied_with_the_keyboard_also_where_the_clipboard_is_refused(show, written, copies, said):
    browser = show()
    command = f"zot batch retry {written.path} --status not_run"
    assert browser.evaluate(f"{COPY}.ariaLabel") == f"Copy {command}"
    browser.evaluate(REFUSED % copies)
    browser.evaluate(f"{COPY}.focus()")
    browser.key("Enter")
    waiting = f"new Promise(done => setInterval(() => {COPY}.textContent !== 'copy' && done({COPY}.textContent), 5))"
    assert browser.evaluate(waiting) == said
    assert browser.evaluate("getSelection().toString()") == command
    assert "command" in browser.evaluate("document.querySelector('[role=status].spoken').textContent")


def test_a_task_is_one_click_away_and_the_way_back_is_another(show, written):
    browser = show()
    link = "document.querySelector('#failures .ids a').href"
    assert (
        browser.evaluate(link) == (written.path / "report-tasks" / "a-task-with-a-rather-long-name-009.html").as_uri()
    )
    browser = show("report-tasks/a-task-with-a-rather-long-name-009.html")
    assert browser.evaluate("document.querySelector('a').href") == (written.path / "report.html").as_uri()


def test_nothing_is_wider_than_the_window(show):
    light = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every(part => part > 200)"
    for name in ("report.html", "report-tasks/a-task-with-a-rather-long-name-000.html"):
        for width, dark in ((1280, False), (700, True), (380, False)):
            browser = show(name, width=width, dark=dark)
            assert browser.evaluate("document.documentElement.scrollWidth") == width
            assert browser.evaluate(light) is not dark


def test_a_batch_that_was_not_begun_is_a_page_too(browser, batch):
    written = batch("a", "b")
    assert make_report(str(written.path), None) == 0
    browser.open(written.path / "report.html")
    assert browser.evaluate("document.documentElement.dataset.ready") == "yes"
    assert browser.complaints() == []
