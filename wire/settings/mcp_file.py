"""The format of `.mcp.json` and `$ZOT_HOME/mcp.json`, in which people describe MCP servers. Pure.

Many programs read such files, and each has its own fields. Unknown fields are ignored and named, as in a manifest.
Every entry is checked by itself: a faulty one does not affect the others. Comments and commas behind the last item are
accepted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from wire.field_errors import explain, fault_steps
from wire.lenient_json import MARK, UNREADABLE, Place, Steps, fault_of, path_of, place_at, places_by_steps
from wire.manifest import NAME_PATTERN, VOCABULARY
from wire.settings.mcp_server import McpServer, server_name
from wire.suggestions import letters
from wire.unknown_fields import Guarding, UnknownField, Vocabulary, remark, short_name, split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STRING = rb'"(?:[^"\\\n]|\\[^\n])*"?'
_COMMENT = re.compile(_STRING + rb"|//[^\n]*|/\*(?s:.)*?(?:\*/|\Z)")
_COMMA = re.compile(_STRING + rb"|,(?=\s*[}\]])")
_SIGN = re.compile(rb"[^\r\n]")


def plain_json(text: bytes) -> bytes:
    """Returns the text without comments and trailing commas, which spaces replace: it is as long as `text` without its
    byte order mark."""
    return _COMMA.sub(_blank, _COMMENT.sub(_blank, text.removeprefix(MARK)))


def _blank(found: re.Match[bytes]) -> bytes:
    return found[0] if found[0].startswith(b'"') else _SIGN.sub(b" ", found[0])


TOP = ("mcpServers", "servers")
"""Names of the members with the servers; a file may have both."""
STDIO = frozenset({"stdio", "local"})
"""Types of servers that are programs with pipes; `local` is the word of another program."""
SERVERS_LIMIT = 500
"""Maximum number of servers in a file. Every run shows its user a line for each unusable server."""
LONGEST_S = 86_400.0
_NAME = re.compile(NAME_PATTERN)
_MAY_BE_REQUIRED = re.compile(rb'"required"\s{0,99}:\s{0,99}(?:true|"|1)')


class McpEntry(msgspec.Struct, frozen=True):
    """A server that can run if its variables are set."""

    key: str
    """Its name in the file."""
    name: str
    """Its name as an extension: `server_name` of the key."""
    server: McpServer
    unknown: tuple[UnknownField, ...] = ()
    """The unknown fields."""
    place: Place | None = None
    remarks: tuple[str, ...] = ()
    """Lines about values that probably mean something else."""
    given: dict[str, Any] = {}
    """The fields that are in the file, by their names in `McpServer`; missing ones have their default."""

    @property
    def remark(self) -> str:
        """One line for the user; empty without remarks."""
        return "; ".join([*([remark(self.unknown)] if self.unknown else ()), *self.remarks])

    @property
    def manifest_fields(self) -> dict[str, Any]:
        """Fields for the manifest of an extension, without those for which the dialect has defaults. `exec`, `args` and
        `env` are as in the file, not expanded."""
        server = self.server
        taken: dict[str, Any] = {
            name: self.given[name] for name in ("limits", "restart", "required", "description") if name in self.given
        }
        return {
            "name": self.name,
            "exec": server.command,
            "args": server.args,
            "env": server.variables,
            "env_policy": server.env_policy,
            "sessions": "private" if server.sessions == "leased" else server.sessions,
            "start": server.start,
            "idle_stop_s": server.idle_stop_s,
            "timeouts": _waits(server, self.given),
            **taken,
        }


class EntryFault(msgspec.Struct, frozen=True):
    """An entry that cannot be used, and why."""

    key: str
    name: str
    message: str
    """The text; it names the field, but neither the file nor the entry."""
    place: Place | None = None
    is_disabled: bool = False
    """Whether the entry is disabled."""
    may_be_needed: bool = False
    """Whether it may be a required server."""


class McpFile(msgspec.Struct, frozen=True):
    """The content of a file."""

    entries: tuple[McpEntry, ...]
    """The usable servers, in their order."""
    faults: tuple[EntryFault, ...] = ()
    remark: str = ""
    """A line that names the unknown fields of the file itself; empty without any."""


class McpFileError(ValueError):
    """The file cannot be used at all. The text says what is wrong, and where: `12:7: …`."""

    may_be_needed = False
    """Whether the file may have a required server."""

    def of(self, file: object) -> str:
        """`FILE:LINE:COLUMN: what is wrong`."""
        return f"{file}{':' if str(self)[:1].isdigit() else ': '}{self}"


_FILTERS = {
    "includeTools": split_words("includeTools include_tools enabledTools enabled_tools"),
    "excludeTools": split_words("excludeTools exclude_tools disabledTools disabled_tools"),
}
"""The spellings of the filters of tools. Several in one entry count together."""
_GUARDING = VOCABULARY.guarding
_OF_ENTRY = Vocabulary(
    known=frozenset({"$schema", *McpServer.__struct_encode_fields__}).union(*_FILTERS.values()),
    guarding={
        "disabled": Guarding(split_words("disable isdisabled")),
        "enabled": Guarding(split_words("enable isenabled")),
        "includeTools": Guarding(split_words("includetool allowedtools allowtools onlytools toolsallow toolallowlist")),
        "excludeTools": Guarding(split_words("excludetool blockedtools deniedtools denytools toolsdeny tooldenylist")),
        **{name: _GUARDING[name] for name in ("required", "limits", "env", "env_policy")},
    },
    inside={name: VOCABULARY.inside[name] for name in ("limits", "restart", "timeouts")},
)
_COMMANDS = ("comand", "commandline", "cmd", "exec", "executable", "program", "run")
"""Names that people give to `command`."""
_OF_FILE = Vocabulary(known=frozenset({"$schema", "inputs", *TOP}), guarding={})


def at(file: object, place: Place | None) -> str:
    """`FILE:LINE:COLUMN` for an error text."""
    return str(file) if place is None else f"{file}:{place.line}:{place.column}"


def parse_mcp(text: bytes) -> McpFile:
    """Reads a file. Raises `McpFileError` if it is no JSON, or has no servers."""
    plain = plain_json(text)
    try:
        whole = msgspec.json.decode(plain)
    except UNREADABLE as error:
        what, place = fault_of(plain, error)
        quoted = "" if place is None or not place.quoted else f" (the line: {place.quoted})"
        raise _file_error(f"this is no JSON: {what}{quoted}", place, plain) from None
    return _Reader(plain, whole).file()


class _FaultyEntryError(Exception):
    def __init__(self, message: str, *steps: str | int) -> None:
        super().__init__(message)
        self.steps = steps


class _Reader:
    def __init__(self, text: bytes, whole: Any) -> None:
        self._text = text
        self._whole = whole
        self._known_places: dict[Steps, int] | None = None

    def file(self) -> McpFile:
        whole = self._whole
        if not isinstance(whole, dict):
            raise _file_error('it must be an object, {"mcpServers": { … }}', place_at(self._text, 0), self._text)
        if whole and not any(name in whole for name in TOP):
            raise _file_error(
                'it has neither "mcpServers" nor "servers": write {"mcpServers": {NAME: { … }}}',
                place_at(self._text, 0),
                self._text,
            )
        twice = _find_repeated(self._text)
        entries: dict[str, McpEntry] = {}
        faults: list[EntryFault] = []
        for top in TOP:
            if top in twice.get((), ()):
                raise _file_error(f"{top} is there twice; make one of them", self._place((top,)), self._text)
            servers = whole.get(top, {})
            if not isinstance(servers, dict):
                raise _file_error(f"{top} must be an object: a server by its name", self._place((top,)), self._text)
            if len(servers) > SERVERS_LIMIT:
                said = f"{top} has {len(servers):,} servers, at most {SERVERS_LIMIT} can be in a file"
                raise _file_error(said, self._place((top,)), self._text)
            for key, fields in servers.items():
                try:
                    entry = self._entry((top, key), fields, twice)
                    if (other := entries.get(entry.name)) is not None:
                        raise _FaultyEntryError(_clash(entry, other))
                    entries[entry.name] = entry
                except _FaultyEntryError as error:
                    faults.append(self._fault((top, key), fields, error))
        return McpFile(tuple(entries.values()), tuple(faults), remark(_OF_FILE.unknown(whole)))

    def _entry(self, steps: tuple[str, str], fields: Any, twice: Mapping[Steps, frozenset[str]]) -> McpEntry:
        key = steps[1]
        name = server_name(key)
        if not _NAME.search(name):
            raise _FaultyEntryError("a server needs a name")
        if not isinstance(fields, dict):
            raise _FaultyEntryError('must be an object, {"command": …}')
        if key in twice.get(steps[:1], ()):
            raise _FaultyEntryError("it is there twice, and only one of them would count; remove the other")
        for inner in (steps, (*steps, "env")):
            for named in sorted(twice.get(inner, ()))[:1]:
                said = f"{path_of((*inner, named)[2:])} is there twice, and only one of them would count"
                raise _FaultyEntryError(f"{said}; remove the other", *inner[2:], named)
        unknown = _OF_ENTRY.unknown(fields)
        for each in unknown:
            if each.is_near_miss:
                raise _FaultyEntryError(
                    f"{each.place}: no such field; {each.hint} It is not started: such a slip would change what it"
                    " may do",
                    each.place,
                )
        if (why := _not_stdio(fields)) is not None:
            raise _FaultyEntryError(why, "type" if "type" in fields else "url")
        server, given = _convert(fields)
        remarks = tuple(_remarks(key, name, server))
        return McpEntry(key, name, server, tuple(unknown), self._place(steps), remarks, given)

    def _fault(self, steps: Steps, fields: Any, error: _FaultyEntryError) -> EntryFault:
        inner = (*steps, *error.steps)
        while len(inner) > len(steps) and self._place(inner) is None:
            inner = inner[:-1]
        is_object = isinstance(fields, dict)
        is_disabled = is_object and (fields.get("disabled") is True or fields.get("enabled") is False)
        key = str(steps[1])
        return EntryFault(
            key=key,
            name=server_name(key) or "?",
            message=str(error),
            place=self._place(inner),
            is_disabled=is_disabled,
            may_be_needed=is_object and not is_disabled and fields.get("required") not in (None, False, "false"),
        )

    def _place(self, steps: Steps) -> Place | None:
        if self._known_places is None:
            self._known_places = places_by_steps(self._text)
        found = self._known_places.get(steps)
        return None if found is None else place_at(self._text, found)


def _waits(server: McpServer, given: dict[str, Any]) -> dict[str, float]:
    """Returns the times that are set, in seconds, as `timeouts` of a manifest."""
    call = server.tool_timeout_sec or (None if server.timeout is None else server.timeout / 1000)
    said = {"hello": server.startup_timeout_sec, "tool_call": call}
    waits = {name: min(value, LONGEST_S) for name, value in said.items() if value is not None}
    waits.update(given.get("timeouts", {}))
    return waits


def _convert(fields: dict[str, Any]) -> tuple[McpServer, dict[str, Any]]:
    given = {name: value for name, value in fields.items() if value is not None}  # null is "not set" for some writers
    for name, spellings in _FILTERS.items():
        tools: list[Any] = []
        said = sorted(spellings & given.keys())
        for spelling in said:
            if not isinstance(value := given.pop(spelling), list) or not all(isinstance(tool, str) for tool in value):
                raise _FaultyEntryError(f"{spelling}: expected a list of names", spelling)
            tools += value
        if said:
            given[name] = tools
    for name, value in given["env"].items() if isinstance(given.get("env"), dict) else ():
        if not name or "=" in name or "\0" in name:
            raise _FaultyEntryError(f"env: {short_name(name)!r} is no name of a variable", "env", name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise _FaultyEntryError(f"env.{short_name(name)}: expected text or a number", "env", name)
    if given.get("command") == "":
        raise _FaultyEntryError("command must not be empty", "command")
    try:
        server = msgspec.convert(given, McpServer)
    except msgspec.ValidationError as error:
        steps = fault_steps(str(error))
        raise _FaultyEntryError(_explain(str(error), steps), *steps) from None
    return server, given


def _explain(fault: str, steps: Steps) -> str:
    if "matching regex" in fault:
        return f"{path_of(steps) or 'env'}: must not contain NUL"
    return explain(McpServer, fault).replace(" | null", "")


def _not_stdio(fields: dict[str, Any]) -> str | None:
    """Returns why the server cannot run here; None if it may run."""
    kind = fields.get("type")
    if kind is None and "command" in fields:
        return None
    if isinstance(kind, str) and kind in STDIO:
        return None
    address = next((fields[name] for name in ("url", "httpUrl", "serverUrl") if name in fields), None)
    if kind is None and address is None:
        others = [name for name in fields if letters(name) in _COMMANDS]
        return "command is required" + (f"; rename {short_name(others[0])!r}" if others else "")
    if kind is not None and not isinstance(kind, str):
        return None  # the conversion reports it
    said = f"its type is {short_name(kind)!r}" if kind is not None else "it has an address and no command"
    return f"{said}: only stdio servers can be run; a bridge makes one of it: npx -y mcp-remote URL"


def _remarks(key: str, name: str, server: McpServer) -> Iterator[str]:
    if key != name:
        yield f"it is called {name!r} here"
    if server.timeout is not None and server.timeout < 1000:
        yield f"timeout is in milliseconds: {server.timeout:g} is {server.timeout / 1000:g} s"


def _clash(entry: McpEntry, other: McpEntry) -> str:
    if entry.key == other.key:
        return f"the name {entry.key!r} is there twice, in mcpServers and in servers; the first counts"
    same = f"the name {entry.name!r} is that of {short_name(other.key)!r} too"
    return f"{same}; the first counts; rename the other"


def _find_repeated(text: bytes) -> dict[Steps, frozenset[str]]:
    """Returns the repeated names of the file, of its objects of servers, of each server and of its `env`, by the steps
    to each object. The text must be JSON."""

    def pairs(found: list[tuple[str, Any]]) -> _Object:
        made = _Object(found)
        if len(made) < len(found):
            made.twice = frozenset(name for name, count in Counter(name for name, _ in found).items() if count > 1)
        return made

    try:
        whole = json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return {}
    said: dict[Steps, frozenset[str]] = {}
    waiting: list[tuple[Steps, Any]] = [((), whole)]
    while waiting:
        steps, value = waiting.pop()
        if isinstance(value, _Object):
            if value.twice:
                said[steps] = value.twice
            if len(steps) < 3:
                waiting += [((*steps, name), inner) for name, inner in value.items()]
    return said


class _Object(dict[str, Any]):
    twice: frozenset[str] = frozenset()


def _file_error(message: str, place: Place | None, text: bytes) -> McpFileError:
    error = McpFileError(message if place is None else f"{place.line}:{place.column}: {message}")
    error.may_be_needed = _MAY_BE_REQUIRED.search(text) is not None
    return error
