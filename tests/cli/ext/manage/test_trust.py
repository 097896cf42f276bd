"""What `zot ext trust` and the question on the terminal show, and with which status it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.run.trust_prompt import LINE, card, cut
from supervisor.discovery.content_hash import Content
from supervisor.discovery.discover import Found, Scope
from supervisor.discovery.trust_rules import Judged, TrustState
from supervisor.home.config import Config
from tests.support.forked import run
from tests.support.installing import source
from wire.manifest import Manifest


def shown(**manifest) -> list[str]:
    found = Found(Path("/x"), Manifest(**{"name": "x", "exec": "x", **manifest}), Scope.PROJECT)
    judged = Judged(TrustState.NEVER_SEEN, "never seen", Content("sha256:0"))
    return [cut(line) for line in card(found, judged, Config(secrets=("AWS_*",)))]


def test_secrets_cannot_be_hidden_behind_other_names():
    padding = [f"HARMLESS_{number}" for number in range(200)]
    (asks,) = (line for line in shown(env=(*padding, "AWS_KEY", "OPENAI_API_KEY")) if line.startswith("asks"))
    assert asks.startswith("asks    for AWS_KEY, OPENAI_API_KEY, HARMLESS_0")
    assert asks.endswith("more characters: read its extension.json")


def test_a_long_command_line_does_not_look_as_if_it_ended_there():
    (runs,) = (line for line in shown(args=("safe.py", " " * LINE, "-c", "evil")) if line.startswith("runs"))
    assert "evil" not in runs
    assert "more characters: read its extension.json" in runs
    assert cut("y" * LINE) == "y" * LINE


@pytest.mark.parametrize(
    ("args", "status"),
    [(["gard"], 2), (["--revoke", "guard"], 2), (["./nowhere"], 2), (["."], 1), (["guard"], 0), (["./guard"], 2)],
    ids=["unknown", "not trusted", "no such folder", "no manifest", "by name", "not here"],
)
def test_exit_status(zot, args, status):
    source(zot.cwd / ".zot" / "extensions" / "guard")
    outcome = run(zot, "ext", "trust", "--json", *args)
    assert outcome.status == status, outcome
    assert all(json.loads(line) for line in outcome.stdout.splitlines())
    assert outcome.stderr.count("\n") == (status != 0)
