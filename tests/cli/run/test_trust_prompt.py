"""What the question about trust shows of an extension."""

from __future__ import annotations

from pathlib import Path

from cli.run.trust_prompt import LINE, card, cut
from supervisor.discovery.content_hash import Content
from supervisor.discovery.discover import Found, Scope
from supervisor.discovery.trust_rules import TrustJudgement, TrustState
from supervisor.home.config import Config
from wire.manifest import Manifest


def shown(**manifest) -> list[str]:
    found = Found(Path("/x"), Manifest(**{"name": "x", "exec": "x", **manifest}), Scope.PROJECT)
    judged = TrustJudgement(TrustState.NEVER_SEEN, "never seen", Content("sha256:0"))
    return [cut(line) for line in card(found, judged, Config(secrets=("AWS_*",)))]


def test_secrets_cannot_be_hidden_behind_other_names():
    padding = [f"HARMLESS_{number}" for number in range(200)]
    (asks,) = (line for line in shown(env=(*padding, "AWS_KEY", "OPENAI_API_KEY")) if line.startswith("asks"))
    assert asks.startswith("asks    for AWS_KEY, OPENAI_API_KEY, HARMLESS_0")
    assert asks.endswith("more characters: read its extension.json")


def test_a_long_command_line_is_marked_where_it_is_cut():
    (runs,) = (line for line in shown(args=("safe.py", " " * LINE, "-c", "evil")) if line.startswith("runs"))
    assert "evil" not in runs
    assert "more characters: read its extension.json" in runs
    assert cut("y" * LINE) == "y" * LINE
