"""The programs in examples/embedding that are extensions of their agents: a guard, and functions for the model."""

from __future__ import annotations

import os
from contextlib import contextmanager

import pytest

from tests.support.embedding_program import EXAMPLES, project
from tests.support.messages_server import text_reply, tool_reply

pytestmark = pytest.mark.slow


def bash(command):
    return tool_reply([("bash", {"command": command})])


@contextmanager
def silence():
    """A standard input on which nothing comes."""
    reading, writing = os.pipe()
    with open(reading, "rb", 0) as stdin, open(writing, "wb", 0):
        yield stdin


def test_a_guard_in_the_program_allows_and_refuses_by_rules(tmp_path):
    with project(tmp_path, bash("wc -l notes.md"), bash("rm -rf /"), text_reply("Done.")) as made:
        said = made.run(EXAMPLES / "guard.py", "go")
        told = made.asked()
    assert "\n1 notes.md\n" in told[1]
    assert "`rm -r` is not allowed here" in told[2]
    assert "[blocked: " in said
    assert said.endswith("Done.\n")


def test_a_guard_in_the_program_asks_the_person(tmp_path):
    with project(tmp_path, bash("echo one"), bash("echo two"), text_reply("Done.")) as made:
        said = made.run(EXAMPLES / "guard.py", "go", stdin="y\nn\n")
        told = made.asked()
    assert "May it run `echo one`? [y/N]" in said
    assert "\none\n" in told[1]
    assert "the user does not want it" in told[2]


def test_a_guard_in_the_program_that_gives_no_verdict_refuses(tmp_path):
    program = f"import sys; sys.path[:0] = [{str(EXAMPLES)!r}]; import guard; guard.VERDICT_S = 0.2; guard.main('go')"
    with project(tmp_path, bash("echo one"), text_reply("Done.")) as made, silence() as nobody:
        said = made.run(program, stdin=nobody, warning="a handler of ask-first still runs")
        told = made.asked()
    assert "[no_verdict: " in said
    assert "\none\n" not in told[1]


def test_the_model_calls_functions_of_the_program(tmp_path):
    calls = [tool_reply([("orders", {"customer": "Grace"})]), tool_reply([("remind", {"order": 18})])]
    paid = tool_reply([("remind", {"order": 17})])
    with project(tmp_path, *calls, paid, text_reply("Done.")) as made:
        said = made.run(EXAMPLES / "functions.py", "go")
        told = made.asked()
        offered = {tool["name"]: tool for tool in made.server.requests[0].body["tools"]}
    assert said == "\n[letter to Grace: 19.99 are due for order 18]\nDone.\n"
    assert told[1:] == [
        '[{"order": 18, "customer": "Grace", "amount": 1999, "state": "open"}]',
        "sent",
        "order 17 is paid",
    ]
    assert set(offered) == {"orders", "remind", "skill"}
    assert offered["remind"]["input_schema"]["properties"]["order"]["description"] == "Its number."
