"""The Markdown of --summary, also of texts that would like to be markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cli.run.output.summary import ANSWER_LENGTH, NOTICES, SummaryData, cell, code, fenced_block, summary, table
from wire import events

COST = events.Cost(
    state="exited", cpu_ms=1234, rss_peak_bytes=3 << 20, processes_peak=1, frames_in=1, frames_out=2, bytes_in=3,
    bytes_out=4, calls=5, errors=6, timeouts=7, blocks=8, events_dropped=0, notes_dropped=0, junk_lines=0, p50_ms=0.5,
    p99_ms=None, exits=1, exit_status="exit 0", restarts=9,
)  # fmt: skip
RESULT = events.Result(
    status="ok", exit_code=0, reason="", text="Done.", steps=3, usage=events.Totals(12_345, 678, 9, 0, 0.5),
    cost_usd=0.5, duration_ms=12_345, session="ab-12", extensions={"guard": COST},
)  # fmt: skip
HOSTILE = (
    "`` ` ```` | a | <b>x</b> </details> <!-- [l](javascript:x) ![i](//e) **b** _i_ ~~s~~ $m$ @you #1 \\| &amp;"
    "\r\n---\n# h"
)
ALLOWED = {"code"}


def seen(*notices):
    found = SummaryData()
    found.see(events.Session(1, "1", "s", "anthropic", "claude-x", "/work", ("guard",), "now"))
    for notice in notices:
        found.see(notice)
    return found


def markdown(result=RESULT, found=None, **given):
    return summary(result, found or seen(), **{"answer": "Done.", "is_kept": True, "most_bytes": 1 << 20, **given})


def test_a_summary_says_what_a_reader_of_a_job_asks():
    found = seen(events.Extension("guard", "blocked", "no rm"), events.Extension("guard", "started", "ready"))
    assert (
        markdown(found=found)
        == """
### \N{WHITE HEAVY CHECK MARK} zot: ok

| outcome | ok, exit status 0 |
| --- | --- |
| model | <code>claude-x</code> |
| steps | 3 |
| tokens | 12,345 in, 9 read from the cache, 678 out |
| cost | $0.5 at list price |
| duration | 12.3 s |
| session | <code>ab-12</code> |
| resume it | <code>zot -r ab-12 -p &#34;…&#34;</code> in <code>&#47;work</code> |

**Answer**

```text
Done.
```

**Extensions**

| extension | CPU ms | peak RSS | calls | errors | timeouts | blocked | restarts | p50 ms | p99 ms |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| <code>guard</code> | 1,234 | 3 MiB | 5 | 6 | 7 | 8 | 9 | 0.50 | - |

**Notices**

| extension | what | message |
| --- | --- | --- |
| <code>guard</code> | blocked | no rm |

"""
    )


def test_what_is_not_known_or_not_there_is_said_or_left_out():
    shown = markdown(
        replace(RESULT, status="timeout", exit_code=6, reason="too\nlong", cost_usd=None, extensions={}),
        answer="",
        is_kept=False,
    )
    assert "### \N{CROSS MARK} zot: timeout" in shown
    assert "| reason | too long |" in shown
    assert "| cost | unknown |" in shown
    for absent in ("Answer", "Extensions", "Notices", "zot -r"):
        assert absent not in shown
    assert "zot -r" not in markdown(replace(RESULT, session="a; rm -rf ~"))


def tables_of(shown):
    """The cells of each row outside fences."""
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", shown)
    assert set(re.findall(r"</?([a-z]+)", outside)) <= ALLOWED
    return [line.strip("|").split("|") for line in outside.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("hostile", [HOSTILE, "x\n\n```\n\n| a | b |\n", "````text\n</code></details>"])
def test_no_text_breaks_out_of_its_place(hostile):
    found = seen(events.Extension(hostile, "exited", hostile))
    shown = markdown(
        replace(RESULT, reason=hostile, session=hostile, extensions={hostile: COST}), found, answer=hostile
    )
    rows = tables_of(shown)
    assert {len(row) for row in rows} == {2, 10, 3}
    assert shown.count("**Answer**") == shown.count("**Extensions**") == shown.count("**Notices**") == 1
    begin, end = shown.index("**Answer**"), shown.index("**Extensions**")
    fence, *inside, last, _ = shown[begin:end].splitlines()[2:]
    assert fence == last + "text"
    assert not [line for line in inside if line.strip().startswith(last)]


@given(st.text(max_size=60))
def test_any_text_stays_in_its_cell_and_its_fence(text):
    assert not set(cell(text)) & set("|<>`*_[]\\~$@!\"'\r\n")
    assert not re.search(r"&(?!#\d+;)|#(?!\d+;)", cell(text))
    (row,) = table(("a",), [[code(text)]]).splitlines()[2:]
    assert row.count("|") == 2
    fence, *inside, last = fenced_block(text).splitlines() if "\x85" not in text else ("```text", "```")
    assert set(last) == {"`"}
    assert fence == f"{last}text"
    assert not [line for line in inside if line.lstrip().startswith(last)]


def test_a_long_answer_is_cut_and_says_so():
    shown = markdown(answer="x" * (ANSWER_LENGTH + 1))
    assert f"The answer has {ANSWER_LENGTH + 1} characters; these are the first 60,000." in shown
    assert shown.count("x" * ANSWER_LENGTH + "\n") == 1


def test_many_notices_and_extensions_are_counted():
    found = seen(*[events.Extension("e", "exited", f"{number}") for number in range(NOTICES + 2)])
    shown = markdown(replace(RESULT, extensions={f"e{number}": COST for number in range(101)}), found)
    assert "and 2 notices more" in shown
    assert "and 1 extension more" in shown


@pytest.mark.parametrize("most_bytes", [0, 200, 500, 800, 1500, 5000])
def test_a_summary_keeps_within_its_room(most_bytes):
    found = seen(*[events.Extension("e", "exited", "é" * 200)] * 3)
    shown = markdown(found=found, answer="é" * 3000, most_bytes=most_bytes)
    assert len(shown.encode()) <= most_bytes
    assert bool(shown) is (most_bytes >= 500), "the head comes first"
    assert shown.count("```") in (0, 2)
