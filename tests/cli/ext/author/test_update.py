"""`zot ext test --update` and the files of a test project."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.support.extension_folder import folder
from tests.support.extension_scripts import CALL, PATIENT, RESULT, write_script
from tests.support.host import PRELUDE

WRONG = {**RESULT, "content": [{"type": "text", "text": "ho"}]}


def program(tmp_path, code):
    source = tmp_path / "x.py"
    source.write_text(PRELUDE + code)
    return folder(tmp_path, "x", [sys.executable, "-I", "-S", str(source)], timeouts=PATIENT)


def test_new_answers_are_written_shown_and_pass(zot, echo):
    script = echo / "tests" / "first.jsonl"
    write_script(script, {"about": {"title": "says it"}}, {"note": "kept"}, {"host": CALL}, {"extension": WRONG})
    right = write_script(echo / "tests" / "right.jsonl", {"host": CALL}, {"extension": RESULT})
    right.chmod(0o640)
    before = right.read_bytes()
    outcome = zot.run("ext", "test", echo, "--update")
    assert outcome.status == 0, outcome.text
    assert '- content[0].text: "ho"\n        + content[0].text: "hi"' in outcome.text
    assert "1 script updated, 1 as before" in outcome.text
    assert right.read_bytes() == before
    assert script.read_text().split("\n")[1:] == [
        '{"note": "kept"}',
        json.dumps({"host": CALL}),
        json.dumps({"extension": RESULT}),
        "",
    ]
    assert zot.run("ext", "test", echo).status == 0
    assert list(script.parent.glob(".*")) == []


def test_lines_of_the_host_get_their_answers(zot, echo):
    script = write_script(echo / "tests" / "first.jsonl", {"host": CALL})
    outcome = zot.run("ext", "test", echo, "--update", "--json")
    (record, total) = outcome.json_lines
    assert record["changes"][0]["was"] is None
    assert total == {"updated": 1, "unchanged": 0, "failed": 0}
    assert json.loads(script.read_text().splitlines()[1])["extension"]["content"] == RESULT["content"]
    assert zot.run("ext", "test", echo).status == 0


CRASH = """
hello("echo")
for frame in frames():
    if frame["type"] == "tool_call":
        raise SystemExit("boom")
"""


def test_a_script_whose_program_crashed_stays_as_it_was(zot, tmp_path):
    crashing = program(tmp_path, CRASH)
    script = write_script(crashing / "tests" / "first.jsonl", {"host": CALL}, {"extension": RESULT})
    before = script.read_bytes()
    outcome = zot.run("ext", "test", crashing, "--update")
    assert outcome.status == 1
    assert "it has ended (exit 1)" in outcome.text
    assert "boom" in outcome.text
    assert "ok line" not in outcome.text, "the expected answer was not given"
    assert f"zot ext test: {script} stays as it was" in outcome.stderr
    assert script.read_bytes() == before


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--update"], "--update needs a script"),
        (["--update", "--record", "x.jsonl", "SCRIPT"], "choose one of --update and --record"),
        (["--cwd", ".", "SCRIPT"], "brings its own project; leave --cwd out"),
    ],
)
def test_what_cannot_go_together_is_refused(zot, echo, args, said):
    script = write_script(zot.cwd / "s.jsonl", {"about": {"project": {"a": "b"}}}, {"host": CALL})
    outcome = zot.run("ext", "test", echo, *(script if arg == "SCRIPT" else arg for arg in args))
    assert outcome.status == 2
    assert said in outcome.stderr


LISTS = """
import os
hello("echo")
cwd = json.loads(sys.stdin.readline())["cwd"]
for frame in frames():
    if frame["type"] == "tool_call":
        found = sorted(os.path.relpath(os.path.join(at, name), cwd) for at, _, names in os.walk(cwd) for name in names)
        result(frame, " ".join(found))
"""


def test_a_script_brings_the_files_of_its_project(zot, tmp_path):
    lister = program(tmp_path, LISTS)
    tests = lister / "tests"
    (tests / "shop").mkdir(parents=True)
    (tests / "shop" / "till.py").write_text("")
    for name, project, listed in (("a", {"b/c.txt": "x", "a.txt": ""}, "a.txt b/c.txt"), ("b", "shop", "till.py")):
        answer = {**RESULT, "content": [{"type": "text", "text": listed}]}
        write_script(tests / f"{name}.jsonl", {"about": {"project": project}}, {"host": CALL}, {"extension": answer})
    outcome = zot.run("ext", "test", lister)
    assert outcome.status == 0, outcome.text
    made = tmp_path / "made.jsonl"
    assert zot.run("ext", "test", lister, tests / "a.jsonl", "--record", made).status == 0
    assert zot.run("ext", "test", lister, made).status == 0
    assert os.listdir(zot.cwd) == []
