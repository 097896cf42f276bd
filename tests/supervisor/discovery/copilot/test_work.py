"""Wrappers of zot around handlers and timers cost an extension nothing that it has without zot, with the real SDK."""

from __future__ import annotations

import pytest

from tests.support.copilot_host import VERSIONS

BOTH = pytest.mark.parametrize("version", VERSIONS)
HABITS = """
import { joinSession } from "@github/copilot-sdk/extension";
import { writeFileSync } from "node:fs";
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const loop = async () => {
  for (let count = 1; ; count++) {
    await sleep(50);
    if (count === 30 || count === 40) session.log(`slept ${count}`);
  }
};
const session = await joinSession({
  hooks: { onSessionStart: () => void loop() },
  commands: [{ name: "soon", handler: () => void setTimeout(() => session.log("soon"), 20) }],
});
session.on("user.message", () => ({ then() { session.log("a query that nobody awaits is run"); } }));
session.on("user.message", () => ({ then() { throw new Error("not called"); } }));
session.on("user.message", () => ({ get then() { throw new Error("not read"); } }));
session.on("user.message", () => {
  setTimeout(function () { session.log(`the timer has ${typeof this?.refresh}`); }, 5);
});
session.on("session.shutdown", async () => {
  await sleep(100);
  writeFileSync("first", "");
  await sleep(100);
  writeFileSync("second", "");
  process.exit();
});
"""
NEVER_ENDS = """
globalThis.setTimeout = () => ({ unref() {} });
import { joinSession } from "@github/copilot-sdk/extension";
await joinSession({});
await new Promise(() => {});
"""


@pytest.mark.slow
@BOTH
def test_handlers_go_on_as_without_zot(joined, version):
    host = joined(version=version, text=HABITS)
    host.tell("user.message", {"content": "go"})
    assert host.awaited("session.log")["message"] == "the timer has function"
    # Work that a command leaves for soon counts as work of its handler.
    before = len(host.asked("zot.working"))
    host.tell("command.execute", {"requestId": "r1", "commandName": "soon", "command": "/soon", "args": ""})
    host.awaited("session.log", message="soon")
    assert {"handlers": 1} in host.asked("zot.working")[before:]
    # A loop that sleeps goes on for ever: only its first second counts as work of the hook that has begun it.
    host.hook("sessionStart", source="startup")
    host.awaited("session.log", message="slept 30")
    told = len(host.asked("zot.working"))
    host.awaited("session.log", message="slept 40")
    assert len(host.asked("zot.working")) == told
    assert host.asked("zot.working")[-1] == {"handlers": 0}
    # Reports of work after the host has closed stdin end nothing.
    host.tell("session.shutdown", {"shutdownType": "routine"})
    host.request("zot.ping", {})
    assert (host.end(), host.stderr) == (0, "")
    assert (host.cwd / "second").exists()


@pytest.mark.slow
@BOTH
def test_a_module_that_never_ends_and_has_timers_of_its_own_has_started(running, version):
    host = running(version=version, text=NEVER_ENDS)
    host.run_until(lambda: [each for each in host.received if each["method"] == "zot.started"])
