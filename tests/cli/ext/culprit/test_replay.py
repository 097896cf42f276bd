"""`zot ext replay` and a black box in `zot ext test`: from a run that fell to a verdict on the extension."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.extension_folder import folder
from tests.support.host import PRELUDE
from tests.support.replay_script import Script, ok
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot

FALLS = """
hello("shout")
send(type="ready")
for frame in frames():
    if "dragons" in json.dumps(frame["args"]):
        print("here be dragons", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    result(frame, "done")
"""


@pytest.fixture
def shouter(zot: Zot) -> Path:
    """The folder of an extension that falls at a word."""
    script = zot.folder / "shouter.py"
    script.write_text(PRELUDE + FALLS)
    return folder(zot.folder, "shouter", [sys.executable, "-I", "-S", str(script)])


def run(zot: Zot, extension: Path, *flags: str, form: str = "full") -> list[Path]:
    """The black boxes of a run in which the extension falls at its second call."""
    zot.home.mkdir(exist_ok=True)
    (zot.home / "config.json").write_text(json.dumps({"black_box": form}))
    script = Script(zot.cwd, prompt="go", extra={"shout": ""})
    script = script.call(("shout", {"text": "sheep"}), results=[ok("done")])
    script = script.call(("shout", {"text": "dragons"}), results=[])
    zot.run(*zot.replay_flags(script.answer("Done.")), "-e", extension, *flags, "go")
    return sorted((zot.home / "runs").glob("*.box.jsonl"))


def test_it_falls_again_until_it_is_mended(zot: Zot, shouter: Path):
    (box,) = run(zot, shouter)
    again = zot.run("ext", "replay", box, shouter)
    assert again.status == 1
    assert again.text.splitlines()[0].startswith("falls again: signal SIGSEGV after frame ")
    assert again.text.splitlines()[0].endswith("(tool_call shout)")
    assert "    | here be dragons" in again.text
    assert again.leftovers == []
    record = zot.run("ext", "replay", box, shouter, "--json").json_lines[0]
    assert (record["falls"], record["fall"], record["is_made_up"]) == (True, "signal SIGSEGV", False)
    assert record["recorded"] == {"fall": "crashed", "cause": "signal SIGSEGV"}
    tested = zot.run("ext", "test", shouter, box)
    assert (tested.status, "falls again: signal SIGSEGV" in tested.text) == (1, True)
    (zot.folder / "shouter.py").write_text(PRELUDE + FALLS.replace("os.kill", "(lambda *_: None)"))
    mended = zot.run("ext", "replay", box, shouter)
    assert (mended.status, mended.text) == (0, "did not fall: it answered all 2 requests\n")
    assert zot.run("ext", "test", shouter, box).status == 0
    assert zot.run("ext", "test", shouter, box, "--update").status == 2


def test_without_contents_it_says_that_they_are_made_up(zot: Zot, shouter: Path):
    (box,) = run(zot, shouter, form="types")
    assert "dragons" not in "".join(file.read_text() for file in (zot.home / "runs").iterdir())
    replayed = zot.run("ext", "replay", box, shouter)
    assert (replayed.status, replayed.text) == (0, "did not fall: it answered all 2 requests\n")
    assert "the black box has no contents" in replayed.stderr
    assert '{"black_box": "full"} in config.json keeps contents' in replayed.stderr


def test_without_a_trace_there_is_no_black_box(zot: Zot, shouter: Path):
    assert run(zot, shouter, "--no-trace") == []


def test_files_that_cannot_be_played_are_named(zot: Zot, shouter: Path):
    (box,) = run(zot, shouter)
    text = box.read_bytes()
    cases = {
        text[: text.index(b"\n") // 2]: "line 1: ",
        text.replace(b'"format":1', b'"format":9'): "line 1: format 9; this zot reads format 1",
        text.replace(b'"side":"host"', b'"side":"nobody"', 1): "line ",
        b"": "line 1: not a black box",
        b"\xff\x00": "line 1: not a black box",
    }
    damaged = zot.folder / "damaged.jsonl"
    for content, reason in cases.items():
        damaged.write_bytes(content)
        refused = zot.run("ext", "replay", damaged, shouter)
        assert refused.status == 2
        assert f"zot ext replay: {damaged}: {reason}" in refused.stderr
    damaged.write_bytes(text[:-3])
    cut = zot.run("ext", "replay", damaged, shouter)
    assert "is cut off and left out" in cut.stderr
    assert cut.status == 0
    assert "cannot be read" in zot.run("ext", "replay", zot.folder, shouter).stderr
    unnamed = zot.run("ext", "replay", box)
    assert unnamed.status == 2
    asked = f"shouter is not installed; name its folder, if you trust it: zot ext replay {box} {shouter}"
    assert asked in unnamed.stderr
    assert zot.run("ext", "replay", box, "nothing-of-that-name").status == 2


def test_an_extension_of_another_protocol_is_refused(zot: Zot, shouter: Path):
    (box,) = run(zot, shouter)
    other = folder(zot.folder, "other", [sys.executable], dialect="mcp")
    refused = zot.run("ext", "replay", box, other)
    assert (refused.status, "other speaks mcp, and the black box is of zot" in refused.stderr) == (2, True)


def test_ctrl_c_ends_it_and_the_extension(zot: Zot, shouter: Path):
    (box,) = run(zot, shouter)
    started = zot.folder / "started"
    (zot.folder / "shouter.py").write_text(
        PRELUDE + f'hello("shout")\nsend(type="ready")\nfor frame in frames(): open({str(started)!r}, "w").close()'
    )
    with zot.start("ext", "replay", box, shouter) as running:
        wait_until(started.exists)
        running.signal(signal.SIGINT)
        ended = running.finish()
    assert (ended.status, ended.leftovers) == (130, [])


@pytest.mark.parametrize("name", ["shouter", "./shouter", "..", "~"])
def test_a_black_box_of_somebody_else_starts_no_program_that_is_here(zot: Zot, shouter: Path, name: str):
    (box,) = run(zot, shouter)
    shouter.rename(zot.cwd / "shouter")
    made = zot.folder / "of-somebody-else.jsonl"
    made.write_bytes(box.read_bytes().replace(b'"extension":"shouter"', b'"extension":"%s"' % name.encode()))
    refused = zot.run("ext", "replay", made)
    assert (refused.status, refused.stdout) == (2, b"")
    assert f"{name} is not installed" in refused.stderr
