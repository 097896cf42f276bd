"""Chooses the environment variables that the children of a host inherit."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from wire.dialects.table import find_dialect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.home.config import Config
    from wire.manifest import EnvPolicy, Manifest

NEVER = frozenset({"ZOTCORE_RPC_TOKEN"})
"""No extension gets these, even if its manifest asks for them: this token gives access to the host itself."""
CUSTOM_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
"""Headers of each request to the model, often with a gateway's key. Only the process that calls the model gets them."""
HOST_SECRETS = NEVER | {
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    CUSTOM_HEADERS,
    "OPENAI_API_KEY",
    "KIMI_API_KEY",
    "MOONSHOT_API_KEY",
    "OLLAMA_API_KEY",
    "LM_API_TOKEN",
    "LLAMA_API_KEY",
    "VLLM_API_KEY",
    "LITELLM_API_KEY",
    "OPENROUTER_API_KEY",
    "AI_GATEWAY_API_KEY",
}
"""The host's own secrets: not even shell commands get them. zot passes on all of them."""
SECRET_PARTS = (
    "API_KEY", "APIKEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE_KEY", "ACCESS_KEY",
    "AUTHKEY", "AUTH_KEY", "AUTHORIZATION", "BEARER_TOKEN", "PYPI_TOKEN", "CONNECTION_STRING",
)  # fmt: skip
"""A variable with one of these anywhere in its name holds a secret. Letter case does not matter."""
SECRET_ENDINGS = (
    "TOKEN", "_PASS", "_PAT", "_JWT", "_DSN", "_CREDS", "_COOKIE", "_WEBHOOK", "_WEBHOOK_URL",
    "_MASTER_KEY", "_SIGNING_KEY", "_ENCRYPTION_KEY", "_ACCOUNT_KEY", "_STORAGE_KEY", "_SERVICE_KEY", "_ROLE_KEY",
    "_LICENSE_KEY", "_APP_KEY", "_AGE_KEY", "_UNSEAL_KEY", "_ADMIN_KEY", "_OPENAI_KEY", "_ANTHROPIC_KEY",
)  # fmt: skip
"""A variable holds a secret if its name has one of these endings, also before a number (`GITHUB_TOKEN_2`)."""
SECRET_BEGINNINGS = ("TF_TOKEN_", "OP_SESSION_")
SECRET_NAMES = frozenset(
    {"BASIC_AUTH", "BW_SESSION", "CI_JOB_JWT_V2", "COMPOSER_AUTH", "CONSUL_HTTP_AUTH", "DB_PWD", "DOCKER_AUTH_CONFIG",
     "LDAP_BINDPW", "MYSQL_PWD", "NPM_CONFIG__AUTH", "ORACLE_PWD", "OTEL_EXPORTER_OTLP_HEADERS",
     "OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
     "REDISCLI_AUTH", "SSHPASS"}
)  # fmt: skip
"""Secrets whose names follow no rule."""
TOKEN_BEGINNINGS = (
    "sk-ant-", "sk-proj-", "sk_live_", "rk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
    "xoxb-", "xoxp-", "xapp-", "pypi-", "Bearer ",
)  # fmt: skip
"""A value with one of these beginnings is a secret, whatever the variable's name."""
NOT_SECRET = ("ZOT_HOST_TOKEN", "XDG_ACTIVATION_TOKEN", "PASSWORD_STORE_")
"""Names, and beginnings of names, that only look like secrets: a mark on processes, a mark on windows, and the settings
of `pass`."""
MINIMAL = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL",
    "LANG", "LANGUAGE", "LC_*", "TZ",
    "TERM", "NO_COLOR",
    "TMPDIR", "TMP", "TEMP",
    "XDG_*", "ZOT_HOME",
    "SSL_CERT_*",
    "TRACEPARENT", "TRACESTATE",
)  # fmt: skip
"""Variables that any program may need and that hold no secrets. Proxies are left out: their addresses may contain
passwords, and only network programs need them. Variables that change how programs run, such as `LD_PRELOAD` or
`PYTHONPATH`, are left out too."""
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Keeps Python from writing files beside its modules. They would count as a change of the trusted content; and under a
limit on the size of files, Python before 3.14 keeps half a module, on which every later program of that Python fails.
"""

NODE_PROGRAMS = frozenset({"node", "nodejs", "npx", "npm", "pnpm", "pnpx", "yarn"})
NODE_SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".mts")
OWN_INSPECTOR = {"NODE_OPTIONS": "--inspect-port=0"}
"""Has Node open its inspector, which it does for a profile only, at a free port of this machine. At its usual port a
second inspector could not open."""

_more_secrets: set[str] = set()


def withhold(name: str) -> None:
    """Makes a variable one of the host's own secrets from now on, such as the key of a provider that the user added."""
    _more_secrets.add(name)


def child_environment(*wanted: str) -> dict[str, str]:
    """Returns the host's environment without the host's own secrets, but with the `wanted` ones. For shell commands and
    for the host's own helper processes."""
    secrets = HOST_SECRETS | _more_secrets
    return {name: value for name, value in os.environ.items() if name not in secrets or name in wanted}


def extension_environment(found: FoundExtension, config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables of `environ` that an extension gets. Pure.

    An extension gets a secret only if its manifest asks for it by name, or if the config grants it by name. Under the
    policy `minimal` it gets only those other variables that are in `MINIMAL`, that the config allows or grants, or that
    the manifest asks for. An extension of a project, or one with a limit on the size of its files, also gets
    `NO_BYTECODE`, and one that Node runs `OWN_INSPECTOR`, unless it has NODE_OPTIONS or opens its inspector itself. An
    MCP server of a file gets the `env` of its entry in any case.
    """
    allowed = {name: value for name, value in environ.items() if may_have(name, found.manifest, config, value)}
    is_limited = config.limit_rules.of(found.manifest.name, found.manifest.limits).file_mb is not None
    is_hashed = found.is_of_a_project and found.kind.has_folder
    ours = {**(NO_BYTECODE if is_hashed or is_limited else {}), **(OWN_INSPECTOR if _is_node(found.manifest) else {})}
    return {**ours, **allowed, **found.set_env}


def _is_node(manifest: Manifest) -> bool:
    """Whether Node runs the extension, and no argument opens its inspector."""
    name = manifest.exec.rpartition("/")[2]
    is_node = name in NODE_PROGRAMS or name.endswith(NODE_SCRIPTS)
    return is_node and not any(word.startswith("--inspect") for word in manifest.args or ())


def minimal_environment(config: Config, environ: Mapping[str, str], *more: str) -> dict[str, str]:
    """Returns the variables of `environ` that any program may need and that hold no secrets: those of `MINIMAL`, and
    those that one of the patterns `more` fits. Pure."""
    patterns = (*MINIMAL, *more)
    return {
        name: value
        for name, value in environ.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns) and not is_secret(name, config, value)
    }


def session_environment(found: FoundExtension, session_id: str) -> dict[str, str]:
    """Returns the variable with which extensions of some dialects find the session of their host; none for other ones.
    Without a session its value is empty: the host may have inherited the id of another session."""
    name = find_dialect(found.manifest.dialect).session_variable
    return {name: session_id} if name else {}


def may_have(name: str, manifest: Manifest, config: Config, value: str = "") -> bool:
    """Whether an extension gets this variable if the host has it, with this value."""
    if name in NEVER:
        return False
    if name in manifest.env or name in granted_names(manifest, config):
        return True
    if is_secret(name, config, value):
        return False  # `env_allow` holds for all extensions: a secret in it would go to each of them
    if policy_of(manifest, config) == "inherit":
        return True
    return name in config.env_allow or any(fnmatchcase(name, pattern) for pattern in MINIMAL)


def granted_names(manifest: Manifest, config: Config) -> tuple[str, ...]:
    """Returns the variables that the config grants to this extension by name."""
    return config.env_grant.get(manifest.name, ())


def given_secrets(manifest: Manifest, config: Config, environ: Mapping[str, str]) -> list[str]:
    """Returns the secrets of `environ` that an extension gets, sorted."""
    return sorted(
        name
        for name, value in environ.items()
        if is_secret(name, config, value) and may_have(name, manifest, config, value)
    )


def withheld_secrets(manifest: Manifest, config: Config, environ: Mapping[str, str]) -> list[str]:
    """Returns the secrets of `environ` that an extension does not get, and that it could be granted, sorted. Returns
    none under the policy `minimal`, where an extension gets only variables that are named."""
    if policy_of(manifest, config) == "minimal":
        return []
    return sorted(
        name for name, value in environ.items() if name not in NEVER and not may_have(name, manifest, config, value)
    )


def is_secret(name: str, config: Config, value: str = "") -> bool:
    """Whether an extension gets this variable only by name: by a rule for names, by the config, or because the value
    contains a password."""
    if name in HOST_SECRETS or any(fnmatchcase(name, pattern) for pattern in config.secrets):
        return True
    upper = name.upper()
    if upper.startswith(NOT_SECRET):
        return False
    return (
        upper in SECRET_NAMES
        or upper.startswith(SECRET_BEGINNINGS)
        or any(part in upper for part in SECRET_PARTS)
        or f"_{upper}".rstrip("0123456789").rstrip("_").endswith(SECRET_ENDINGS)
        or _holds_a_password(upper, value)
    )


def _holds_a_password(upper: str, value: str) -> bool:
    """Whether the value is or contains a token of a known kind, a URL or a connection string with a password, an
    authorization header or a private key. Addresses of proxies pass: programs that use the network need them."""
    if upper.endswith("_PROXY"):
        return False
    if value.startswith(TOKEN_BEGINNINGS):
        return True
    lower = value.lower()
    if not any(mark in lower for mark in ("://", "private key", "authorization", "password=", "pwd=")):
        return False
    return _secret_value().search(value) is not None


@cache
def _secret_value() -> re.Pattern[str]:
    """Compiled only if an extension starts."""
    return re.compile(
        r"://[^/?#\s:@]*:[^/?#\s@]+@"
        r"|(?i:https?)://[^/?#\s@]+@"  # there a user without a password is a token
        r"|://\S*[?&;](?i:(?:[a-z]+[-_])*(?:password|passwd|pwd|token|api_?key|secret|sig|signature))=[^&;\s]"
        r"|(?:^|;)\s*(?i:password|pwd)\s*=\s*[^;\s]"
        r"|\b(?i:authorization)\s*[:=]\s*\S"
        r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    )


def policy_of(manifest: Manifest, config: Config) -> EnvPolicy:
    """Returns `minimal` if the config or the manifest says so, else `inherit`."""
    return "minimal" if "minimal" in (config.env_policy, manifest.env_policy) else "inherit"
