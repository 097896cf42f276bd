"""The lines that the question about trust shows of an extension."""

from __future__ import annotations

from pathlib import Path

from cli.run import trust_prompt
from cli.run.trust_prompt import LINE, card, cut
from supervisor.discovery.content.covered_files import Content
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.trust_rules import TrustJudgement, TrustState
from supervisor.home.config import Config
from tests.support.copilot_folders import copilot_extension, put_on_path
from wire.manifest import Manifest

CONFIG = Config(secrets=("AWS_*",), env_grant={"x": ("HF_TOKEN",)})
HOST = {"PATH": "/bin", "EDITOR": "vi", "GITHUB_TOKEN": "value", "HF_TOKEN": "value", "ZOTCORE_RPC_TOKEN": "value"}


def shown(**manifest) -> list[str]:
    found = FoundExtension(Path("/x"), Manifest(**{"name": "x", "exec": "x", **manifest}), Scope.PROJECT)
    judged = TrustJudgement(TrustState.NEVER_SEEN, "never seen", Content("sha256:0"))
    return [cut(line) for line in card(found, judged, CONFIG, HOST)]


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


def environment(**manifest) -> list[str]:
    return [line for line in shown(**manifest) if line.startswith(("asks", "gets", "not"))]


def test_the_words_about_the_environment_are_what_happens():
    assert environment() == [
        "gets    the secrets HF_TOKEN, and 2 other variables of your environment",
        "not     GITHUB_TOKEN, ZOTCORE_RPC_TOKEN: these are secrets",
    ]
    assert environment(name="y", env=("GITHUB_TOKEN", "ZOTCORE_RPC_TOKEN", "NOT_SET")) == [
        "asks    for GITHUB_TOKEN, ZOTCORE_RPC_TOKEN, NOT_SET",
        "gets    the secrets GITHUB_TOKEN, and 2 other variables of your environment",
        "not     HF_TOKEN, ZOTCORE_RPC_TOKEN: these are secrets",
    ]
    assert environment(env_policy="minimal", env=("EDITOR",)) == [
        "asks    for EDITOR",
        "gets    of your environment only HF_TOKEN, EDITOR, PATH",
    ]
    assert "value" not in "".join(environment())


def test_a_terminal_is_asked_of_the_project_s_copilot_extensions_and_of_nobody_s_else(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    put_on_path(tmp_path / "bin", monkeypatch)
    (tmp_path / "project" / ".git").mkdir(parents=True)
    copilot_extension(tmp_path / "copilot" / "extensions", "mine")
    monkeypatch.setattr(trust_prompt, "can_ask", lambda: True)
    monkeypatch.setattr(trust_prompt, "answer_to", lambda _question, _content: "yes")
    asked = lambda: trust_prompt.ask((), str(tmp_path / "project"), tmp_path / "home")  # noqa: E731
    asked()
    assert capsys.readouterr().err == ""
    copilot_extension(tmp_path / "project" / ".github" / "extensions", "notes")
    asked()
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [
        "zot: this project has a Copilot extension that is not trusted (never seen)",
        "      name    notes",
    ]
    assert "      runs    node extension.mjs" in lines
    asked()
    assert capsys.readouterr().err == ""
