"""All dialects by their name in the field `dialect` of a manifest. All but zot's are imported at their first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wire.dialects import zot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.dialects.base import Dialect

ZOT = "zot"
"""The dialect of a manifest without `dialect`."""
MODULES = {
    ZOT: zot.__name__,
    "mcp": "wire.dialects.mcp.dialect",
    "copilot": "wire.dialects.copilot.dialect",
}
"""The module of each dialect. Its `DIALECT` is the dialect."""


def add(name: str, module: str) -> None:
    """Adds a dialect to the table of this process; to be called before a manifest names it. Raises `ValueError` if the
    name has another module."""
    if MODULES.setdefault(name, module) != module:
        raise ValueError(f"the dialect {name} is that of {MODULES[name]}")


def find_dialect(name: str) -> Dialect:
    """Returns the dialect with this name. Raises `KeyError`."""
    found: Dialect = import_module(MODULES[name]).DIALECT
    return found


def with_defaults(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of a manifest, with the dialect's defaults for missing and null ones."""
    filled = dict(fields)
    for field, default in find_dialect(name).manifest_defaults.items():
        value = filled.get(field)
        filled[field] = {**default, **value} if isinstance(value, dict) else default if value is None else value
    return filled
