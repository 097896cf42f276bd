"""The flags of a run as its trace keeps them: without secrets, and without texts for the model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SECRET = frozenset({"api_key", "system_prompt", "append_system_prompt"})
"""Fields of which only the name is kept."""
LENGTH = 300
"""Maximum number of characters of a value."""
LEFT_OUT = "…"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")


def kept_flags(fields: Iterable[str], values: Any, defaults: Any) -> dict[str, Any]:
    """The fields of the request `values` that differ from those of `defaults`, each with what is kept of its value."""
    given = ((name, getattr(values, name)) for name in fields)
    return {name: _kept(name, value) for name, value in given if value != getattr(defaults, name)}


def kept_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same for the parameters of a command: those that are set."""
    return {name: _kept(name, value) for name, value in given.items() if value or type(value) in (int, float)}


def _kept(name: str, value: Any) -> Any:
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    if isinstance(value, (tuple, list, frozenset, set)):
        return [_kept(name, each) for each in (value if isinstance(value, (tuple, list)) else sorted(value))]
    text = str(value).encode("utf-8", "replace").decode()
    if name in SECRET or text.lstrip().startswith("{"):
        return LEFT_OUT
    text = _ADDRESS.sub(lambda found: without_credentials(found[0]), text)
    return text if len(text) <= LENGTH else text[: LENGTH - 1] + LEFT_OUT


def without_credentials(url: str) -> str:
    """An address without the user's name, password, query and fragment, any of which may be a secret. A password may
    have any character, so all before the last @ is left out."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('#')[0].partition('?')[0]}"
