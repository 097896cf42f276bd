"""Kept fields of a request as the flags that had set them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wire.flags.flag import Flag


def told_flags(table: Iterable[Flag], kept: Mapping[str, Any]) -> list[str]:
    """Each kept field as `--flag VALUE`. Fields that are no flag of the table are told as `field VALUE`.
    A field is named as in the request for a run, or as the parameter of its flag."""
    flags = {name: flag for flag in table for name in (flag.name, flag.field or flag.name)}
    told: list[str] = []
    for field, value in kept.items():
        flag = flags.get(field)
        name = field if flag is None else flag.long
        if isinstance(value, bool):
            told.append(name)
        else:
            told += [f"{name} {each}" for each in (value if isinstance(value, list) else [value])]
    return told
