"""What an extension says with `session.send`: a prompt, and what goes with it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from wire.dialects.copilot.rpc.params import WrongParamsError
from wire.dialects.host_calls import SendPrompt

if TYPE_CHECKING:
    from collections.abc import Sequence

FILES_LIMIT = 20
"""Attachments of one prompt."""
_URL = re.compile(r"file://(?P<host>[^/]*)(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
_HERE = ("", "localhost")


class Attachment(msgspec.Struct, frozen=True):
    type: str
    path: str | None = None
    lineRange: Any = None  # noqa: N815


class Send(msgspec.Struct, frozen=True):
    """The parameters. Those of the second group are known to the SDK, and have no effect here."""

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
"""What the host does anyway."""


def prompt_of(send: Send) -> SendPrompt:
    """The prompt that the host is to carry out. Raises `WrongParamsError`."""
    attachments = send.attachments or []
    if len(attachments) > FILES_LIMIT:
        raise WrongParamsError(f"attachments: {len(attachments)} of them, at most {FILES_LIMIT} are taken")
    files = tuple(_path(attachment, f"attachments[{index}]") for index, attachment in enumerate(attachments))
    if not send.prompt.strip() and not files:
        raise WrongParamsError("prompt: it is empty")
    return SendPrompt(send.prompt, files)


def without_effect(send: Send) -> Sequence[str]:
    """The names of what was asked for and has no effect: the prompt waits its turn, and files go whole."""
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
