"""The page in a real Chromium, with its script running. Skipped without a Chromium."""

from __future__ import annotations

from functools import partial

import pytest

from cli.number_format import bytes_text, duration_text, elapsed, short
from cli.report.command import make_report
from cli.report.page.document import ROOM
from tests.support.recorded_events import RESULT, RUN, write_events
from tests.support.recorded_stats import MIB, extension_stats, hostile_lines, mark, recorded, sample, write

SCRIPTS = ROOM / "script"
SETTLED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture
def show(browser, tmp_path):
    """Makes a page and opens it. Afterwards nothing was logged, and nothing but the page was fetched."""
    opened = []

    def show(held, **given):
        path = tmp_path / "run.stats"
        if isinstance(held, str):
            path = path.with_name("run.jsonl")
        else:
            write(path, held)
        assert make_report(str(path), None) == 0
        page = path.with_suffix(".html")
        browser.open(page, **given)
        assert browser.evaluate("document.documentElement.dataset.ready") == "yes"
        opened.append(page)
        return browser

    yield show
    assert opened
    assert browser.complaints() == []
    assert browser.requests() == [opened[-1].as_uri()]
    assert not [event for event in browser.happened if event.get("method") == "Page.javascriptDialogOpening"]


def texts(browser, selector):
    return browser.evaluate(f"Array.from(document.querySelectorAll({selector!r}), each => each.textContent.trim())")


def count(browser, selector):
    return browser.evaluate(f"document.querySelectorAll({selector!r}).length")


def box(browser, selector):
    """Left, top, width and height, after it was brought into view and everything has settled."""
    browser.evaluate(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    browser.evaluate(SETTLED)
    place = f"document.querySelector({selector!r}).getBoundingClientRect()"
    return browser.evaluate(f"(({{left, top, width, height}}) => [left, top, width, height])({place})")


def drawn(browser, selector):
    """Points of a path, in the data's units."""
    d = browser.evaluate(f"document.querySelector({selector!r}).getAttribute('d')")
    return [tuple(map(float, point.removesuffix("h0").split())) for point in d.strip("MZ").replace("M", "L").split("L")]


@pytest.fixture
def two():
    """Ten seconds of two extensions; one is restarted on the way."""
    held = [
        sample(
            float(at),
            {
                "steady": extension_stats(cpu_s=at / 10, rss_bytes=20 * MIB, calls=at, p50_ms=1.0, p99_ms=2.0),
                "rising": extension_stats(cpu_s=at * (at + 1) / 40, rss_bytes=at * MIB, restarts=1),
            },
        )
        for at in range(1, 11)
    ]
    marks = [
        mark(1, "turn", name="1", ms=4000),
        mark(2, "tool_call", "", "no such file", "bash", ms=500),
        mark(5, "exited", "rising", "exit 3"),
        mark(6, "restarted", "rising"),
    ]
    return [*marks, *held]


def test_the_charts_are_there_with_the_right_numbers(show, two):
    browser = show(two)
    key = texts(browser, "button.key bdi").index("rising")
    cpu = drawn(browser, f".panel[data-measure=cpu] .line[data-key='{key}']")
    assert cpu == [(100.0 * at, 5.0 * at) for at in range(1, 11)]
    memory = drawn(browser, f".panel[data-measure=rss] .line[data-key='{key}']")
    assert memory == [(100.0 * at, float(at)) for at in range(1, 11)]
    assert drawn(browser, ".panel[data-measure=cpu] .line.total")[-1] == (1000.0, 60.0)
    assert texts(browser, ".panel[data-measure=cpu][data-kind=lines] .y span") == ["0 %", "20 %", "40 %", "60 %"]
    assert texts(browser, ".tile dd")[:2] == ["10 s", "2"]
    assert count(browser, ".lane") == 3
    assert count(browser, "#latency .cell") == 1
    assert count(browser, "#costs tbody tr") == 2


def test_the_pointer_reads_values_and_events(show, two):
    browser = show(two)
    left, top, width, height = box(browser, ".panel[data-measure=cpu][data-kind=lines] .plot")
    browser.mouse("mouseMoved", left + 0.6 * width, top + height / 2)
    assert texts(browser, "#tip b") == ["at 6 s"]
    assert texts(browser, "#tip td") == ["rising", "30 %", "steady", "10 %", "all extensions", "40 %"]
    left, top, width, height = box(browser, ".lane .k-exited")
    browser.mouse("mouseMoved", left + width / 2, top + height / 2)
    assert texts(browser, "#tip")[0].startswith("ended by itself · rising")
    assert "exit 3" in texts(browser, "#tip")[0]
    browser.mouse("mouseMoved", 1, 1)
    assert browser.evaluate("document.querySelector('#tip').hidden")


def test_dragging_zooms_all_charts_together_and_back(show, two):
    browser = show(two)
    left, top, width, height = box(browser, ".panel[data-measure=cpu][data-kind=lines] .plot")
    browser.drag(left + 0.4 * width, left + 0.6 * width, top + height / 2)
    assert texts(browser, "#window") == ["4 s to 6 s"]
    view = "Array.from(document.querySelectorAll('.inner'), each => each.getAttribute('viewBox').split(' '))"
    for x, _, wide, _ in browser.evaluate(view):
        assert float(x) == pytest.approx(400, abs=2)
        assert float(wide) == pytest.approx(200, abs=4)
    exited = browser.evaluate("parseFloat(document.querySelector('.lane .k-exited').getAttribute('x'))")
    assert exited == pytest.approx(50, abs=1)
    assert browser.evaluate("document.querySelector('.lane .k-tool_call').style.display") == "none"
    browser.key("Escape")
    assert texts(browser, "#window") == ["0 s to 10 s"]


def test_lines_can_be_hidden_and_the_axis_follows(show, two):
    browser = show(two)
    rising = texts(browser, "button.key bdi").index("rising")
    browser.evaluate(f"document.querySelectorAll('button.key')[{rising}].click()")
    assert texts(browser, ".panel[data-measure=cpu][data-kind=lines] .y span")[-1] == "10 %"
    assert count(browser, ".panel .line.off") == 4  # it and the host, of both measures
    assert drawn(browser, ".panel[data-measure=cpu] .band")[9] == (1000.0, 50.0)  # hidden lines count as the rest


def test_any_of_a_hundred_extensions_can_be_added(show):
    browser = show(recorded(100, 60))
    assert count(browser, ".panel[data-measure=rss][data-kind=lines] .line") == 9
    assert count(browser, "#add option") == 1 + 92
    chosen = "add => { add.value = add.options[5].value; add.dispatchEvent(new Event('change')); }"
    browser.evaluate(f"({chosen})(document.querySelector('#add'))")
    assert count(browser, ".panel[data-measure=rss][data-kind=lines] .line") == 10
    assert "the other 91, summed" in texts(browser, ".key.rest")
    assert browser.evaluate("document.querySelector('.key.rest').clientWidth") > 0
    assert len(drawn(browser, ".panel[data-measure=rss] .line:last-child")) == 60
    assert count(browser, ".panel path[d*=NaN], .panel path[d*=undefined]") == 0


def test_lines_at_zero_are_folded_into_one(show):
    idle = {f"idle{number}": extension_stats(rss_bytes=MIB, cpu_s=0.001) for number in range(12)}
    browser = show(
        [sample(float(at), {"busy": extension_stats(cpu_s=at, rss_bytes=100 * MIB), **idle}) for at in range(1, 9)]
    )
    assert texts(browser, "button.key bdi") == ["busy", "zot itself"]
    assert texts(browser, ".key.rest") == ["12 extensions at zero"]
    browser.evaluate(
        "(add => { add.value = '3'; add.dispatchEvent(new Event('change')); })(document.querySelector('#add'))"
    )
    assert texts(browser, ".key.rest") == ["11 extensions at zero"]
    browser.evaluate("document.querySelector('button.key').click()")
    assert texts(browser, ".key.rest") == ["the other 1, summed, and 11 extensions at zero"]


def test_ten_columns_are_shown_until_all_are_wanted(show):
    fallen = {
        "a": extension_stats(cpu_s=1.0, exits=3, unexpected_exits=2, restarts=1, timeouts=4, exit_status="exit 3")
    }
    browser = show([sample(float(at), fallen) for at in range(1, 4)])
    seen = "Array.from(document.querySelectorAll('#costs thead th')).filter(each => each.offsetWidth > 0).length"
    shown = texts(browser, "#costs thead th:not(.folded)")
    assert shown == [
        "extension", "state", "CPU", "over time", "peak RSS", "over time", "timeouts", "unexpected exits", "restarts",
        "last exit",
    ]  # fmt: skip
    assert browser.evaluate(seen) == 10
    browser.evaluate("document.querySelector('#all-columns').click()")
    assert browser.evaluate(seen) == count(browser, "#costs thead th") > 14


def test_the_table_sorts_and_filters(show):
    browser = show(recorded(20, 30))
    names = "#costs tbody th"
    by_cpu = texts(browser, names)
    browser.evaluate("document.querySelector('#costs thead button').click()")
    assert texts(browser, names) == sorted(by_cpu, key=lambda name: (name.split("-")[:-1], int(name.split("-")[-1])))
    browser.evaluate("document.querySelector('#costs thead button').click()")
    assert browser.evaluate("document.querySelector('#costs th[aria-sort]').getAttribute('aria-sort')") == "descending"
    typed = "box => { box.value = 'GUARD'; box.dispatchEvent(new Event('input')); }"
    browser.evaluate(f"({typed})(document.querySelector('#filter'))")
    assert count(browser, "#costs tbody tr:not([hidden])") == sum("guard" in name for name in by_cpu)


def test_the_keyboard_walks_through_samples_and_events(show, two):
    browser = show(two)
    box(browser, ".panel .plot")  # a page that scrolls hides values
    browser.evaluate("document.querySelector('.panel .plot').focus()")
    for _ in range(3):
        browser.key("ArrowRight")
    assert texts(browser, "#tip b") == ["at 3 s"]
    box(browser, ".lane.extension .plot")
    browser.evaluate("document.querySelector('.lane.extension .plot').focus()")
    browser.key("ArrowRight")
    browser.key("ArrowRight")
    assert texts(browser, "#tip b") == ["restarted · rising"]
    browser.key("+")
    assert texts(browser, "#window") == ["2.5 s to 7.5 s"]


CUT_OFF = """
Array.from(document.querySelectorAll("main *")).filter((each) => !each.closest("svg") && each.clientWidth > 0
  && getComputedStyle(each).overflow !== "visible"
  && (each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 2))
  .map((each) => `${each.tagName}.${each.className}: ${each.scrollWidth} in ${each.clientWidth}`)
"""


def crowded():
    """Every figure is large, every name as long as it may be, and no column is left out."""
    names = [f"quite-a-long-name-of-an-extension-{index:02}-".ljust(64, "x") for index in range(12)]
    plenty = ("errors", "timeouts", "blocks", "calls", "frames_in", "frames_out", "events_dropped", "junk_lines")
    large = dict.fromkeys(plenty, 99999) | {"exits": 1234, "unexpected_exits": 123, "restarts": 122}
    held = extension_stats(
        **large,
        state="reloading",
        exit_status="signal SIGKILL",
        limit_breaches=7,
        cpu_s=123_456.0,
        rss_peak_bytes=999 * MIB,
        bytes_in=999 * MIB,
        bytes_out=999 * MIB,
        p50_ms=123.4,
        p99_ms=9999.0,
        latency_ms=((1.0, 50_000), (200.0, 49_999)),
    )
    yield from (sample(float(at), dict.fromkeys(names, held)) for at in range(1, 5))
    yield from (mark(2, "exited", name, "exit 1") for name in names)


@pytest.mark.parametrize(
    "held",
    [partial(recorded, 30, 300), lambda: list(crowded())],
    ids=["many", "crowded"],
)
def test_nothing_is_cut_off_in_a_window_of_1280_pixels(show, held):
    """15 of them are the bar for scrolling."""
    browser = show(held(), width=1265, height=800)
    assert browser.evaluate(CUT_OFF) == []
    assert browser.evaluate("document.documentElement.scrollWidth") == 1265


def test_columns_of_zeros_are_named_and_left_out(show):
    browser = show([sample(1, {"a": extension_stats(timeouts=1)})])
    heads = [head.split(" ")[0] for head in texts(browser, "#costs thead th")]
    assert "timeouts" in heads
    assert not {"lost", "junk", "limits"} & set(heads)
    assert "0 everywhere: limits, lost, junk." in texts(browser, "#costs .caption")[0]


def test_the_script_writes_numbers_as_the_page_does(show):
    browser = show([sample(1, {"a": extension_stats()})])
    numbers = (SCRIPTS / "numbers.js").read_text()
    values = [0, 1e-4, 0.00123, 0.0999, 0.5, 0.9996, 1.234, 9.996, 12.34, 99.94, 99.96, 123.4, 999.6, 1023.4, 1023.6,
              5e4, 123_456.7, 3.2e6, 1.5e9]  # fmt: skip
    rules = "[short(value), bytes(value / MIB), latency(value), elapsed(value)]"
    given = f"const MIB = 2 ** 20, SHORTEST = 0.01; {numbers}; return {values}.map((value) => {rules});"
    assert browser.evaluate(f"(() => {{ {given} }})()") == [
        [short(value), bytes_text(value), duration_text(value), elapsed(value)] for value in values
    ]


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (700, True)])
def test_nothing_is_wider_than_the_window(show, width, dark):
    browser = show(recorded(30, 40), width=width, dark=dark)
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    light = browser.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every(part => part > 200)")
    assert light is not dark


def test_one_sample_is_a_point_that_can_be_seen(show):
    browser = show([sample(1, {"a": extension_stats(cpu_s=0.03)})])
    left, top, *_ = box(browser, ".panel[data-measure=cpu] .line.dot[data-key='0']")
    assert drawn(browser, ".panel[data-measure=cpu] .line.dot[data-key='0']") == [(1000.0, 3.0)]
    browser.mouse("mouseMoved", left - 3, top)
    assert "3 %" in texts(browser, "#tip td")


def test_a_page_of_events_says_what_is_missing(show, tmp_path):
    browser = show(write_events(tmp_path / "run.jsonl", [*RUN, RESULT, {"type": "done"}]))
    assert "zot --json --stats FILE …" in texts(browser, ".notes code")
    assert count(browser, ".panel") == 0
    assert texts(browser, ".axis .x span") == ["turn 1", "turn 2"]
    assert count(browser, ".k-tool_call.bad") == 1
    assert count(browser, "#latency .range") == 1


def test_text_of_extensions_does_not_run(show):
    browser = show(hostile_lines())
    assert count(browser, "script") == 2
    assert count(browser, "img") == 0
    assert browser.evaluate("typeof document.querySelector('#tip').alert") == "undefined"
    browser.evaluate("document.querySelectorAll('#costs thead button').forEach(each => each.click())")
    browser.evaluate("document.querySelectorAll('button.key').forEach(each => each.click())")
