"""Which variables of the host's environment an extension gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.discovery.environment import (
    CUSTOM_HEADERS,
    HOST_SECRETS,
    child_environment,
    extension_environment,
    given_secrets,
    is_secret,
    withheld_secrets,
)
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.home.config import Config
from wire.manifest import Limits, Manifest

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


def found(scope: Scope = Scope.GLOBAL, folder: str = "/home/extensions/x", **fields: Any) -> FoundExtension:
    return FoundExtension(Path(folder), manifest(**fields), scope)


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
        env_grant=st.dictionaries(st.sampled_from(["x", "y"]), st.lists(NAMES).map(tuple)),
    ),
)  # fmt: skip
def test_a_child_gets_only_variables_of_the_host_and_secrets_only_by_name(asks, config):
    got = extension_environment(FoundExtension(Path("/x"), asks, Scope.GLOBAL), config, HOST)
    assert got.items() <= HOST.items()
    assert "ZOTCORE_RPC_TOKEN" not in got
    assert set(got) & HOST_SECRETS <= {*asks.env, *config.env_grant.get("x", ())}
    assert set(asks.env) & set(HOST) - {"ZOTCORE_RPC_TOKEN"} <= set(got)
    by_name = {*asks.env, *config.env_grant.get("x", ())}
    assert set(got) & set(config.secrets) <= by_name
    assert given_secrets(asks, config, HOST) == sorted(name for name in got if is_secret(name, config, HOST[name]))
    assert not set(withheld_secrets(asks, config, HOST)) & set(got)
    if "minimal" not in (asks.env_policy, config.env_policy):
        assert {*withheld_secrets(asks, config, HOST), *got, "ZOTCORE_RPC_TOKEN"} == set(HOST), (
            "each is given or said to be kept"
        )


IN_A_PROJECT = "/work/.zot/extensions/x"


@pytest.mark.parametrize(
    ("extension", "is_told"),
    [
        (found(Scope.PROJECT, IN_A_PROJECT), True),
        (found(Scope.PROJECT, IN_A_PROJECT, env_policy="minimal"), True),
        (found(Scope.EXPLICIT, IN_A_PROJECT), True),
        (found(Scope.EXPLICIT, "/work/x"), False),
        (found(Scope.GLOBAL), False),
        (found(Scope.GLOBAL, limits=Limits(file_mb=1)), True),
        (found(Scope.GLOBAL, limits=Limits(rss_mb=100)), False),
    ],
    ids=["project", "project, minimal", "named, in a project", "named", "global", "small files", "other limits"],
)
def test_python_writes_no_bytecode_into_the_folders_of_projects_or_under_a_limit_on_files(extension, is_told):
    assert ("PYTHONDONTWRITEBYTECODE" in extension_environment(extension, Config(), HOST)) is is_told


def test_what_the_user_says_about_bytecode_holds():
    said = {"PYTHONDONTWRITEBYTECODE": ""}
    assert extension_environment(found(Scope.PROJECT, IN_A_PROJECT), Config(), said) == said


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [
        ({"exec": "node", "args": ("main.js",)}, True),
        ({"exec": "/usr/bin/npx", "args": ("server",), "env_policy": "minimal"}, True),
        ({"exec": "./main.mjs"}, True),
        ({"exec": "node", "args": ("--inspect", "main.js")}, False),
        ({"exec": "python3", "args": ("main.py",)}, False),
        ({"exec": "./node.py"}, False),
    ],
)
def test_node_opens_its_inspector_at_a_free_port(fields: dict[str, Any], is_told: bool):
    environment = extension_environment(found(**fields), Config(), HOST)
    assert environment.get("NODE_OPTIONS") == ("--inspect-port=0" if is_told else None)


def test_what_the_user_says_to_node_holds():
    said = {"NODE_OPTIONS": "--max-old-space-size=64"}
    assert extension_environment(found(exec="node"), Config(), said) == said


# --- what counts as a secret ----------------------------------------------------------------------------------------

SECRETS = """
    ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY GOOGLE_API_KEY MISTRAL_API_KEY OPENROUTER_API_KEY API_KEY
    gemini_api_key OPENAI_API_KEY_2 OPENAI_API_KEY_OLD MYAPIKEY TAVILY_API_KEYS
    GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN HF_TOKEN NPM_TOKEN NODE_AUTH_TOKEN SLACK_BOT_TOKEN VAULT_TOKEN CI_JOB_TOKEN TOKEN
    AWS_SESSION_TOKEN CLAUDE_CODE_OAUTH_TOKEN GITHUB_TOKEN_2 GITHUB_TOKEN2 npm_config__authToken
    npm_config_//registry/:_authToken TF_TOKEN_app_terraform_io AWS_BEARER_TOKEN_BEDROCK ACTIONS_RUNTIME_TOKEN
    AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID CLIENT_SECRET STRIPE_SECRET_KEY SECRET_KEY_BASE Secret AZURE_CLIENT_SECRET
    PGPASSWORD MYSQL_PWD MYSQL_ROOT_PASSWORD TWINE_PASSWORD PASSWORD DB_PASSWD SMTP_PASS BORG_PASSPHRASE SSHPASS
    ANSIBLE_VAULT_PASSWORD_FILE GOOGLE_APPLICATION_CREDENTIALS AWS_SHARED_CREDENTIALS_FILE GCP_CREDENTIALS_JSON
    SSH_PRIVATE_KEY GITHUB_APP_PRIVATE_KEY_PEM AZURE_STORAGE_KEY AZURE_STORAGE_CONNECTION_STRING RAILS_MASTER_KEY
    SUPABASE_SERVICE_ROLE_KEY NEW_RELIC_LICENSE_KEY DD_APP_KEY SOPS_AGE_KEY
    ANTHROPIC_CUSTOM_HEADERS ANTHROPIC_AUTH_TOKEN REDISCLI_AUTH COMPOSER_AUTH DOCKER_AUTH_CONFIG BW_SESSION
    OP_SESSION_my AZURE_DEVOPS_EXT_PAT CI_JOB_JWT SENTRY_DSN SLACK_WEBHOOK_URL
    OPENAI_KEY AZURE_OPENAI_KEY ANTHROPIC_KEY ALGOLIA_ADMIN_KEY TS_AUTHKEY DEEPL_AUTH_KEY AUTHORIZATION BASIC_AUTH
    OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS
    CONSUL_HTTP_AUTH DB_PWD ORACLE_PWD CI_JOB_JWT_V2 POETRY_PYPI_TOKEN_PYPI AWS_CREDS CREDS SESSION_COOKIE COOKIE
""".split()  # noqa: SIM905
PLAIN = """
    PATH HOME USER SHELL LANG LC_ALL TZ TERM PWD OLDPWD TMPDIR EDITOR PAGER VISUAL DISPLAY WAYLAND_DISPLAY SSH_AUTH_SOCK
    SSH_AGENT_PID SSH_ASKPASS GIT_ASKPASS SUDO_ASKPASS GPG_TTY GPG_AGENT_INFO GPG_KEY XAUTHORITY
    DBUS_SESSION_BUS_ADDRESS TOKENIZERS_PARALLELISM MAX_TOKENS CLAUDE_CODE_MAX_OUTPUT_TOKENS KEYBOARD XKB_DEFAULT_LAYOUT
    KUBECONFIG DOCKER_HOST AWS_REGION AWS_PROFILE AWS_DEFAULT_REGION VAULT_ADDR PGHOST PGUSER PGDATABASE PGPASSFILE
    HTTP_PROXY HTTPS_PROXY http_proxy NO_PROXY VIRTUAL_ENV PYTHONPATH NODE_PATH NODE_OPTIONS GOPATH CARGO_HOME JAVA_HOME
    COMPASS BYPASS PASSENGER PATCH MONKEY AUTHOR SSL_CERT_FILE SSLKEYLOGFILE REQUESTS_CA_BUNDLE LS_COLORS
    AWS_WEB_IDENTITY_TOKEN_FILE XDG_SESSION_ID XDG_ACTIVATION_TOKEN PASSWORD_STORE_DIR ZOT_HOST_TOKEN ZOT_HOME CI
    GITHUB_ACTIONS GITHUB_SHA GIT_AUTHOR_NAME GITHUB_TOKENS_URL COLORTERM STARSHIP_SESSION_KEY
""".split()  # noqa: SIM905


def test_secrets_are_told_by_their_names():
    assert len(SECRETS) > 60
    assert [name for name in SECRETS if not is_secret(name, Config())] == []
    assert [name for name in PLAIN if is_secret(name, Config())] == []


@given(
    st.sampled_from(["", "X_", "my_", "AWS_", "ÄÖ_"]),
    st.sampled_from(["_API_KEY", "_TOKEN", "_SECRET", "_SECRETS", "_SECRET_X", "PASSWORD", "PASSWORD_X", "_CREDENTIALS",
                     "_CREDENTIALS_X", "_PRIVATE_KEY", "_PRIVATE_KEY_X"]),
    st.sampled_from([str.upper, str.lower, str.title]),
)  # fmt: skip
def test_the_promised_patterns_in_any_letter_case(prefix, rest, cased):
    assert is_secret(cased(prefix + rest), Config())


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("DATABASE_URL", "postgres://me:pass@db:5432/x", True),
        ("DATABASE_URL", "postgres://db:5432/x", False),
        ("DATABASE_URL", "sqlite:///x.db", False),
        ("REDIS_URL", "redis://:pass@cache", True),
        ("PIP_INDEX_URL", "https://a1b2c3@pypi.example.org/simple", True),
        ("REPOSITORY", "https://user:@example.org/x.git", True),
        ("UPLOAD_URL", "https://store.example.org/x?sp=rw&sig=a%3D", True),
        ("FEED", "https://example.org/x?access_token=a1b2c3", True),
        ("FEED", "https://example.org/x?X-Amz-Signature=a1b2c3", True),
        ("FEED", "https://example.org/x?token=&tokens=3&design=1", False),
        ("SQL", "Server=db;User Id=me;Password=a1b2c3;", True),
        ("SHELL_STATE", "OLDPWD=/tmp", False),
        ("AI", "sk-ant-api03-a1b2c3", True),
        ("GIT", "ghp_a1b2c3", True),
        ("HEADER", "Bearer a1b2c3", True),
        ("JDBC_URL", "jdbc:postgresql://db/x?user=me&password=pass", True),
        ("PIP_INDEX_URL", "https://me:pass@pypi.example.org/simple", True),
        ("GIT_CONFIG_KEY_0", "url.https://me:pass@example.org/.insteadOf", True),
        ("GIT_CONFIG_VALUE_0", "Authorization: Basic eA==", True),
        ("GIT_CONFIG_VALUE_0", "AUTHORIZATION: basic eA==", True),
        ("GIT_CONFIG_VALUE_0", "authorization", False),
        ("DEPLOY", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", True),
        ("HTTPS_PROXY", "http://me:pass@proxy:3128", False),
        ("https_proxy", "http://me:pass@proxy:3128", False),
        ("HOMEPAGE", "https://example.org:8080/@me", False),
        ("GIT_URL", "ssh://git@example.org/x", False),
        ("PS1", r"\u@\h:\w$ ", False),
    ],
)
def test_a_password_within_a_value_makes_it_a_secret(name, value, is_one):
    assert is_secret(name, Config(), value) is is_one
    host = {name: value, "PATH": "/bin"}
    assert (name in extension_environment(found(), Config(), host)) is not is_one
    assert name in extension_environment(found(env=(name,)), Config(), host)


def test_the_config_grants_a_secret_to_one_extension():
    config = Config(env_grant={"x": ("OPENAI_API_KEY", "ZOTCORE_RPC_TOKEN"), "y": ("KIMI_API_KEY",)})
    assert given_to(config) - given_to() == {"OPENAI_API_KEY"}
    assert given_to(config, name="z") == given_to()
    minimal = Config(env_policy="minimal", env_grant={"x": ("EDITOR",)})
    assert given_to(minimal) - given_to(Config(env_policy="minimal")) == {"EDITOR"}


def test_helpers_of_the_host_get_no_secrets_either(monkeypatch):
    for name, value in HOST.items():
        monkeypatch.setenv(name, value)
    assert not HOST_SECRETS & set(child_environment())
    assert child_environment()["EDITOR"] == "value"
    assert set(child_environment(CUSTOM_HEADERS)) - set(child_environment()) == {CUSTOM_HEADERS}


def test_shell_commands_keep_the_secrets_of_the_user(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "value")
    assert child_environment()["GITHUB_TOKEN"] == "value"
