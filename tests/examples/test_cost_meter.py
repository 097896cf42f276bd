"""The cost-meter example: what it makes of a conversation, and that it remembers."""

from __future__ import annotations

import json
import time

import pytest

from wire.frames import ContentBlock, Event, Raw


@pytest.fixture
def meter(supervise):
    return supervise("cost-meter")


def tell(host, event: str, **fields) -> None:
    host.supervisor.tell(Event(event, **fields))


def report(host) -> list[str]:
    return host.command("cost").display.splitlines()


def one_answer(host) -> None:
    tell(host, "session_start")
    tell(host, "user_prompt", text="x" * 4000)
    tell(host, "tool_call", tool_id="a", tool_name="read", tool_args=Raw(b'{"path": "a"}'))
    tell(host, "turn_end", stop="tool_use")
    tell(host, "tool_result", tool_id="a", tool_name="read", content=[ContentBlock("text", "y" * 4000)])
    tell(host, "assistant_message", text="z" * 400)
    tell(host, "turn_end", stop="end_turn")


def test_each_turn_reads_the_whole_conversation(meter):
    assert report(meter) == ["no turns yet"]
    one_answer(meter)
    assert report(meter)[0].split()[1:] == ["2", "turns", "about", "$0.0226"]
    meter.finish()
    first, second = [json.loads(line)["usd"] for line in (meter.data / "turns.jsonl").read_text().splitlines()]
    assert first == pytest.approx((3000 * 3 + 4 * 15) / 1e6)
    assert second == pytest.approx((4004 * 3 + 100 * 15) / 1e6)


def test_it_remembers_and_survives_a_line_that_was_cut_short(supervise):
    first, day = supervise("cost-meter"), time.strftime("%Y-%m-%d")
    one_answer(first)
    report(first)
    first.finish()
    with (first.data / "turns.jsonl").open("a") as file:
        file.write('{"day": "2020-01-01", "usd": 1.5}\n[]\n{"day": "2020')
    second = supervise("cost-meter")
    old, new = (line.split()[:2] for line in report(second))
    assert old == ["2020-01-01", "1"]
    assert new in ([day, "2"], [time.strftime("%Y-%m-%d"), "2"]), "the day may have ended meanwhile"
    second.finish()


def test_no_more_than_seven_days(meter):
    lines = [json.dumps({"day": f"2020-01-{day:02}", "usd": 1}) for day in range(1, 20)]
    (meter.data / "turns.jsonl").write_text("\n".join(lines))
    assert [line.split()[0] for line in report(meter)] == [f"2020-01-{day}" for day in range(13, 20)]


def test_a_file_that_cannot_be_read_or_written(meter):
    (meter.data / "turns.jsonl").mkdir()
    one_answer(meter)
    assert "cannot read" in meter.command("cost").error
    meter.finish()
    assert "a turn was not counted" in meter.log("cost-meter")
