"""Which variables of the host's environment an extension gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.discovery.discover import Found, Scope
from supervisor.discovery.environment import HOST_SECRETS, child_environment, extension_environment
from supervisor.home.config import Config
from wire.manifest import Manifest

HOST = dict.fromkeys(
    [*HOST_SECRETS, "PATH", "HOME", "LC_ALL", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "ZOT_HOME", "EDITOR", "AWS_KEY",
     "AWS_REGION", "HTTPS_PROXY", "LD_PRELOAD", "BASH_FUNC_f%%"],
    "value",
)  # fmt: skip
NAMES = st.sampled_from([*HOST, "NOT_SET"])


def manifest(**fields: Any) -> Manifest:
    return Manifest(**{"name": "x", "exec": "x", **fields})


def given_to(config: Config | None = None, **fields: Any) -> set[str]:
    return set(extension_environment(found(**fields), config or Config(), HOST))


def found(scope: Scope = Scope.GLOBAL, folder: str = "/home/extensions/x", **fields: Any) -> Found:
    return Found(Path(folder), manifest(**fields), scope)


def test_everything_but_the_hosts_secrets_is_inherited():
    assert given_to() == set(HOST) - HOST_SECRETS


def test_a_secret_is_handed_over_if_it_is_asked_for_by_name():
    assert given_to(env=("OPENAI_API_KEY", "NOT_SET")) == set(HOST) - HOST_SECRETS | {"OPENAI_API_KEY"}


def test_what_the_config_calls_secret_is_kept_by_name_and_by_pattern():
    config = Config(secrets=("AWS_*", "EDITOR"))
    assert set(HOST) - HOST_SECRETS - given_to(config) == {"AWS_KEY", "AWS_REGION", "EDITOR"}
    assert set(HOST) - HOST_SECRETS - given_to(config, env=("AWS_KEY",)) == {"AWS_REGION", "EDITOR"}


@pytest.mark.parametrize("config", [Config(), Config(env_policy="minimal")], ids=["manifest", "config"])
def test_minimal_is_an_allow_list(config):
    fields = {} if config.env_policy == "minimal" else {"env_policy": "minimal"}
    assert given_to(config, **fields) == {"PATH", "HOME", "LC_ALL", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "ZOT_HOME"}


def test_what_minimal_is_widened_by():
    config = Config(env_policy="minimal", env_allow=("EDITOR", "OPENAI_API_KEY"))
    more = given_to(config, env=("HTTPS_PROXY",)) - given_to(Config(env_policy="minimal"))
    assert more == {"EDITOR", "HTTPS_PROXY"}, "env_allow hands no secret to all of them"


def test_a_manifest_cannot_widen_the_policy_of_the_config():
    assert given_to(Config(env_policy="minimal"), env_policy="inherit") == given_to(Config(env_policy="minimal"))


@given(
    st.builds(
        Manifest, name=st.just("x"), exec=st.just("x"), env=st.lists(NAMES).map(tuple),
        env_policy=st.sampled_from([None, "inherit", "minimal"]),
    ),
    st.builds(
        Config, secrets=st.lists(NAMES | st.just("AWS_*")).map(tuple), env_allow=st.lists(NAMES).map(tuple),
        env_policy=st.sampled_from(["inherit", "minimal"]),
    ),
)  # fmt: skip
def test_a_child_gets_only_variables_of_the_host_and_secrets_only_by_name(asks, config):
    got = extension_environment(Found(Path("/x"), asks, Scope.GLOBAL), config, HOST)
    assert got.items() <= HOST.items()
    assert "ZOTCORE_RPC_TOKEN" not in got
    assert set(got) & HOST_SECRETS <= set(asks.env)
    assert set(asks.env) & set(HOST) - {"ZOTCORE_RPC_TOKEN"} <= set(got)
    assert set(got) & set(config.secrets) <= set(asks.env)


IN_A_PROJECT = "/work/.zot/extensions/x"


@pytest.mark.parametrize(
    ("extension", "is_told"),
    [
        (found(Scope.PROJECT, IN_A_PROJECT), True),
        (found(Scope.PROJECT, IN_A_PROJECT, env_policy="minimal"), True),
        (found(Scope.EXPLICIT, IN_A_PROJECT), True),
        (found(Scope.EXPLICIT, "/work/x"), False),
        (found(Scope.GLOBAL), False),
    ],
    ids=["project", "project, minimal", "named, in a project", "named", "global"],
)
def test_python_does_not_write_into_the_folders_of_projects(extension, is_told):
    assert ("PYTHONDONTWRITEBYTECODE" in extension_environment(extension, Config(), HOST)) is is_told


def test_what_the_user_says_about_bytecode_holds():
    said = {"PYTHONDONTWRITEBYTECODE": ""}
    assert extension_environment(found(Scope.PROJECT, IN_A_PROJECT), Config(), said) == said


def test_helpers_of_the_host_get_no_secrets_either(monkeypatch):
    for name, value in HOST.items():
        monkeypatch.setenv(name, value)
    assert not HOST_SECRETS & set(child_environment())
    assert child_environment()["EDITOR"] == "value"
