"""`zot ext test`: results of scripts, recordings, and usage errors."""

from __future__ import annotations

import signal

import pytest

from tests.support.extension_folder import extension
from tests.support.extension_scripts import CALL, RESULT, write_script


def test_a_failing_script_shows_the_difference(zot, echo):
    write_script(echo / "tests" / "good.jsonl", {"host": CALL}, {"extension": RESULT})
    write_script(echo / "tests" / "bad.jsonl", {"host": CALL}, {"extension": {**RESULT, "is_error": True}})
    outcome = zot.run("ext", "test", echo)
    assert outcome.status == 1
    assert outcome.leftovers == []
    assert outcome.text.index("FAIL") < outcome.text.index("ok    ")
    assert "line 2: expected tool_result; this tool_result is different" in outcome.text
    assert "- is_error: true" in outcome.text
    assert "+ is_error: nothing" in outcome.text
    assert outcome.text.splitlines()[-1] == "1 passed, 1 failed"
    assert zot.run("ext", "test", echo, echo / "tests" / "good.jsonl").status == 0


def test_json_has_each_script_and_the_totals(zot, echo):
    write_script(echo / "test.jsonl", {"host": CALL}, {"extension": {**RESULT, "is_error": True}})
    outcome = zot.run("ext", "test", echo, "--json")
    script, total = outcome.json_lines
    assert (script["ok"], script["steps"], script["done"]) == (False, 2, 1)
    assert script["failure"]["line"] == 2
    assert script["failure"]["differences"] == [{"path": "is_error", "expected": "true", "said": "nothing"}]
    assert total == {"passed": 0, "failed": 1}


def test_without_scripts_it_says_how_to_get_one(zot, echo):
    outcome = zot.run("ext", "test", echo)
    assert outcome.status == 0
    assert "handshake and shutdown" in outcome.text
    assert "no scripts yet: zot ext drive" in outcome.text


def test_a_recording_is_a_script_that_passes(zot, echo, tmp_path):
    asked = write_script(tmp_path / "asked.jsonl", {"host": CALL})
    made = tmp_path / "made.jsonl"
    assert zot.run("ext", "test", echo, asked, "--record", made).status == 0
    assert zot.run("ext", "test", echo, made).status == 0
    again = zot.run("ext", "test", echo, asked, "--record", made)
    assert again.status == 2
    assert "there is such a file already" in again.stderr
    assert list(tmp_path.glob(".made*")) == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nix"], "nix: read manifest: no such folder"),
        (["{echo}", "nix.jsonl"], "nix.jsonl: cannot be read"),
        (["{echo}/extension.json"], "is a file; name the extension's folder first"),
        (["{echo}", "--cwd", "nix"], "--cwd nix: no such folder"),
        (["{echo}", "--record", "x"], "--record needs exactly one SCRIPT"),
        (["{echo}", "{bad}"], "bad.jsonl, line 1: no such member: 'hots'"),
    ],
)
def test_usage_errors_are_one_line_and_status_2(echo, tmp_path, capsys, monkeypatch, args, said):
    from cli.ext.author.commands import ext_test

    monkeypatch.chdir(tmp_path)
    bad = write_script(tmp_path / "bad.jsonl", {"hots": CALL})
    words = [arg.format(echo=echo, bad=bad) for arg in args]
    flags = dict(zip(words[1::2], words[2::2], strict=True)) if words[1:2] and words[1].startswith("--") else {}
    scripts = [] if flags else words[1:]
    with pytest.raises(SystemExit) as ended:
        ext_test(words[0], scripts, record=flags.get("--record"), cwd=flags.get("--cwd"))
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert said in told.err
    assert told.err.count("\n") == 1


def test_an_interrupted_test_ends_its_extension(zot, tmp_path):
    silent = extension(tmp_path, "silent")
    with zot.start("ext", "test", silent) as running:
        running.child("silent")
        running.signal(signal.SIGINT)
        outcome = running.finish()
    assert outcome.status == 130
    assert outcome.leftovers == []
