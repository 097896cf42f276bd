"""How runs with Copilot extensions end: what the extensions are told then, what still runs of them, what is printed."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.support.marked_processes import command_line, marked_pids
from tests.support.messages_server import hold_first_byte, text_reply, tool_reply
from tests.support.warm_start import MARK
from tests.support.zot_process import wait_until
from wire.events import Extension, ExtNotify, ToolProgress, TurnStart
from wire.exit_codes import Status

pytestmark = pytest.mark.slow
TELLS = """
import { appendFileSync } from "node:fs";
const keep = (line) => appendFileSync("told.txt", `${line}\\n`);
const session = await joinSession({ hooks: {
  onSessionEnd: ({ reason, finalMessage, error }) => {
    keep(`end: ${reason} ${finalMessage} ${error}`);
    return { sessionSummary: `it was ${reason}` };
  },
} });
session.on("session.shutdown", async ({ data }) => {
  keep(`shutdown: ${data.shutdownType}`);
  await session.log("good bye");
});
"""


def told(place) -> list[str]:
    return (place.zot.cwd / "told.txt").read_text().splitlines()


def test_a_run_that_ends_well(each_sdk):
    each_sdk.write("tells", TELLS)
    outcome = each_sdk.run(text_reply("Fine.")).check(Status.OK)
    assert told(each_sdk) == ["end: complete Fine. undefined", "shutdown: routine"]
    assert [note.message for note in outcome.of(ExtNotify)] == ["good bye"]
    summaries = [record.message for record in outcome.of(Extension) if record.event == "summary"]
    assert summaries == ["sums up the session: it was complete"]


def test_a_run_that_is_interrupted(each_sdk):
    place = each_sdk
    place.write("tells", TELLS)
    place.add("workbench")
    place.server.add(tool_reply([("bash", {"command": "echo begun; sleep 600"})]))
    with place.zot.start("--json", *place.flags(), "go") as running:
        running.wait_for(ToolProgress)
        running.signal(signal.SIGINT)
        outcome = running.finish()
    assert (outcome.result.status, outcome.leftovers) == ("interrupted", [])
    assert told(place) == ["end: abort undefined undefined", "shutdown: routine"]


def test_a_run_whose_time_is_over(each_sdk):
    place = each_sdk
    place.write("tells", TELLS)
    place.server.add(hold_first_byte(text_reply("Never.")))
    outcome = place.zot.run("--json", *place.flags("--timeout", "3s"), "go")
    assert (outcome.result.status, outcome.leftovers) == ("timeout", [])
    ended, shutdown = told(place)
    assert ended.startswith("end: timeout undefined ")
    assert shutdown == "shutdown: error"


def test_an_interrupt_while_a_hook_and_a_tool_wait(place):
    place.add("slow-hook")
    place.add("keeps-alive")
    place.server.add(tool_reply([("slow", {}), ("bash", {"command": "true"})]))
    with place.zot.start("--json", *place.flags(), "go") as running:
        running.wait_for(TurnStart)
        place.server.wait_for_requests(1)
        running.signal(signal.SIGINT)
        outcome = running.finish()
    assert (outcome.result.status, outcome.leftovers) == ("interrupted", [])


def test_a_killed_run_leaves_nothing(place):
    """Not even what ignores SIGTERM."""
    place.add("ignores-sigterm")
    place.add("workbench")
    place.server.add(hold_first_byte(text_reply("Never.")))
    running = place.zot.start("--json", *place.flags(), "go")
    try:
        running.wait_for(TurnStart)
        running.process.kill()
        running.process.wait()
        mark = running._mark
        wait_until(lambda: not [pid for pid in marked_pids(MARK, mark) if "node" in command_line(pid)])
    finally:
        running.__exit__()


IDLE = """
let turns = 0;
const session = await joinSession();
session.on("session.idle", () => turns++ < %d && session.send({ prompt: `turn ${turns}` }).catch((error) => {
  session.log(`refused: ${error.message}`);
}));
"""


def test_a_prompt_that_is_sent_when_nothing_waits_any_more(each_sdk):
    place = each_sdk
    place.write("goes-on", IDLE % 2)
    outcome = place.run(*[text_reply(f"{number}.") for number in range(3)]).check(Status.OK, user_messages=3)
    assert [each.text for each in outcome.result.sent] == ["1.", "2."]


def test_one_that_never_stops_is_stopped(place):
    place.write("goes-on", IDLE % 1000)
    outcome = place.run(*[text_reply(f"{number}.") for number in range(11)]).check(Status.OK, user_messages=11)
    assert len(outcome.result.sent) == 10
    assert [note.message for note in outcome.of(ExtNotify) if "refused" in note.message]
    assert [each for each in outcome.of(Extension) if "10 prompts already" in each.message]


def test_what_is_printed_without_json(place):
    place.add("guide-hooks")
    place.add("guide-session")
    place.server.add(tool_reply([("bash", {"command": "rm -rf x"})]), text_reply("Done."))
    outcome = place.zot.run(*place.flags(), "-p", "go")
    assert (outcome.status, outcome.text, outcome.leftovers) == (0, "Done.\n", [])
    assert "zot: guide-hooks refused bash: Destructive commands are not allowed." in outcome.warnings
    assert "[guide-hooks] info: cleanup: closed the log" in outcome.warnings
    assert not [line for line in outcome.warnings if "Traceback" in line]


def test_below_the_root_of_the_repository(each_sdk):
    """Extensions are those of the root, and run where the agent does."""
    place = each_sdk
    place.add("workbench")
    below = place.zot.cwd / "packages" / "one"
    below.mkdir(parents=True)
    outcome = place.results([("bench_place", {}), ("bench_seen", {})], cwd=below).check(Status.OK)
    where, seen = outcome.tool_texts()
    assert json.loads(where)["cwd"] == str(below)
    assert {each["input"]["cwd"] for each in json.loads(seen) if "cwd" in each["input"]} == {str(below)}


def test_ten_runs_at_the_same_time(place):
    """Each has its own processes and its own session."""
    place.add("workbench")
    place.server.otherwise = lambda request: (
        tool_reply([("bench_place", {})]) if len(request.body["messages"]) == 1 else text_reply("Done.")
    )
    started = [place.zot.start("--json", *place.flags(), "go", stdin=subprocess.DEVNULL) for _ in range(5)]
    try:
        outcomes = [running.finish(60.0).check(Status.OK) for running in started]
    finally:
        for running in started:
            running.__exit__()
    sessions = {json.loads(outcome.tool_texts()[0])["session"] for outcome in outcomes}
    assert len(sessions) == 5
