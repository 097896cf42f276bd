"""The commands of the screen, and lines for the shell."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.e2e.test_images import png
from tests.screen.screen import last_text, texts


def test_a_command_of_the_user_is_judged_and_reaches_the_model(screen):
    screen.open("--ext", screen.kit())
    screen.enter("!rm -rf x", r"^kit refused bash: no rm here\n● bash rm -rf x\n  no rm here$")
    screen.enter("!echo se''en", r"^  seen$")
    shown = screen.prompt("and now")
    assert shown.count("seen") == 1, "the model gets the output, which is not shown again"
    (request,) = screen.server.requests
    text = last_text(request)
    assert "no rm here" in text
    assert "\nseen\n" in text
    assert text.endswith("\n\nand now")
    screen.prompt("once only")
    assert last_text(screen.server.requests[-1]) == "once only"


def test_session_commands(screen):
    terminal, cwd = screen.terminal, screen.zot.cwd
    (cwd / "shot.png").write_bytes(png(2, 2))
    terminal.resize(200, 50)
    screen.open()
    screen.prompt("alpha with @shot.png in it")
    (request,) = screen.server.requests
    kinds = [block["type"] for block in request.body["messages"][0]["content"]]
    assert kinds == ["text", "image"]
    screen.enter("/model claude-opus-4-5", r"^ready · claude-opus-4-5")
    for name in ("out.md", "out.html", "out.json", "out.zotsession"):
        screen.enter(f"/export {name}", rf"^wrote \S+/{name}$")
    assert "alpha with" in (cwd / "out.md").read_text()
    assert (cwd / "out.html").read_text().startswith("<!doctype html>")
    assert json.loads((cwd / "out.json").read_text())
    assert (cwd / "out.zotsession").stat().st_size
    screen.enter("/fork", r"^this is now the session \S+, a copy$")
    screen.enter("/clear", r"^a new conversation begins$")
    screen.prompt("beta")
    assert texts(screen.server.requests[-1]) == ["beta"]
    terminal.type("/resume ")
    shown = terminal.wait_for(r"^ +\w{8} +\S+ \S+ beta$")
    assert len(re.findall(r"^ +\w{8} +\S+ \S+ alpha with", shown, re.MULTILINE)) == 2, "the first session, and its copy"
    terminal.keys("C-c")
    alpha = re.findall(r"^ +(\w{8}) +\S+ \S+ alpha with", shown, re.MULTILINE)[-1]
    screen.enter(f"/resume {alpha}", r"^resumed \S+: alpha with @shot.png in it, 2 messages$")
    screen.prompt("gamma")
    assert texts(screen.server.requests[-1])[-1] == "gamma"
    assert "re: alpha with @shot.png in it" in json.dumps(screen.server.requests[-1].body)
    screen.enter("/exit", r"^status 0$")


def test_an_extension_is_loaded_again_and_the_terminal_is_lent(screen):
    terminal = screen.terminal
    kit = screen.kit()
    source = screen.zot.folder / "changing.py"
    manifest = json.loads((kit / "extension.json").read_text())
    source.write_text(Path(manifest["args"][2]).read_text())
    manifest["args"][2] = str(source)
    (kit / "extension.json").write_text(json.dumps(manifest))
    screen.open("--ext", kit)
    screen.enter("/show it", r"^\[/show\] shown: it$")
    source.write_text(source.read_text().replace("shown: ", "in another way: "))
    screen.enter("/reload-ext kit", r"^reloaded: 1 stopped, 1 loaded \(1 ready\)$")
    screen.enter("/show it", r"^\[/show\] in another way: it$")
    screen.enter("/ext", r"^kit +ready")
    screen.enter("/cost", r"^\[/cost\] the kit costs nothing$")
    screen.enter("/zot:cost", r"^kit +[\d.]+ s CPU +[\d.]+ MiB +processes: 1$")
    screen.enter("/tools", r"^kit_tool \[kit\]: Say something\.$")
    screen.enter("/top", r"q quit$")
    terminal.type("q")
    terminal.wait_for(r"(?s)^kit_tool.*^>\nready")
    screen.enter("/fail", r"^✗ /fail: it failed on purpose$")
    terminal.type("typed while it works")
    terminal.wait_for(r"^> typed while it works\n")
