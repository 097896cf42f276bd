"""Extensions that fail, as the user of a run sees them: what is said, the exit status, and that the others go on and
nothing is left running."""

from __future__ import annotations

import pytest

from tests.support.copilot_place import results_of
from tests.support.messages_server import text_reply, tool_reply
from wire.events import Extension, ToolResult
from wire.exit_codes import Status

GREET = ("guide_greet", {"who": "Ada"})
STAYS_DOWN = {"policy": "temporary"}


def check_others(outcome, place) -> None:
    """The sound one beside it has answered, and nobody else is said to have failed."""
    assert "Hello, Ada" in results_of(place.asked())
    cost = outcome.result.extensions["guide-tools"]
    assert (cost.state, cost.errors, cost.exit_status) == ("exited", 0, "exit 0")
    assert [record.event for record in outcome.of(Extension) if record.extension == "guide-tools"] == ["started"]


def said_of(outcome, name: str, event: str = "failed") -> list[str]:
    return [record.message for record in outcome.of(Extension) if (record.extension, record.event) == (name, event)]


STARTS = {
    "syntax-error": ("SyntaxError", "Unexpected token"),
    "throws-at-top": ("TypeError", "Cannot read properties of undefined (reading 'tools')"),
    "uses-require": ("require", ""),
}


@pytest.mark.parametrize(
    "child", ["syntax-error", *(pytest.param(name, marks=pytest.mark.slow) for name in list(STARTS)[1:])]
)
def test_one_that_does_not_start(place, child):
    place.add(child, restart=STAYS_DOWN)
    place.add("guide-tools")
    outcome = place.results(GREET).check(Status.OK)
    check_others(outcome, place)
    (said,) = said_of(outcome, child) or said_of(outcome, child, "exited")
    (line,) = [line for line in outcome.warnings if f"extension {child}" in line]
    for words in STARTS[child]:
        assert words in said
        assert words in line
    assert f"ext-{child}.log" in line, "where to read on"
    assert outcome.result.extensions[child].state == "failed"


@pytest.mark.slow
def test_one_that_is_started_again_and_fails_each_time(place):
    place.add("throws-at-top", restart={"policy": "permanent", "backoff_s": [0.01, 0.01], "max": 3, "window_s": 600})
    place.add("guide-tools")
    outcome = place.results(("bash", {"command": "sleep 1.5"}), GREET).check(Status.OK)
    check_others(outcome, place)
    assert len(said_of(outcome, "throws-at-top")) == 1
    assert outcome.result.extensions["throws-at-top"].state == "failed"


@pytest.mark.slow
def test_one_that_never_joins(place):
    place.add("never-joins", timeouts={"hello": 1.0}, restart=STAYS_DOWN)
    place.add("guide-tools")
    outcome = place.results(GREET).check(Status.OK)
    check_others(outcome, place)
    (said,) = said_of(outcome, "never-joins")
    assert "said no hello within 1 s; it has not called joinSession()" in said


@pytest.mark.slow
def test_a_required_one_that_never_joins(place):
    place.add("never-joins", timeouts={"hello": 1.0}, restart=STAYS_DOWN, required=True)
    outcome = place.run().check(Status.REQUIRED_EXTENSION, user_messages=0)
    assert "it has not called joinSession()" in outcome.result.reason
    assert place.server.requests == []


@pytest.mark.slow
def test_a_hook_is_not_asked_before_the_end_of_the_join(each_sdk):
    each_sdk.add("early-hook")
    each_sdk.results(("bash", {"command": "echo out"})).check(Status.OK)
    assert results_of(each_sdk.asked())[0].endswith("after")


@pytest.mark.slow
def test_timers_that_keep_it_alive(each_sdk):
    """It does not end with its input, and SIGTERM ends it."""
    each_sdk.add("keeps-alive")
    outcome = each_sdk.results(("alive", {})).check(Status.OK)
    assert outcome.tool_texts() == ["alive"]
    assert outcome.result.extensions["keeps-alive"].exit_status == "signal SIGTERM"


@pytest.mark.slow
def test_one_that_ignores_sigterm(place):
    """It is ended five seconds later, as the guide says, and the others do not wait for it."""
    place.add("ignores-sigterm")
    place.add("guide-tools")
    outcome = place.results(("stubborn", {}), GREET).check(Status.OK)
    check_others(outcome, place)
    assert outcome.result.extensions["ignores-sigterm"].exit_status == "signal SIGKILL"
    log = (place.zot.home / "logs" / "ext-ignores-sigterm.log").read_text()
    assert log.count("not now") == 1, "one SIGTERM"


@pytest.mark.slow
def test_noise_on_stdout(each_sdk):
    place = each_sdk
    place.add("noisy")
    place.add("guide-tools")
    text = {"text": "not so loud", "times": 20_000}
    outcome = place.results(("noise", text), GREET, ("noise", {"text": "again"})).check(Status.OK)
    loud, greeted, again = outcome.tool_texts()
    assert loud.startswith("not so loud" * 100)
    assert (greeted, again) == ("Hello, Ada" + "heard", "again" + "heard")
    cost = outcome.result.extensions["noisy"]
    assert (cost.junk_lines, cost.errors, cost.timeouts, cost.exit_status) == (0, 0, 0, "exit 0")
    log = (place.zot.home / "logs" / "ext-noisy.log").read_text()
    assert "top: console.log" in log
    assert "hook: a part of a line" in log


@pytest.mark.slow
def test_noise_past_the_streams_of_node(each_sdk):
    """Nobody in its process can prevent that; the host finds the messages between it."""
    place = each_sdk
    place.add("writes-descriptor")
    outcome = place.results(("noise", {}), ("noise", {"text": "Content-Length: 99\r\n\r\nno JSON"})).check(Status.OK)
    assert outcome.tool_texts() == ["done", "done"]
    assert outcome.result.extensions["writes-descriptor"].junk_lines > 0


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "words"), [("forget", "nobody waits for this"), ("forget_rpc", "session.mode.get")])
def test_a_promise_that_rejects_and_nobody_waits_for(each_sdk, tool, words):
    """It ends the process: the call fails at once with the cause, and the next one has a new process."""
    place = each_sdk
    place.add("unhandled-rejection", restart={"backoff_s": [0.01, 0.05]})
    place.add("guide-tools")
    outcome = place.results((tool, {}), GREET).check(Status.OK)
    check_others(outcome, place)
    failed, _ = outcome.of(ToolResult)
    assert failed.is_error
    assert words in failed.content[0].text
    assert "exit 1" in failed.content[0].text


@pytest.mark.slow
def test_one_that_exits_in_a_call_and_in_a_hook(place):
    place.add("exits-in-call", on_failure="deny", restart={"policy": "permanent", "backoff_s": [0.01, 0.05]})
    place.add("guide-tools")
    outcome = place.results(("leave", {}), ("bash", {"command": "sleep 0"}), GREET).check(Status.OK)
    left, judged, _ = results_of(place.asked())
    assert "it ended (exit 3)" in left
    assert "exits-in-call" in judged
    assert "$ sleep" not in judged, "no verdict, and its failure means deny"
    assert outcome.result.extensions["exits-in-call"].unexpected_exits >= 1


@pytest.mark.slow
@pytest.mark.parametrize("order", [("clash-first", "clash-second"), ("clash-second", "clash-first")])
def test_two_with_the_same_tool(each_sdk, order):
    """The first in the order of guards keeps the name, whichever was faster; the other one fails to load."""
    place = each_sdk
    first, second = order
    place.add(first, priority=1)
    place.add(second, priority=0)
    place.add("guide-tools")
    name = first.removeprefix("clash-")
    outcome = place.results([("the_same", {}), (f"only_{name}", {})], GREET).check(Status.OK)
    check_others(outcome, place)
    assert outcome.tool_texts()[:2] == [name, name]
    (said,) = said_of(outcome, second)
    assert "the_same" in said
    assert first in said
    assert f"only_{second.removeprefix('clash-')}" not in place.offered[-1]
    assert outcome.result.extensions[first].unexpected_exits == 0


@pytest.mark.slow
def test_a_tool_with_the_name_of_a_built_in_one(place):
    place.write(
        "shadow", """await joinSession({ tools: [{ name: "bash", description: "Mine", handler: () => "" }] });"""
    )
    place.add("guide-tools")
    outcome = place.results(GREET, ("bash", {"command": "echo built-in"})).check(Status.OK)
    check_others(outcome, place)
    assert "built-in" in results_of(place.asked())[1]
    (said,) = said_of(outcome, "shadow")
    assert "bash" in said


@pytest.mark.slow
def test_a_flood_ends_and_costs_itself(place):
    place.add("floods")
    place.add("guide-tools")
    replies = [text_reply(f"{number}.") for number in range(10)]
    outcome = place.run(tool_reply([("flood", {"times": 3000}), GREET]), text_reply("Done."), *replies)
    assert (outcome.status, outcome.leftovers) == (0, [])
    assert "Hello, Ada" in outcome.tool_texts()
    assert outcome.result.extensions["guide-tools"].errors == 0


@pytest.mark.slow
def test_one_that_joins_twice_has_the_tools_of_the_first_time(each_sdk):
    each_sdk.add("joins-twice")
    outcome = each_sdk.results(("first_join", {}), ("second_join", {})).check(Status.OK)
    assert outcome.tool_texts()[0].startswith("joinSession() was called before")
    assert outcome.of(ToolResult)[1].is_error


@pytest.mark.slow
def test_one_that_dies_of_its_second_join(place):
    place.write("twice", "await joinSession();\nawait joinSession();", restart=STAYS_DOWN)
    outcome = place.run(text_reply("Done.")).check(Status.OK)
    (line,) = [line for line in outcome.warnings if "extension twice" in line]
    assert "joinSession() was called before: a process joins once" in line


@pytest.mark.slow
def test_a_call_in_which_it_leaves_ends_at_once(each_sdk):
    """With the newest SDK the result never comes. The deadlines are longer than the test may take."""
    each_sdk.add("leaves", timeouts={"tool_call": 600.0, "intercept": 600.0})
    outcome = each_sdk.results(("leave", {}), ("bash", {"command": "echo on"})).check(Status.OK)
    left, on = outcome.tool_texts()
    assert left == ("left" if each_sdk.package.parents[2].name == "oldest" else "the extension has left the session")
    assert on.startswith("$ echo on")
    (lost,) = [each.message for each in outcome.of(Extension) if each.event == "no_verdict"]
    assert "its permission handler is no longer asked" in lost


@pytest.mark.slow
def test_without_the_sdk(place):
    folder = place.add("guide-tools")
    (place.zot.home / "copilot-sdk" / "node_modules").unlink()
    outcome = place.run(text_reply("Done.")).check(Status.OK)
    (line,) = [line for line in outcome.warnings if "guide-tools" in line]
    assert str(folder) in line
    assert "zot ext install-sdk copilot" in line
    assert "guide_greet" not in place.offered[0]


@pytest.mark.slow
def test_without_node(place):
    folder = place.zot.folder / "programs"
    folder.mkdir()
    for program in ("sh", "bash", "env", "git"):
        (folder / program).symlink_to(f"/usr/bin/{program}")
    place.add("guide-tools", restart=STAYS_DOWN)
    outcome = place.run(text_reply("Done."), env={"PATH": str(folder)}).check(Status.OK)
    (line,) = [line for line in outcome.warnings if "guide-tools" in line]
    assert "Node.js is not on PATH: install Node 20.6 or newer" in line
    assert outcome.result.text == "Done."


@pytest.mark.slow
def test_one_that_is_not_trusted(place):
    place.add("guide-tools")
    place.server.add(text_reply("Done."))
    outcome = place.zot.run("--json", "--base-url", place.server.base_url, "go").check(Status.OK)
    (line,) = [line for line in outcome.warnings if "guide-tools" in line]
    assert "zot ext trust guide-tools" in line
    assert "guide_greet" not in place.offered[0]
    assert said_of(outcome, "guide-tools")
    strict = place.zot.run("--json", "--base-url", place.server.base_url, "--strict-guards", "go")
    assert strict.status == Status.BLOCKED.exit_code
