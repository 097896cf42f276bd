"""The page of a comparison in a real Chromium, with its script running. Skipped without a Chromium."""

from __future__ import annotations

from agent.batch.evaluation.comparison import BatchToCompare, compare_batches
from cli.batch.evaluation.comparison_page import ROWS, render_comparison
from tests.support.browser import browser
from tests.support.repetitions import evaluated, passes

__all__ = ["browser"]

SHOWN = "Array.from(document.querySelectorAll('#compared tbody tr')).map((row) => row.cells[0].textContent)"
FILTER = (
    "(() => {{ const box = document.querySelector('#filter'); box.value = '{}';"
    " box.dispatchEvent(new Event('input')); return {}; }})()"
)


def test_tasks_are_sorted_and_filtered(tmp_path, browser):
    base = [one for at in range(ROWS + 20) for one in passes(f"t{at}", 2, 1)]
    other = [one for at in range(ROWS + 20) for one in passes(f"t{at}", 2, at % 3)]
    batches = [BatchToCompare(name, evaluated(ends), {}) for name, ends in (("a", base), ("b", other))]
    path = tmp_path / "c.html"
    path.write_text(render_comparison(batches, compare_batches(batches), version="1"))
    browser.open(path)
    assert browser.evaluate("document.documentElement.dataset.ready") == "yes"
    assert browser.evaluate(f"{SHOWN}.length") == ROWS
    assert browser.evaluate(f"{SHOWN}.slice(0, 2)") == ["t0", "t2"], "those that differ"
    browser.evaluate("document.querySelectorAll('#compared thead button')[4].click()")
    assert browser.evaluate(f"{SHOWN}[0]") == "t2", "the largest difference"
    assert browser.evaluate(FILTER.format("lost", SHOWN + ".length")) == 40
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]
