"""A process belongs to a host if the token is a variable of its environment, not if the text looks like it."""

from __future__ import annotations

import sys

import pytest

from supervisor.cleanup.env_marks import TOKEN, bears_token, environment_of
from tests.support.doomed import sleeper

pytestmark = pytest.mark.usefixtures("orphans_are_collected")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="found by /proc and a subreaper")


@linux_only
def test_the_environment_decides_not_what_looks_like_it():
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
