"""The settings for extensions in `$ZOT_HOME/config.json`. Fields of other programs in it are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wire.field_errors import explain
from wire.lenient_json import UNREADABLE, reason
from wire.manifest import EnvPolicy, Limits, Variable

if TYPE_CHECKING:
    from pathlib import Path

NAME = "config.json"


class Config(msgspec.Struct, frozen=True):
    limits: Limits = msgspec.field(default_factory=Limits)
    """Limits for extensions whose manifests set none."""
    secrets: tuple[str, ...] = ()
    """Further variables that extensions do not inherit: names, or patterns with `*`, such as `AWS_*`."""
    env_policy: EnvPolicy = "inherit"
    """The policy for extensions whose manifests set none; `minimal` holds for all extensions."""
    env_allow: tuple[Variable, ...] = ()
    """Further variables that extensions get under the policy `minimal`; none of them may be a secret."""
    env_grant: dict[str, tuple[Variable, ...]] = {}
    """Variables that one extension gets, by the extension's name, even if they are secrets: `{"desk": ["JIRA_TOKEN"]}`.
    """


class ConfigError(ValueError):
    """The text names the file and its fault."""


_decoder = msgspec.json.Decoder(Config)


def load_config(home: Path) -> Config:
    """Reads the settings; returns the defaults if the file does not exist. Raises `ConfigError`, since a faulty limit
    must not be ignored silently."""
    path = home / NAME
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {explain(Config, str(error))}") from None
    except UNREADABLE as error:
        raise ConfigError(f"{path}: {reason(error)}") from None
