"""Extensions that fail, as the user of a run sees them: what is said, the exit status, and that the others go on and
nothing is left running."""

from __future__ import annotations

import pytest

from tests.support.copilot_place import results_of
from tests.support.messages_server import text_reply
from wire.events import Extension
from wire.exit_codes import Status

GREET = ("guide_greet", {"who": "Ada"})
STAYS_DOWN = {"policy": "temporary"}


def check_others(outcome, place) -> None:
    """The sound one beside it has answered, and no other is said to have failed."""
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
def test_a_hook_is_not_asked_before_the_end_of_the_join(each_sdk):
    each_sdk.add("early-hook")
    each_sdk.results(("bash", {"command": "echo out"})).check(Status.OK)
    assert results_of(each_sdk.asked())[0].endswith("after")


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
