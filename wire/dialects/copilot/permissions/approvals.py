"""What a permission handler has approved for the rest of the session: of which calls it is not asked again. Pure.

The `approval` of the answer says what:

    commands               shell requests whose programs are all among `commandIdentifiers`
    read                   read requests
    write                  write requests
    custom-tool            requests about the tool `toolName`
    extension-management   requests about `operation`, or the one that it was asked about
    none                   requests like this one, in all members

It holds for requests of the kind that the handler was asked about, and is at most what Copilot means by it. Files have
to be in the working folder: there Copilot asks about others besides. Commands have to be plain words, without a
redirection into a file, a URL, a pattern, an option with a path in it, or a path out of that folder. Of `git` and `gh`
the word behind them has to be the same: it belongs to their identifiers there.
"""

from __future__ import annotations

import posixpath
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from wire.dialects.jsonrpc import encode
from wire.dialects.shell_words import plain_words
from wire.suggest import some
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wire.dialects.shell_words import PlainWords

LIMIT = 1_000
"""Approvals that are remembered. Of what goes beyond it the handler is asked each time."""
WITH_SUBCOMMANDS = frozenset({"git", "gh"})
"""Programs that are approved together with the word behind them: `git status`."""
KINDS = ("commands", "read", "write", "custom-tool", "extension-management")
"""Of approvals that are remembered. The others are about what nobody is asked here."""
NAME_LIMIT = 256
"""Characters of a name that is remembered."""
SHOWN = 80
"""Characters of a name in words about an approval."""
_NAMES = {"custom-tool": "toolName", "extension-management": "operation"}
"""The member that a request and an approval of these kinds must have in common."""
_SAME = "the same call"
_PATTERN = re.compile(r"[*?\[\]{}]")
"""What a shell makes other paths of."""
_PARTS = re.compile(r"[=:,@]")
"""Behind these a word may have a path in it: `of=/etc/hosts`, `host:/etc`, `@/etc/passwd`."""
_WALKS = frozenset({"cd", "pushd", "popd"})
"""Programs that lead out of the folder if they get no path: paths behind them are others then."""
_LEADS_OUT = re.compile(r"[/~*?\[\]{}]|\.\.")
"""In an option: it may have a path in it."""


class Approvals:
    """What one process has approved for the session. `cwd` is the working folder."""

    __slots__ = ("_cwd", "_known")

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._known: set[tuple[str, str]] = set()

    def remember(self, request: dict[str, Any], approval: Any) -> str:
        """Remembers what the answer to this request approves besides the call itself. Returns that in words, "" if it
        is nothing. `approval` is the member of the answer, None if it has none."""
        found = [(_SAME, _digest(request))] if approval is None else list(_approved(request, approval))
        found = found[: max(0, LIMIT - len(self._known))]
        self._known.update(found)
        if not found:
            return ""
        kind = found[0][0]
        names = [] if kind == _SAME else [name for _, name in found if name]
        return f"{kind} {some([one_line(name, SHOWN) for name in names])}" if names else kind

    def covers(self, request: dict[str, Any]) -> bool:
        """Whether the call of this request was approved."""
        known, kind = self._known, request["kind"]
        if not known:
            return False
        if kind == "shell" and (programs := self._programs(request)):
            covered = all(("commands", each) in known for each in programs)
        elif kind in ("read", "write"):
            covered = (kind, "") in known and self._holds(request["path" if kind == "read" else "fileName"])
        else:
            covered = kind in _NAMES and (kind, request[_NAMES[kind]]) in known
        return covered or (_SAME, _digest(request)) in known

    def _programs(self, request: dict[str, Any]) -> list[str]:
        """The programs of a command that an approval can cover; [] if none can."""
        words = plain_words(request["fullCommandText"]) if request["canOfferSessionApproval"] else None
        if words is None or any(map(_LEADS_OUT.search, words.options)) or any(map(_goes_elsewhere, words.programs)):
            return []
        parts = (part for path in words.paths for part in (path, *_PARTS.split(path)))
        return _identifiers(words) if all(map(self._is_inside, parts)) else []

    def _is_inside(self, path: str) -> bool:
        """Whether a word of a command is a file in the working folder, whatever the shell makes of it."""
        return not path.startswith("~") and not _PATTERN.search(path) and self._holds(path)

    def _holds(self, path: str) -> bool:
        """Whether this is a file in the working folder."""
        if not self._cwd:
            return False
        whole = posixpath.normpath(posixpath.join(self._cwd, path))
        return whole == self._cwd or whole.startswith(self._cwd.rstrip("/") + "/")


def _approved(request: dict[str, Any], approval: Any) -> Iterator[tuple[str, str]]:
    kind = approval.get("kind") if isinstance(approval, dict) else None
    if not isinstance(kind, str) or kind not in KINDS or ("shell" if kind == "commands" else kind) != request["kind"]:
        return
    if kind == "commands":
        given = approval.get("commandIdentifiers")
        words = plain_words(request["fullCommandText"])
        asked = [] if words is None else _identifiers(words)
        for identifier in given if isinstance(given, list) else ():
            if not _is_name(identifier):
                continue
            if _has_subcommands(identifier):
                yield from ((kind, each) for each in asked if each.startswith(identifier + " "))
            else:
                yield kind, identifier
    elif kind in _NAMES:
        name = approval.get(_NAMES[kind], request["operation"] if kind == "extension-management" else None)
        if _is_name(name):
            yield kind, name
    else:
        yield kind, ""


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= NAME_LIMIT


def _identifiers(words: PlainWords) -> list[str]:
    """The programs of a command, some with the word behind them; [] if one of those has none."""
    found: list[str] = []
    for program, following in words.programs:
        if not _has_subcommands(program):
            found.append(program)
        elif following and not following.startswith("-"):
            found.append(f"{program} {following}")
        else:
            return []
    return found


def _goes_elsewhere(program: tuple[str, str]) -> bool:
    name, following = program
    return name in _WALKS and (not following or following.startswith("-"))


def _has_subcommands(program: str) -> bool:
    return program.rpartition("/")[2] in WITH_SUBCOMMANDS


def _digest(request: dict[str, Any]) -> str:
    same = {name: value for name, value in request.items() if name != "toolCallId"}
    return sha256(encode(same)).hexdigest()
