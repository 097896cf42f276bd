"""The hello example: its two commands, under a supervisor and through `zot`."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.extension_folder import EXAMPLES
from tests.support.zot_process import Zot


@pytest.fixture
def hello(supervise):
    return supervise("hello")


@pytest.mark.parametrize(
    ("args", "who"),
    [("Ada", "Ada"), ("  Ada  Lovelace ", "Ada  Lovelace"), ("", "world"), ('"\\ ü\u2028x', '"\\ ü\u2028x')],
)
def test_greets(hello, args, who):
    answer = hello.command("hi", args)
    assert (answer.action, answer.display) == ("display", f"Hello, {who}!")
    hello.until(lambda: hello.notes)
    assert hello.notes == [("hello", "success", f"greeted {who}")]
    asked = hello.command("hello", args)
    assert (asked.action, asked.prompt) == ("prompt", f"Greet {who} in one cheerful sentence.")
    hello.finish()


def test_through_zot(folder_of, tmp_path):
    outcome = Zot(tmp_path).run("-p", "--no-ext", "-e", folder_of("hello"), "/hi Ada")
    assert (outcome.status, outcome.text) == (0, "Hello, Ada!\n")
    assert "greeted Ada" in outcome.stderr


def test_without_jq_it_says_so_and_is_not_started_again(tmp_path):
    (tmp_path / "sh").symlink_to("/bin/sh")
    for name in ("hello", "rate-limiter"):
        ran = subprocess.run(
            ["/bin/sh", str(EXAMPLES / name / f"{name}.sh")],
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert (ran.returncode, ran.stdout) == (125, "")
        assert f"{name} needs jq" in ran.stderr
