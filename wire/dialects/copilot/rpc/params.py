"""Decodes the parameters of a request of the extension, and explains their faults to its author. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.dialects.host_calls import SendPrompt
from wire.field_errors import explain
from wire.lenient_json import UNREADABLE, reason, repair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

P = TypeVar("P", bound=msgspec.Struct)
_members = msgspec.json.Decoder(dict[str, Raw]).decode


class WrongParamsError(Exception):
    """A member is wrong; the text says which one and why."""


def reader(kind: type[P]) -> Callable[[Raw | UnsetType], P]:
    """Returns a function that decodes parameters of this kind and raises `WrongParamsError`. It ignores unknown
    members, and reads a string that was cut between surrogates with U+FFFD."""
    decode = msgspec.json.Decoder(kind).decode

    def read(params: Raw | UnsetType) -> P:
        text = _text_of(params)
        try:
            return decode(text)
        except UNREADABLE as error:
            wrong: Exception = error
        if not isinstance(wrong, msgspec.ValidationError) and (mended := repair(text)) is not None:
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
    """Returns the names of the members; an empty list if they cannot be read."""
    text = _text_of(params)
    for each in (text, repair(text)):
        try:
            return list(_members(each or b"{}"))
        except UNREADABLE:
            continue
    return []


def without_none(members: dict[str, Any]) -> dict[str, Any]:
    """Returns the members that have a value. In the SDK's types members are optional, but few may be null."""
    return {name: value for name, value in members.items() if value is not None}


FILES_LIMIT = 20
"""Maximum number of attachments of one prompt."""
_URL = re.compile(r"file://(?P<host>[^/]*)(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
_HERE = ("", "localhost")


class Attachment(msgspec.Struct, frozen=True):
    type: str
    path: str | None = None
    lineRange: Any = None  # noqa: N815


class Send(msgspec.Struct, frozen=True):
    """The parameters of `session.send`. The SDK knows those of the second group; they have no effect here."""

    prompt: str
    attachments: list[Attachment] | None = None

    agentMode: Any = None  # noqa: N815
    billable: Any = None
    displayPrompt: Any = None  # noqa: N815
    mode: str | None = None
    prepend: Any = None
    requestHeaders: Any = None  # noqa: N815
    requiredTool: Any = None  # noqa: N815
    responseFormat: Any = None  # noqa: N815
    source: Any = None
    wait: Any = None


_UNUSED = Send.__struct_fields__[2:]
_AS_HERE = {"mode": "enqueue", "agentMode": "interactive", "billable": True, "prepend": False, "wait": False}
"""Values of these parameters that are the host's behaviour anyway."""


def prompt_of(send: Send) -> SendPrompt:
    """Returns the prompt for the host. Raises `WrongParamsError`."""
    attachments = send.attachments or []
    if len(attachments) > FILES_LIMIT:
        raise WrongParamsError(f"attachments: {len(attachments)} of them, at most {FILES_LIMIT} are taken")
    files = tuple(_path(attachment, f"attachments[{index}]") for index, attachment in enumerate(attachments))
    if not send.prompt.strip() and not files:
        raise WrongParamsError("prompt: it is empty")
    return SendPrompt(send.prompt, files)


def without_effect(send: Send) -> Sequence[str]:
    """Returns the names of parameters without an effect: the prompt is queued, and files are sent whole."""
    unused = [
        name
        for name in _UNUSED
        if (value := getattr(send, name)) is not None and (name not in _AS_HERE or value != _AS_HERE[name])
    ]
    if any(attachment.lineRange is not None for attachment in send.attachments or ()):
        unused.append("attachments[].lineRange")
    return unused


def _path(attachment: Attachment, place: str) -> str:
    if attachment.type != "file":
        raise WrongParamsError(f"{place}.type: {attachment.type[:80]!r} is not supported here, only 'file' is")
    if not attachment.path:
        raise WrongParamsError(f"{place}.path: a file needs one")
    path = attachment.path
    if url := _URL.fullmatch(path):
        if url["host"].lower() not in _HERE:
            raise WrongParamsError(f"{place}.path: {path[:80]!r} is on another host")
        path = unquote(url["path"])
    if "\0" in path:
        raise WrongParamsError(f"{place}.path: it contains a NUL character")
    return path
