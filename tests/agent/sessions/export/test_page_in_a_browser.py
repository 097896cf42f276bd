"""The page in a real Chromium: nothing of it runs, nothing is fetched. Skipped without a Chromium."""

from __future__ import annotations

import pytest

from agent.sessions.export.html import export_html
from agent.sessions.reading.history import read_history
from tests.support.session_files import PNG, write_session


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (360, True)])
def test_a_hostile_session_is_a_harmless_page_that_fits(browser, tmp_path, width, dark):
    page = tmp_path / "session.html"
    page.write_text(export_html(read_history(write_session(tmp_path, "/project"))), encoding="utf-8")
    browser.open(page, width=width, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.querySelectorAll('script, iframe, object, form').length") == 0
    assert browser.evaluate("Array.from(document.images, each => each.naturalWidth)") == [1, 1]
    assert browser.complaints() == []
    assert {address for address in browser.requests() if address != page.as_uri()} == {f"data:image/png;base64,{PNG}"}
    assert not [event for event in browser.happened if event.get("method") == "Page.javascriptDialogOpening"]
    dark_page = "rgb(16, 19, 22)"
    assert (browser.evaluate("getComputedStyle(document.body).backgroundColor") == dark_page) is dark
