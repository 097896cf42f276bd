"""The parameters of a request of the extension: they are decoded here, and what is wrong with them is said in words for
its author. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.field_errors import explain
from wire.lenient_json import UNREADABLE, reason, repaired

if TYPE_CHECKING:
    from collections.abc import Callable

P = TypeVar("P", bound=msgspec.Struct)
_members = msgspec.json.Decoder(dict[str, Raw]).decode


class WrongParamsError(Exception):
    """The text says which member is wrong, and why."""


def reader(kind: type[P]) -> Callable[[Raw | UnsetType], P]:
    """A function that decodes parameters of this kind. It raises `WrongParamsError`. Unknown members are ignored, and a
    string that was cut between surrogates is read with U+FFFD."""
    decode = msgspec.json.Decoder(kind).decode

    def read(params: Raw | UnsetType) -> P:
        text = _text_of(params)
        try:
            return decode(text)
        except UNREADABLE as error:
            wrong: Exception = error
        if not isinstance(wrong, msgspec.ValidationError) and (mended := repaired(text)) is not None:
            try:
                return decode(mended)
            except UNREADABLE as error:
                wrong = error
        raise WrongParamsError(explain(kind, reason(wrong)))

    return read


def _text_of(params: Raw | UnsetType) -> bytes:
    text = b"" if params is UNSET else bytes(params).strip()
    return b"{}" if text in (b"", b"null") else text


def names_of(params: Raw | UnsetType) -> list[str]:
    """The names of the members; none if they cannot be read."""
    text = _text_of(params)
    for each in (text, repaired(text)):
        try:
            return list(_members(each or b"{}"))
        except UNREADABLE:
            continue
    return []


def without_none(members: dict[str, Any]) -> dict[str, Any]:
    """The members that have a value. The SDK's types know optional members, and few that may be null."""
    return {name: value for name, value in members.items() if value is not None}
