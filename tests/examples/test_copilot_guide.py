"""A first run goes as docs/copilot.md shows, and the tables of the page are complete."""

from __future__ import annotations

import re
import shlex
import shutil

import pytest

from supervisor.discovery.copilot.manifest import GIVEN
from tests.examples.sdk_copies import ROOT
from tests.support.copilot_host import sdk
from tests.support.zot_fixtures import zot
from tests.support.zot_fork import run
from wire.dialects.copilot.hooks import FIELDS, handler_of
from wire.dialects.copilot.rpc.table import METHODS
from wire.dialects.copilot.tool_names import copilot_name
from wire.dialects.copilot.tool_results import IN_WORDS
from wire.dialects.table import find_dialect
from wire.manifest import parse_manifest

__all__ = ["zot"]

GUIDE = (ROOT / "docs" / "copilot.md").read_text()
SHOP = ROOT / "examples" / "copilot" / "shop"
QUESTION = "Trust it until it changes?"
"""Is asked on a terminal only."""


@pytest.fixture
def shop(zot):
    """A copy of the example, in a home that has the SDK."""
    (zot.home / "copilot-sdk").mkdir(parents=True)
    (zot.home / "copilot-sdk" / "node_modules").symlink_to(sdk().parents[1])
    shutil.copytree(SHOP, zot.cwd, dirs_exist_ok=True)
    (zot.cwd / ".git").mkdir()
    return zot.cwd


def section(title):
    return re.split(r"^#+ ", GUIDE.split(f"# {title}\n")[1], flags=re.MULTILINE)[0]


def steps():
    """Each command of zot that is shown, and what it answers; the SDK is there already."""
    shown = "".join(re.findall(r"^```console\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL))
    pairs = re.split(r"^\$ (.*)\n", shown, flags=re.MULTILINE)[1:]
    commands = [(shlex.split(command), said) for command, said in zip(pairs[::2], pairs[1::2], strict=True)]
    return [(words[1:], said) for words, said in commands if words[0] == "zot" and "install-sdk" not in words]


def plain(text, zot):
    """All that is the same in every run, whichever of the two streams comes first."""
    text = text.replace(str(zot.cwd), "/home/me/shop").replace(str(zot.home), "/home/me/.local/state/zot")
    lines = re.sub(r"[\d.]+(?= (ms|s|other)\b)", "#", text).splitlines()
    return sorted(line for line in lines if not line.startswith(QUESTION))


def test_the_first_run(zot, shop):
    assert len(steps()) == 3
    for command, said in steps():
        outcome = run(zot, *command)
        assert outcome.status == 0, "new recordings: python -m tests.record_copilot\n" + outcome.stderr
        assert plain(outcome.stderr + outcome.text, zot) == plain(said, zot)
    assert "result += price" in (shop / "prices.py").read_text()


def test_the_manifest_that_is_shown_can_be_used():
    (shown,) = re.findall(r"^```json\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    manifest = parse_manifest(shown.encode(), {"name": "x", "exec": "node", "dialect": "copilot"})
    assert (manifest.on_failure, manifest.timeouts.intercept, manifest.timeouts.tool_call) == ("deny", 120, 900)
    assert all(f"`{field}`" in section("`extension.json` beside it") for field in GIVEN)


def test_every_method_is_named_and_no_other():
    told = "\n".join(line for line in section("The session").splitlines() if line.startswith("| `"))
    for method in METHODS:
        group, _, name = method.removeprefix("session.").rpartition(".")
        wanted = f"`session.{name}(" if not group else f"`{group}.{name}`"
        assert wanted in told or f"`{name}`" in told, method
    rows = [line.split("|")[1] for line in told.splitlines() if re.match(r"\| `\w+\.\w+`, ", line)]
    groups = {row.split("`")[1].partition(".")[0]: re.findall(r"`(?:\w+\.)?(\w+)`", row) for row in rows}
    for group in ("model", "name", "plan", "workspaces", "extensions"):
        known = [name.rpartition(".")[2] for name in METHODS if name.startswith(f"session.{group}.")]
        assert sorted(groups[group]) == sorted(known)


def test_every_field_of_every_hook_is_named():
    told = section("Hooks")
    for hook, fields in FIELDS.items():
        row = told.split(f"| `{handler_of(hook)}`")[1].split("\n| `on")[0].split("\n\n")[0]
        assert [field for field in fields if field not in row] == [], hook


def test_every_type_of_result_and_every_tool_is_named():
    assert [word for word in IN_WORDS if f"`{word}`" not in section("Tools")] == []
    for tool in ("bash", "read", "write", "edit"):
        assert f"| `{tool}` | `{copilot_name(tool)}` |" in section("Names of tools")


def test_the_times_are_those_of_the_dialect():
    dialect = find_dialect("copilot")
    told = section("Limits and times")
    for seconds, row in (
        (dialect.hello_s, "to `joinSession()`"), (dialect.settle_s, "waits for them"), (dialect.term_s, "SIGKILL"),
    ):  # fmt: skip
        assert f"| {seconds:g} s" in next(line for line in told.splitlines() if row in line)
