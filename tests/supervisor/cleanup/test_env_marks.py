"""A process belongs to a host if the token is a variable of its environment, not if the text looks like it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.cleanup import env_marks
from supervisor.cleanup.env_marks import TOKEN, bears_token, environment_of
from tests.support.killed_host import sleeper

pytestmark = pytest.mark.usefixtures("orphans_are_collected")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="found by /proc and a subreaper")


@linux_only
def test_a_process_bears_the_token_of_its_environment_and_no_other():
    token = "a" * 32
    for env, expected in (
        ({TOKEN: token}, True),
        ({"A": "1", TOKEN: token, "Z": "2"}, True),
        ({TOKEN: token + "b"}, False),
        ({"X" + TOKEN: token}, False),
        ({"X": f"{TOKEN}={token}"}, False),
    ):
        with sleeper(env) as child:
            environment = environment_of(child.pid)
            assert environment
            assert bears_token(environment, token) is expected, env
    assert environment_of(2**22 + 1) == b""


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10)
VALUES = TEXTS | st.sampled_from([f"{TOKEN}={'a' * 32}", "a" * 32, "a" * 33])
NAMES = st.sampled_from([TOKEN, "X" + TOKEN, TOKEN + "X", "PATH"]) | TEXTS.filter(lambda name: name and "=" not in name)


@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_an_environment_bears_a_token_only_as_the_value_of_its_variable(variables: dict[str, str]):
    environment = b"".join(f"{name}={value}".encode() + b"\0" for name, value in variables.items())
    assert bears_token(environment, "a" * 32) is (variables.get(TOKEN) == "a" * 32)


def test_without_proc_the_environment_is_read_by_other_means(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(env_marks, "ON_LINUX", False)
    with sleeper({TOKEN: "a" * 32}) as child:
        assert bears_token(environment_of(child.pid), "a" * 32)
    assert environment_of(2**22 + 1) == b""


@linux_only
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
@pytest.mark.parametrize("has_proc", [True, False])
def test_a_process_of_another_user_bears_no_mark(monkeypatch: pytest.MonkeyPatch, has_proc: bool):
    monkeypatch.setattr(env_marks, "ON_LINUX", has_proc)
    with subprocess.Popen(["sleep", "600"], env={**os.environ, TOKEN: "a" * 32}, user=65534) as other:
        assert environment_of(other.pid) == b""
        other.kill()


@linux_only
def test_a_process_that_has_ended_bears_no_mark():
    with subprocess.Popen(["sleep", "600"], env={**os.environ, TOKEN: "a" * 32}) as child:
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert environment_of(child.pid) == b""
