"""A misspelled field of a manifest or of config.json is never ignored without a word, and never lets a guard allow."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import extension
from tests.support.extension_scripts import PATIENT
from tests.support.replay_script import Script
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot


@pytest.fixture
def script(zot: Zot) -> Script:
    return Script(zot.cwd).answer("Hi")


def put(parent: Path, child: str = "echo", *args: str, **manifest: Any) -> Path:
    return extension(parent, child, *args, **{"timeouts": PATIENT, **manifest})


def test_a_guard_whose_on_failure_is_misspelled_ends_the_run(zot: Zot, script: Script) -> None:
    folder = put(zot.home / "extensions", "dies_in_intercept", onFailure="deny")
    outcome = zot.replay(script).check(Status.REQUIRED_EXTENSION)
    assert "may be required, or a guard whose failure means deny" in outcome.result.reason
    assert "onFailure: no such field; did you mean 'on_failure'?" in outcome.result.reason
    assert f"zot: extension load: {folder}: manifest: onFailure" in outcome.stderr
    assert outcome.of(events.AssistantMessage) == []


def test_a_faulty_manifest_of_another_extension_costs_only_itself(zot: Zot, script: Script) -> None:
    put(zot.home / "extensions", workers=0)
    put(zot.home / "extensions", "silent", onFailure="deny", enabled=False)
    outcome = zot.replay(script).check(Status.OK)
    assert "workers: expected int >= 1" in outcome.stderr
    strict = zot.replay(script, "--strict-guards").check(Status.BLOCKED)
    assert "with strict guards every extension must load" in strict.result.reason


def test_a_host_does_not_go_on_without_such_a_guard_either(zot: Zot) -> None:
    put(zot.home / "extensions", on_failrue="deny")
    outcome = zot.run("host")
    assert outcome.status == Status.REQUIRED_EXTENSION.exit_code
    assert "did you mean 'on_failure'?" in outcome.stderr


def test_install_refuses_a_near_miss_and_names_other_fields(zot: Zot, tmp_path: Path) -> None:
    refused = zot.run("ext", "install", put(tmp_path / "a", onFailure="deny"))
    assert refused.status == 1
    assert "onFailure: no such field; did you mean 'on_failure'?" in refused.stderr
    assert not (zot.home / "extensions" / "echo").exists()
    installed = zot.run("ext", "install", put(tmp_path / "b", prority=3))
    assert installed.status == 0
    assert "nothing reads the field 'prority' (did you mean 'priority'?)" in installed.stderr


def test_doctor_names_them(zot: Zot, tmp_path: Path) -> None:
    path = put(tmp_path / "a", prority=3)
    (record,) = zot.run("ext", "doctor", path, "--json").json_lines
    assert record["unknown_fields"] == [{"field": "prority", "did_you_mean": "priority"}]
    assert "nothing reads the field 'prority'" in json.dumps(record["findings"])
    bad = put(tmp_path / "b", onFailure="deny", limits={"rss": 5}, workers="many")
    (record,) = zot.run("ext", "doctor", bad, "--json").json_lines
    messages = [finding["message"] for finding in record["findings"]]
    assert len(messages) == 3
    assert all(finding["line"] == 1 and finding["column"] > 1 for finding in record["findings"])
    shown = zot.run("ext", "doctor", bad)
    assert shown.status == 1
    assert "extension.json:1:" in shown.text
    assert any(line.strip("| ") == "^" for line in shown.text.splitlines())
    (zot.home / "extensions").mkdir(parents=True)
    path.rename(zot.home / "extensions" / "echo")
    assert "nothing reads the field 'prority'" in zot.run("doctor").text


# --- config.json --------------------------------------------------------------------------------------------


def config(zot: Zot, **fields: Any) -> None:
    zot.home.mkdir(exist_ok=True)
    (zot.home / "config.json").write_text(json.dumps(fields))


def test_a_near_miss_in_the_config_is_a_usage_error(zot: Zot) -> None:
    config(zot, envPolicy="minimal")
    for command in (["host"], ["ext", "trust", "x"]):
        outcome = zot.run(*command)
        assert outcome.status == Status.USAGE.exit_code, command
        assert "envPolicy: no such field; did you mean 'env_policy'?" in " ".join(outcome.stderr.split())


def test_other_fields_of_the_config_are_one_warning(zot: Zot, script: Script) -> None:
    config(zot, theme="dark", colour="red", modle="x")
    outcome = zot.replay(script).check(Status.OK)
    said = [line for line in outcome.warnings if "nothing reads" in line]
    assert said == [
        f"zot: {zot.home / 'config.json'}: nothing reads the fields 'colour', 'modle' (did you mean 'model'?)"
    ]


def test_a_zot_user_of_another_provider_gets_a_word(zot: Zot) -> None:
    config(zot, provider="openai", model="gpt-5")
    key = {"ANTHROPIC_API_KEY": ""}
    outcome = zot.run("--json", "hello", "--no-session", env=key).check(Status.AUTHENTICATION)
    line = next(line for line in outcome.warnings if "openai" in line)
    assert line.startswith("zot: config.json: ignored provider 'openai' and model 'gpt-5'")
    assert "--provider anthropic" in line
    assert outcome.records[0].model != "gpt-5"
    meant = zot.run("--json", "hello", "--no-session", "--provider", "anthropic", env=key)
    assert "openai" not in meant.stderr


def test_model_and_reasoning_of_the_config_are_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agent.configure import prepare
    from agent.options import RunRequest

    (tmp_path / "config.json").write_text(
        json.dumps({"provider": "anthropic", "model": "claude-mine", "reasoning": "low"})
    )
    request = {"home": tmp_path, "cwd": os.fspath(tmp_path)}
    options = prepare(RunRequest(**request)).options
    assert (options.model, options.reasoning, options.remarks) == ("claude-mine", "low", ())
    options = prepare(RunRequest(**request, model="claude-flag", reasoning="high")).options
    assert (options.model, options.reasoning) == ("claude-flag", "high")
    (tmp_path / "config.json").write_text(json.dumps({"provider": "", "model": "", "reasoning": "off"}))
    options = prepare(RunRequest(**request)).options
    assert (options.reasoning, options.remarks, options.model.startswith("claude-")) == ("off", (), True)
