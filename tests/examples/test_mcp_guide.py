"""A first run goes as docs/mcp.md shows, and zot can read the entries of the page."""

from __future__ import annotations

import re
import shlex

from tests.examples.sdk_copies import ROOT
from tests.support.zot_fixtures import zot
from tests.support.zot_fork import run
from wire.settings.mcp_file import parse_mcp

__all__ = ["zot"]

GUIDE = (ROOT / "docs" / "mcp.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def steps():
    """Each command that is shown, and what it answers; those that need a key are left out."""
    shown = re.split(r"^\$ (.*)\n", "".join(blocks("console")), flags=re.MULTILINE)[1:]
    return [(shlex.split(command)[1:], said) for command, said in zip(shown[::2], shown[1::2], strict=True) if said]


def plain(text, zot):
    """All that is the same in every run."""
    text = text.replace(str(zot.home), "/home/me/.local/state/zot").replace(str(ROOT), "/home/me/src/zot")
    text = re.sub(r"[\d.]+(?= (ms|s|MiB)\b)", "#", text)
    return re.sub(r"# (ms|s)\b", "#", re.sub(r"CPU #", "CPU", text))


def test_the_first_run(zot):
    assert len(steps()) == 4
    for command, said in steps():
        outcome = run(zot, *(word.replace("$PWD", str(ROOT)) for word in command), cwd=ROOT)
        assert outcome.status == 0, outcome.stderr
        assert plain(outcome.stderr + outcome.text, zot) == plain(said, zot)


def test_the_entries_that_are_shown_can_be_used():
    (shown,) = (block for block in blocks("json") if "mcpServers" in block)
    parsed = parse_mcp(shown.encode())
    assert (parsed.faults, [entry.remark for entry in parsed.entries]) == ((), ["", ""])


def test_what_is_added_there_can_be_added(zot):
    lines = re.findall(r"^zot mcp add.*", "".join(blocks("sh")), re.MULTILINE)
    for line in lines:
        outcome = run(zot, *shlex.split(line, comments=True)[1:])
        assert outcome.status == 0, outcome.stderr
    assert len(run(zot, "mcp", "list", "--json").json_lines) == len(lines) == 5
