"""What `$ZOT_HOME/config.json` says about extensions. Its other fields belong to others and are left alone."""

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
    """For extensions whose manifests do not say."""
    secrets: tuple[str, ...] = ()
    """Further variables that extensions do not inherit: names, or patterns with `*`, such as `AWS_*`."""
    env_policy: EnvPolicy = "inherit"
    """For extensions whose manifests do not say; minimal holds for all."""
    env_allow: tuple[Variable, ...] = ()
    """Further variables that extensions under the policy minimal get."""


class ConfigError(ValueError):
    """The text names the file and what is wrong with it."""


_decoder = msgspec.json.Decoder(Config)


def load_config(home: Path) -> Config:
    """The defaults if there is no such file. Raises `ConfigError`: a limit that is not understood must not silently
    be none."""
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
