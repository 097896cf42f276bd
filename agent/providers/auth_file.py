"""Keys in `$ZOT_HOME/auth.json`, which zot and this program share.

zot's format: `{"anthropic": {"api_key": "…"}, "additional_api_key_creds": {"openrouter": {"api_key": "…"}}}`. An entry
may have `oauth` (the tokens of a subscription) or `api_key_command` (a program that prints the key) instead of a key.
Neither is used here; both stay when another entry is changed. No error or message contains a part of a key.
"""

from __future__ import annotations

import json
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.home.safe_files import locked, read_file, replace_file
from supervisor.home.zot_home import private_folder
from wire.lenient_json import UNREADABLE, fault_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "auth.json"
MORE = "additional_api_key_creds"
"""The field with the entries of all providers without a field of their own."""
OWN_FIELDS = frozenset({"anthropic"})
"""The providers that have a field of their own in zot's file."""
MODE = 0o600
FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
LOCK_S = 5.0
"""Maximum wait for another program that changes the file, in seconds."""
_WORDS = {"api_key": "key", "oauth": "OAuth token", "api_key_command": "command for a key"}


class AuthFileError(ValueError):
    """The text names the file and the fault, and never has a part of the content."""


class Stored(msgspec.Struct, frozen=True):
    """The entry of one provider in the file."""

    key: str | None = None
    unused: str = ""
    """The kind of an entry that is no key, in words; "" for a key or an empty entry."""
    warning: str = ""
    """A line for the user about the file; "" if there is none."""

    def __repr__(self) -> str:
        return f"Stored(key={'…' if self.key else None}, unused={self.unused!r}, warning={self.warning!r})"


def read_stored(home: Path, provider: str) -> Stored:
    """The entry of this provider; an empty one if there is no file. Raises `AuthFileError`."""
    path = home / NAME
    content = _read(path)
    if content is None:
        return Stored()
    warning = ""
    if (mode := stat.S_IMODE(path.stat().st_mode)) & FOR_OTHERS:
        others = "other users may read it" if mode & (stat.S_IRGRP | stat.S_IROTH) else "other users may change it"
        warning = f"{path}: {others}; chmod 600 makes it yours alone"
    found = _find(content, provider, path)
    if found is None:
        return Stored(warning=warning)
    place, entry = found
    key = entry.get("api_key")
    if key is not None and not isinstance(key, str):
        raise AuthFileError(f"{path}: {place}.api_key: must be text")
    if key and key.strip():
        return Stored(key.strip(), warning=warning)
    return Stored(
        None, next((word for name, word in _WORDS.items() if name != "api_key" and entry.get(name)), ""), warning
    )


def store_key(home: Path, provider: str, key: str) -> None:
    """Replaces the provider's whole entry by this key; makes the file if there is none. Raises `AuthFileError`; the
    file is then unchanged."""
    with _edit(home / NAME) as content:
        found = _find(content, provider, home / NAME)
        entry = {name: value for name, value in (found[1] if found else {}).items() if name not in _WORDS}
        entry["api_key"] = key
        _container(content, provider, is_there=found is not None)[provider] = entry


def remove_entry(home: Path, provider: str) -> str:
    """Removes the provider's whole entry. Returns its kind in words; "" if there was none. Raises `AuthFileError`; the
    file is then unchanged."""
    path = home / NAME
    content = _read(path)
    if content is None or _find(content, provider, path) is None:
        return ""
    with _edit(path) as content:
        found = _find(content, provider, path)
        if found is None:
            return ""
        del _container(content, provider, is_there=True)[provider]
        return " and ".join(word for name, word in _WORDS.items() if found[1].get(name)) or "entry"


def _container(content: dict[str, Any], provider: str, *, is_there: bool) -> dict[str, Any]:
    """The object of the file for this provider's entry: the file itself or its `MORE`."""
    if provider in content if is_there else provider in OWN_FIELDS:
        return content
    more: dict[str, Any] = content.setdefault(MORE, {})
    return more


def _find(content: dict[str, Any], provider: str, path: Path) -> tuple[str, dict[str, Any]] | None:
    """The place and the entry of this provider; None without one. zot leaves an empty object in place of an entry."""
    more = content.get(MORE)
    if more is None:
        more = {}
    if not isinstance(more, dict):
        raise AuthFileError(f"{path}: {MORE}: must be an object")
    is_field = provider in content and provider != MORE
    entry = content[provider] if is_field else more.get(provider)
    place = provider if is_field else f"{MORE}.{provider}"
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise AuthFileError(f'{path}: {place}: must be an object, {{"api_key": "…"}}')
    return place, entry


def _read(path: Path) -> dict[str, Any] | None:
    try:
        text = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise AuthFileError(f"{path}: cannot be read: it is a link to a file that is not there") from None
        return None
    except OSError as error:
        raise AuthFileError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        content = msgspec.json.decode(text)  # its error has the place of the fault
        if isinstance(content, dict):
            content = json.loads(text)  # it keeps numbers of any size
    except UNREADABLE as error:
        what, place = fault_of(text, error)
        where = "" if place is None else f":{place.line}:{place.column}"
        raise AuthFileError(f"{path}{where}: {what}; fix it, or move it away and log in again") from None
    if not isinstance(content, dict):
        raise AuthFileError(f"{path}: must be an object; fix it, or move it away and log in again")
    return content


@contextmanager
def _edit(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the content for changes. It is written when the block ends without an error, if it has changed. A lock
    makes our programs take turns."""
    try:
        private_folder(path.parent)
        with locked(path, LOCK_S, MODE):
            content = _read(path) or {}
            before = json.dumps(content)
            yield content
            text = json.dumps(content, indent=2)
            if json.dumps(content) != before or not path.exists():
                # A link stays a link: the file that it names is replaced.
                replace_file(path.resolve(), f"{text}\n".encode(), MODE)
    except TimeoutError as error:
        raise AuthFileError(f"{path}: {error.strerror}; try again when it has ended") from None
    except OSError as error:
        raise AuthFileError(f"{path}: cannot be written: {error.strerror}; it is as it was") from None
