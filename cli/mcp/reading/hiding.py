"""Texts of an entry for a screen: what looks like a secret is not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.discovery.environment import is_secret
from wire.settings.mcp_server import variables_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.home.config import Config

HIDDEN = "(hidden)"


def is_literal_secret(name: str, value: str, config: Config) -> bool:
    """Whether the file itself has a secret: the value of a variable of this name, without a `${VAR}` in it."""
    return bool(value) and not any(variables_in(value)) and is_secret(name, config, value)


def hidden_value(name: str, value: str, config: Config) -> str:
    """The value of a variable, or `HIDDEN`. A `${VAR}` as it is written is no secret."""
    return HIDDEN if is_literal_secret(name, value, config) else value


def hidden_arguments(args: Iterable[str], config: Config) -> list[str]:
    """The arguments, without the values of flags that are called like secrets: `--api-key X`, `--token=X`."""
    shown, is_next_secret = [], False
    for arg in args:
        name, equals, value = arg.partition("=")
        variable = name.lstrip("-").upper().replace("-", "_")
        is_flag = arg.startswith("-")
        if is_next_secret and not is_flag:
            shown.append(hidden_value("TOKEN", arg, config))
        elif is_flag and equals:
            shown.append(f"{name}={hidden_value(variable, value, config)}")
        else:
            shown.append(hidden_value("", arg, config))
        is_next_secret = is_flag and not equals and bool(variable) and is_secret(variable, config)
    return shown
