"""What the children of a host find in their environment."""

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
"""Handed to nobody, be it asked for: it opens this very host."""
HOST_SECRETS = NEVER | {
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
    "KIMI_API_KEY",
    "MOONSHOT_API_KEY",
}
"""Not handed to shell commands, and to extensions only if their manifests ask; zot hands everything over."""
MINIMAL = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL",
    "LANG", "LANGUAGE", "LC_*", "TZ",
    "TERM", "NO_COLOR",
    "TMPDIR", "TMP", "TEMP",
    "XDG_*", "ZOT_HOME",
    "SSL_CERT_*",
)  # fmt: skip
"""What every program may need and nobody needs to keep secret. Not the proxies: their addresses may hold passwords, and
only what talks to the network needs them. Not what changes how programs run, such as `LD_PRELOAD` or `PYTHONPATH`."""
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""What Python writes beside its modules would be a change of what was trusted."""


def child_environment() -> dict[str, str]:
    """For the host's own helpers and for shell commands: its environment without what is nobody else's business,
    provider keys and the rpc token."""
    return {name: value for name, value in os.environ.items() if name not in HOST_SECRETS}


def extension_environment(found: Found, config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """What of `environ` an extension gets. Pure.

    Secrets only if its manifest asks for them by name, and of the rest, under the policy minimal, only what is in
    `MINIMAL`, what the config allows and what the manifest asks for. Those of projects also get `NO_BYTECODE`.
    """
    got = {name: value for name, value in environ.items() if may_have(name, found.manifest, config)}
    return {**NO_BYTECODE, **got} if found.is_of_a_project else got


def may_have(name: str, manifest: Manifest, config: Config) -> bool:
    """Whether an extension gets this variable if the host has it."""
    if name in NEVER:
        return False
    if name in manifest.env:
        return True
    if is_secret(name, config):
        return False  # what `env_allow` allows to all is not meant to hand a key to each of them
    if policy_of(manifest, config) == "inherit":
        return True
    return name in config.env_allow or any(fnmatchcase(name, pattern) for pattern in MINIMAL)


def is_secret(name: str, config: Config) -> bool:
    """Whether it is kept from extensions that do not ask for it."""
    return name in HOST_SECRETS or any(fnmatchcase(name, pattern) for pattern in config.secrets)


def policy_of(manifest: Manifest, config: Config) -> EnvPolicy:
    """The config's, unless the manifest is stricter or the config leaves it to the manifest."""
    return "minimal" if "minimal" in (config.env_policy, manifest.env_policy) else "inherit"
