"""A process that serves imports nothing: an import opens files, and by then there may be no descriptor or package."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from agent.tools.catalogue import OF_EXTENSIONS
from agent.tools.extension_tools.report import advice
from agent.tools.extension_tools.report import scaffold_report as made_text
from supervisor.control.client import ControlError
from tests.support.callers import argv_of, call
from tests.support.extension_folder import extension, folder
from tests.support.full_extension import Lines, everything, use_everything
from tests.support.host_process import Hosted, hosting
from tests.support.late_imports import PROGRAM, late_imports
from tests.support.mcp_served_client import McpClient
from tests.support.replay_script import Script, ok
from tests.support.zot_process import ROOT, wait_until
from wire import control
from wire.dialects.jsonrpc import INVALID_PARAMS
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot


@pytest.fixture
def report(zot: Zot) -> Path:
    """The file in which each `zot` of this test tells of late imports."""
    path = zot.folder / "late-imports"
    zot.command = [sys.executable, str(PROGRAM), str(path)]
    return path


def flags_of_everything(zot: Zot) -> tuple[str, ...]:
    return ("--watch", "--stats", str(zot.folder / "stats"), "--metrics", str(zot.folder / "metrics"))


def test_a_host_imports_nothing_while_it_serves(zot: Zot, report: Path) -> None:
    made = everything(zot.folder)
    with hosting(zot, made, flags=flags_of_everything(zot)) as host, Lines(host.socket) as lines:
        answers = use_everything(host, lines)
        assert [answer["type"] for answer in answers].count("error") >= 8, answers
        assert is_well(host)
        with suppress(ControlError):  # the limit that it breaks may end it before it has answered
            assert host.call("all_say", "crowd") == "crowd"
        wait_until(lambda: host.stats()["all"].limit_breaches)
        host.running.signal(signal.SIGHUP)
        wait_until(lambda: "reloading" in host.running.errors())
        lines.ask({"type": "stop"})
        assert host.running.finish().status == 0, host.running.errors()
    assert late_imports(report) == {}


def test_a_host_without_extensions_has_imported_what_the_first_one_needs(zot: Zot, report: Path) -> None:
    zot.home.mkdir()
    with hosting(zot) as host:
        everything(zot.folder).rename(zot.home / "ext-all")
        (zot.home / "extensions").mkdir()
        (zot.home / "ext-all").rename(zot.home / "extensions" / "all")
        assert host.client.ask(control.Reload("r"), control.Reloaded).outcomes[0].outcome == "started"
        with pytest.raises(ControlError, match="invalid args"):
            host.call("all_say", "HELLO")
        host.client.ask(control.StopHost("s"), control.Ok)
        assert host.running.finish().status == 0
    assert late_imports(report) == {}


@pytest.mark.parametrize("is_of_a_running_host", [False, True])
def test_an_mcp_server_imports_nothing_while_it_serves(zot: Zot, report: Path, is_of_a_running_host: bool) -> None:
    made = [extension(zot.folder, "workbench", zot.folder / "cancels"), extension(zot.folder, "gatekeeper")]
    with ExitStack() as stack:
        flags: list[str | Path] = ["--no-ext", "-e", made[0], "-e", made[1]]
        if is_of_a_running_host:
            flags = ["--host", str(stack.enter_context(hosting(zot, *made)).pid)]
        client = stack.enter_context(McpClient(zot, *flags))
        assert client.tools()[0] == "say"
        texts = {text: client.call("say", text=text)[1] for text in ("hi", "loud", "draft", "secret", "forbidden")}
        assert [text for text, is_error in texts.items() if is_error] == ["secret", "forbidden"]
        assert client.ask("tools/call", {"name": "sax"})["code"] == INVALID_PARAMS
        assert client.ask("prompts/get", {"name": "plam"})["code"] == INVALID_PARAMS
        assert client.ask("tools/call", {"name": "draw"})["isError"] is False
        client.send([{"id": "x", "method": "ping"}, 7])
        waits = client.begin("tools/call", {"name": "wait"})
        client.send({"method": "notifications/cancelled", "params": {"requestId": waits}})
        assert client.ask("prompts/get", {"name": "plan"})["messages"]
        assert client.call("die")[1]
        assert client.finish().status == 0
    assert late_imports(report) == {}


@pytest.mark.parametrize("mode", ["--json", "-p"])
def test_a_run_imports_nothing_once_its_extensions_have_been_started(zot: Zot, report: Path, mode: str) -> None:
    made = everything(zot.folder)
    script = Script(zot.cwd, extra={"all_say": ""})
    script.call(("all_say", {"text": "hi"}), results=[ok("hi")])
    script.call(("bash", {"command": "true"}), ("write", {"path": "a", "content": "x\n"}))
    script.call(("edit", {"path": "a", "edits": [{"old": "x", "new": "y"}]}), ("read", {"path": "a"}))
    script.call(("all_say", {"text": "HELLO"}), ("all_say", {"text": "crash"}), ("no_such", {}))
    cassette = script.answer("Done.").write(zot.folder / "cassette.jsonl")
    outcome = zot.run(mode, "--replay", cassette, "-e", made, *flags_of_everything(zot), "go")
    assert "Traceback" not in outcome.stderr
    assert outcome.status in (Status.OK.exit_code, Status.ERROR.exit_code), outcome.stderr
    assert late_imports(report) == {}


def test_the_tools_by_which_the_agent_writes_extensions_import_nothing(zot: Zot, report: Path) -> None:
    (zot.cwd / ".git").mkdir()
    zot.env["COPILOT_HOME"] = str(zot.folder / "copilot")
    program = zot.cwd / ".github" / "extensions" / "lint" / "extension.mjs"
    nothing = "there are no Copilot extensions{}; extensions_manage with operation scaffold makes one"
    waits = f"not trusted (never seen); {advice('lint')}"
    script = Script(zot.cwd, home=zot.home).offer_built_in(*OF_EXTENSIONS)
    script.call(("extensions_reload", {}), results=[ok(nothing.format(" to reload"))])
    script.call(("extensions_manage", {"operation": "list"}), results=[ok(nothing.format(""))])
    made = ("extensions_manage", {"operation": "scaffold", "name": "lint"})
    script.call(made, results=[ok(made_text("lint", str(program), "lint_greet"))])
    told = f"0 of 1 Copilot extension reloaded or started:\n- lint: not started: {waits}"
    script.call(("extensions_reload", {}), results=[ok(told)])
    state = f"not trusted (never seen), so it does not run: {advice('lint')}"
    shown = f"lint (project)\nstate: {state}\nfolder: {program.parent}"
    script.call(("extensions_manage", {"operation": "inspect", "name": "lint"}), results=[ok(shown)])
    cassette = script.answer("Done.").write(zot.folder / "cassette.jsonl")
    outcome = zot.run("-p", "--copilot", "--replay", cassette, "go")
    assert outcome.status == 0, outcome.stderr
    assert outcome.text == "Done.\n"
    assert late_imports(report) == {}


def test_a_host_whose_packages_are_moved_away_serves_on(zot: Zot) -> None:
    """Its own reaper started before; what a later start of Python needs is not moved."""
    packages = zot.folder / "packages"
    tree = zot.folder / "tree"
    packages.symlink_to(next(entry for entry in sys.path if entry.endswith("site-packages")))
    tree.symlink_to(ROOT)
    zot.command = [sys.executable, "-S", "-B", "-m", "pyzot"]
    zot.env["PYTHONPATH"] = f"{tree}:{packages}"
    zot.env["PYTHONSAFEPATH"] = "1"
    with hosting(zot, everything(zot.folder), flags=flags_of_everything(zot)[1:]) as host, Lines(host.socket) as lines:
        packages.unlink()
        tree.unlink()
        use_everything(host, lines)
        assert is_well(host)
        lines.ask({"type": "stop"})
        outcome = host.running.finish()
    assert outcome.status == 0
    assert "Traceback" not in outcome.stderr


def is_well(host: Hosted) -> bool:
    return bool(wait_until(lambda: host.stats()["all"].state == "ready" and host.call("all_say", "hi") == "hi"))


def test_a_call_by_an_extension_imports_nothing(zot: Zot, report: Path) -> None:
    caller = folder(zot.folder, "caller", argv_of(zot.folder, "caller", "ask"))
    say = [
        call("bash", "b", command="echo a > a; exit 1"),
        call("read", "r", path="a"),
        call("skill", "s", name="write-zot-extension"),
        call("bask", "n"),
        call("bash", "f", command=7),
        call("bash", "c", command="sleep 600"),
        {"type": "call_tool_cancel", "id": "c"},
    ]
    script = Script(zot.cwd, extra={"ask": ""}).call(("ask", {"say": say, "want": 6}))
    outcome = zot.replay(script, "--max-steps", "1", "-e", caller).check(Status.MAX_STEPS)
    assert len(outcome.tool_texts()) == 6, "five of the extension, and one of the model"
    assert late_imports(report) == {}
