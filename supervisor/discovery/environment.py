"""Chooses the environment variables that the children of a host inherit."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.discovery.discover import Found
    from supervisor.home.config import Config
    from wire.manifest import EnvPolicy, Manifest

NEVER = frozenset({"ZOTCORE_RPC_TOKEN"})
"""No extension gets these, even if its manifest asks for them: this token gives access to the host itself."""
HOST_SECRETS = NEVER | {
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "KIMI_API_KEY",
    "MOONSHOT_API_KEY",
}
"""Shell commands do not get these; an extension gets them only if its manifest asks. zot passes all of them on."""
MINIMAL = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL",
    "LANG", "LANGUAGE", "LC_*", "TZ",
    "TERM", "NO_COLOR",
    "TMPDIR", "TMP", "TEMP",
    "XDG_*", "ZOT_HOME",
    "SSL_CERT_*",
)  # fmt: skip
"""Variables that any program may need and that hold no secrets. Proxies are left out: their addresses may contain
passwords, and only network programs need them. Variables that change how programs run, such as `LD_PRELOAD` or
`PYTHONPATH`, are left out too."""
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python then writes no files beside its modules: they would count as a change of the trusted content."""


def child_environment() -> dict[str, str]:
    """Returns the host's environment without provider keys and the rpc token. For the host's own helper processes and
    for shell commands."""
    return {name: value for name, value in os.environ.items() if name not in HOST_SECRETS}


def extension_environment(found: Found, config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables of `environ` that an extension gets. Pure.

    An extension gets secrets only if its manifest asks for them by name. Under the policy `minimal` it gets only those
    other variables that are in `MINIMAL`, that the config allows, or that the manifest asks for. An extension of a
    project also gets `NO_BYTECODE`.
    """
    allowed = {name: value for name, value in environ.items() if may_have(name, found.manifest, config)}
    return {**NO_BYTECODE, **allowed} if found.is_of_a_project else allowed


def may_have(name: str, manifest: Manifest, config: Config) -> bool:
    """Whether an extension gets this variable if the host has it."""
    if name in NEVER:
        return False
    if name in manifest.env:
        return True
    if is_secret(name, config):
        return False  # `env_allow` holds for all extensions: a secret in it would go to each of them
    if policy_of(manifest, config) == "inherit":
        return True
    return name in config.env_allow or any(fnmatchcase(name, pattern) for pattern in MINIMAL)


def is_secret(name: str, config: Config) -> bool:
    """Whether only extensions that ask for this variable get it."""
    return name in HOST_SECRETS or any(fnmatchcase(name, pattern) for pattern in config.secrets)


def policy_of(manifest: Manifest, config: Config) -> EnvPolicy:
    """Returns `minimal` if the config or the manifest says so, else `inherit`."""
    return "minimal" if "minimal" in (config.env_policy, manifest.env_policy) else "inherit"
