"""The variables of the user's environment that extensions get, and the messages about them."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.host_process import hosting
from tests.support.project_extension import put
from tests.support.replay_script import Script
from wire.exit_codes import Status


def warnings_of_a_run(zot, **popen) -> list[str]:
    return zot.replay(Script(zot.cwd).answer("Hi"), "--no-session", **popen).check(Status.OK).warnings


SECRETS = {"ANTHROPIC_API_KEY": "k", "ZOTCORE_RPC_TOKEN": "t", "AWS_SECRET": "s", "HARMLESS": "h", "LD_PRELOAD": ""}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manifest", "seen"),
    [
        ({}, {"HARMLESS", "LD_PRELOAD"}),
        ({"env": ["ANTHROPIC_API_KEY", "ZOTCORE_RPC_TOKEN"]}, {"HARMLESS", "LD_PRELOAD", "ANTHROPIC_API_KEY"}),
        ({"env_policy": "minimal", "env": ["AWS_SECRET"]}, {"AWS_SECRET"}),
    ],
    ids=["nothing asked", "asked by name", "minimal"],
)
def test_an_extension_gets_only_the_secrets_that_its_manifest_asks_for(zot, manifest, seen):
    zot.home.mkdir()
    (zot.home / "config.json").write_text('{"secrets": ["AWS_*"]}')
    child = put(zot, "env_dump", **manifest)
    zot.env.update(SECRETS)
    with hosting(zot, child) as host:
        names = set(json.loads(host.call("env")))
    assert names & set(SECRETS) == seen
    assert {"PATH", "ZOT_HOME", "ZOT_EXTENSION", "ZOT_HOST_TOKEN"} <= names


def test_what_the_question_says_of_the_environment_is_what_the_extension_gets(zot):
    put(zot, "env_dump", env=["JIRA_TOKEN", "NOT_SET"])
    zot.home.mkdir()
    (zot.home / "config.json").write_text('{"env_grant": {"env_dump": ["HF_TOKEN"]}}')
    zot.env |= dict.fromkeys(
        ("JIRA_TOKEN", "HF_TOKEN", "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "ZOTCORE_RPC_TOKEN"), "v-1"
    )
    shown = zot.run("ext", "trust", "env_dump").text
    said = {line.split()[0]: line.split(maxsplit=1)[1] for line in shown.splitlines()}
    assert said["asks"] == "for JIRA_TOKEN, NOT_SET"
    given = re.fullmatch(
        r"the secrets HF_TOKEN, JIRA_TOKEN, and (\d+) other variables of your environment", said["gets"]
    )
    assert given, shown
    kept = {"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "ZOTCORE_RPC_TOKEN"}
    assert said["not"] == f"{', '.join(sorted(kept))}: these are secrets"
    with hosting(zot) as host:
        names = set(json.loads(host.call("env")))
        errors = host.running.errors()
    assert not names & kept
    assert {"HF_TOKEN", "JIRA_TOKEN"} <= names
    assert (
        "extension env_dump starts without GITHUB_TOKEN (secrets by their names; shown once). zot ext info env_dump"
        in errors
    )
    (told,) = zot.run("ext", "info", "env_dump", "--json").json_lines
    assert told["secrets_given"] == ["HF_TOKEN", "JIRA_TOKEN"]
    assert told["secrets_withheld"] == ["ANTHROPIC_API_KEY", "GITHUB_TOKEN"]
    assert "v-1" not in shown + errors + zot.run("ext", "info", "env_dump").text


def test_a_run_says_once_what_was_withheld(zot):
    put(zot, "recorder", str(zot.folder / "r"), parent=zot.home / "extensions")
    zot.env["GITHUB_TOKEN"] = "v-1"
    (line,) = warnings_of_a_run(zot)
    assert line.startswith("zot: extension recorder starts without GITHUB_TOKEN (secrets by their names; shown once). ")
    assert warnings_of_a_run(zot) == []
    assert warnings_of_a_run(zot, env={"HF_TOKEN": "v-2"}) == [line.replace("GITHUB_TOKEN", "HF_TOKEN")]
