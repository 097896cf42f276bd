"""The words of `--in`."""

from __future__ import annotations

import pytest

from agent.batch.workspace.command_prefix import fill_prefix, split_prefix
from agent.request_checks import UsageError
from agent.tools.files import beneath

DOCKER = "docker run --rm -i -v '{workspace}:{workspace}' -w {workspace} -e 'A=b c' IMAGE"


def test_it_is_split_once_and_filled_in_by_word():
    words = split_prefix(DOCKER)
    filled = fill_prefix(words, "/a b/'c'")
    assert filled == (
        "docker", "run", "--rm", "-i", "-v", "/a b/'c':/a b/'c'", "-w", "/a b/'c'", "-e", "A=b c", "IMAGE",
    )  # fmt: skip
    assert split_prefix(None) == ()


@pytest.mark.parametrize("given", ["", "  ", "''", "x 'y", 'x "y', "x \\", "x {cwd}", "x {Workspace}", "x \0"])
def test_what_cannot_be_a_prefix_is_said(given):
    with pytest.raises(UsageError, match=r"^--in: "):
        split_prefix(given)


def test_other_braces_are_left():
    assert split_prefix("docker run --format '{{ json }}' {}") == ("docker", "run", "--format", "{{ json }}", "{}")


def test_without_the_system_call_no_batch_begins(monkeypatch):
    monkeypatch.setattr(beneath, "is_supported", lambda: False)
    with pytest.raises(UsageError, match=r"--in: needs Linux 5\.6 or newer"):
        split_prefix("true")
