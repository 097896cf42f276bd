"""Ways to open the screen, and ways in which it does not open."""

from __future__ import annotations

import shutil

import pytest

from tests.screen.screen import texts
from tests.support.extension_folder import EXAMPLES
from tests.support.host_process import hosting


@pytest.mark.slow
def test_a_session_goes_on(screen):
    terminal = screen.terminal
    screen.open()
    screen.prompt("the beginning")
    screen.leave()
    (path,) = screen.zot.session_files()
    shown = screen.open("-c", ready=r"(?s)^re: the beginning$.*^ready · \S")
    assert "> the beginning" in shown
    terminal.keys("C-d")
    terminal.wait_for(r"^status 0$")
    screen.open("-r", path.stem[-8:], "some", "words", ready=r"^> some words\nready · \S")
    terminal.keys("Enter")
    terminal.wait_for(r"^re: some words$")
    assert texts(screen.server.requests[-1]) == ["the beginning", "re: the beginning", "some words"]
    terminal.wait_for(r"^>\nready")
    screen.leave()
    screen.open("-r", ready=r"^ +\w{8} +\S+ \S+ the beginning$")
    terminal.keys("Tab", "Enter", "Enter")
    terminal.wait_for(r"^resumed \S+: the beginning, 4 messages$|^resumed(?s:.*)4 messages$")
    assert screen.zot.session_files() == [path]


@pytest.mark.parametrize(
    ("flags", "says", "status"),
    [
        (("--resume=abcdefgh",), "--resume: there is no session 'abcdefgh'", 2),
        (("--nosuch",), "No such option: --nosuch", 2),
    ],
)
def test_a_wrong_flag_is_told_once(screen, flags, says, status):
    shown = screen.open(*flags, ready=r"^status \d+$")
    assert shown.replace("\n", "").count(says) == 1
    assert f"status {status}" in shown


def test_a_required_extension_that_is_missing_ends_the_screen_with_its_status(screen):
    gone = screen.zot.folder / "gone"
    shown = screen.open("--ext", screen.kit(), "--ext", gone, ready=r"^status \d+$")
    assert "status 9" in shown
    assert "another engine" not in shown


def test_no_session_is_kept_without_one(screen):
    screen.open("--no-session")
    screen.prompt("say this")
    assert "goes on with this session" not in screen.leave()
    assert screen.zot.session_files() == []


def test_plain_lines(screen):
    terminal = screen.terminal
    screen.open(before="TERM=dumb", ready=r"^>$")
    assert "\x1b" not in screen.enter("say this", r"(?s)^re: say this$.*^>$")
    terminal.keys("C-d")
    terminal.wait_for(r"^status 0$")


def test_lines_from_a_pipe(screen):
    outcome = screen.feed(b"one prompt\n/show it\n!echo run\n\ntwo prompts\n")
    assert outcome.status == 0
    assert outcome.leftovers == []
    order = [outcome.text.index(text) for text in ("re: one prompt", "shown: it", "  run", "re: two prompts")]
    assert order == sorted(order)
    assert "\x1b" not in outcome.text


def test_the_demo_needs_no_key(screen):
    terminal = screen.terminal
    terminal.command(f"clear; {terminal.zot} demo --interactive; echo status $?")
    terminal.wait_for(r"^ready · \S")
    terminal.keys("Enter")
    terminal.wait_for(r"^─ .*\d turns?")
    terminal.wait_for(r"^>.*\nready · \S")
    terminal.keys("C-c", "C-d")
    terminal.wait_for(r"^status 0$")


def test_without_a_key_the_prompt_fails_with_a_hint(screen):
    screen.zot.env.pop("ANTHROPIC_API_KEY", None)
    terminal = screen.terminal
    terminal.command(f"clear; {terminal.zot}; echo status $?")
    terminal.wait_for(r"^no key for a model")
    shown = screen.enter("hello", r"^✗ ")
    assert "zot login" in shown


@pytest.mark.slow
def test_a_project_that_is_trusted_is_not_asked_about(screen):
    place = screen.zot.cwd / ".zot" / "extensions"
    place.mkdir(parents=True)
    shutil.move(screen.kit("ours"), place / "ours")
    screen.open("--trust-project")
    screen.enter("/ours-show hi", r"^\[/ours-show\] shown: hi$")


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["y", "n"])
def test_trust_is_asked_for_at_the_first_start(screen, answer):
    terminal = screen.terminal
    place = screen.zot.cwd / ".zot" / "extensions"
    place.mkdir(parents=True)
    shutil.move(screen.kit("ours"), place / "ours")
    screen.open(ready=r"ours(?s:.*)\[y\]es, \[N\]o")
    terminal.command(answer)
    terminal.wait_for(r"^ready · \S")
    if answer == "y":
        screen.enter("/ours-show hi", r"^\[/ours-show\] shown: hi$")
    else:
        screen.enter("/ours-show hi", r"^✗ no such command: /ours-show")
        assert screen.terminal.screen().count("not started; zot ext") == 1
        screen.clear()
        screen.enter("/trust", r"(?s)^> /trust\n.*\[y\]es, \[N\]o")
        screen.enter("y", r"^reloaded: 0 stopped, 1 loaded \(1 ready\)$")
        screen.enter("/ours-show hi", r"^\[/ours-show\] shown: hi$")


def test_extensions_of_a_host(screen):
    with hosting(screen.zot, EXAMPLES / "todo") as host:
        host.settle()
        screen.open("--host", ".")
        screen.enter("/todo buy tea", r"^\[/todo\] added: buy tea$")
        screen.enter("/todo", r"^│ .*buy tea")
        screen.terminal.keys("Escape")
        screen.terminal.wait_for(r"^>\nready")
        screen.leave()
        assert host.stats()["todo"].state == "ready"
