"""The hello example: its two commands under a supervisor, and a machine without jq."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.extension_folder import EXAMPLES


@pytest.fixture
def hello(supervise):
    return supervise("hello")


@pytest.mark.parametrize(
    ("args", "who"),
    [("  Ada  Lovelace ", "Ada  Lovelace"), ('"\\ ü\u2028x', '"\\ ü\u2028x')],
)
def test_greets(hello, args, who):
    answer = hello.command("hi", args)
    assert (answer.action, answer.display) == ("display", f"Hello, {who}!")
    hello.until(lambda: hello.notes)
    assert hello.notes == [("hello", "success", f"greeted {who}")]
    asked = hello.command("hello", args)
    assert (asked.action, asked.prompt) == ("prompt", f"Greet {who} in one cheerful sentence.")
    hello.finish()


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
