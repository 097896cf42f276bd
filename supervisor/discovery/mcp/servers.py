"""Makes extensions of the entries in files of MCP servers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from supervisor.discovery.environment import NEVER, is_secret
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.kind import ExtensionKind
from supervisor.discovery.mcp import entry_hash  # noqa: F401  (a judgement in a reload imports nothing)
from supervisor.discovery.skipped_extension import SkippedExtension, SkipReason
from supervisor.home.config import Config
from supervisor.home.safe_files import read_file
from wire.dialects.table import with_defaults
from wire.manifest import Manifest, ManifestError
from wire.settings.mcp_file import McpFileError, at, parse_mcp
from wire.settings.mcp_server import ExpansionError, expand, variables_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wire.settings.mcp_file import EntryFault, McpEntry, McpFile

DIALECT = ExtensionKind.MCP.dialect
LIMIT = 1 << 20
"""Maximum size of a file in bytes. People write these files."""


def read_servers(
    file: Path, scope: Scope, workspace: Path, position: int = 0
) -> list[FoundExtension | SkippedExtension]:
    """The servers of a file in their order, not expanded, and the unusable entries. Raises nothing."""
    try:
        parsed = parse_file(file)
    except ManifestError as error:
        why, named, needed = SkipReason(str(error)), scope is Scope.EXPLICIT, error.may_be_needed
        return [
            SkippedExtension(file, why, ExtensionKind.MCP_FILE, is_named=named, may_be_needed=needed, mcp_file=file)
        ]
    found = [as_extension(file, entry, scope, workspace, position) for entry in parsed.entries]
    if parsed.remark and found:
        found[0] = _add_remark(found[0], f"{file}: {parsed.remark}")
    return [*found, *(_skip(file, fault) for fault in parsed.faults)]


def read_again(found: FoundExtension, environ: Mapping[str, str]) -> FoundExtension:
    """The server from its file's present entry, expanded. Raises `ManifestError`, also if the entry is missing."""
    assert found.mcp_file is not None
    assert found.workspace is not None
    file, name = found.mcp_file, found.manifest.name
    parsed = parse_file(file)
    for entry in parsed.entries:
        if entry.name == name:
            now = as_extension(file, entry, found.scope, found.workspace, found.position)
            made = expand_variables(now, environ) if now.manifest.is_enabled else now
            if isinstance(made, str):
                raise ManifestError(f"{file}: {made}")
            return made
    for fault in parsed.faults:
        if fault.name == name:
            raise ManifestError(f"{at(file, fault.place)}: {fault.message}")
    raise ManifestError(f"{file} no longer has a server {name!r}")


def is_same(old: FoundExtension, new: FoundExtension) -> bool:
    """Whether two servers would be started in the same way."""
    return _start_of(old) == _start_of(new)


def _start_of(found: FoundExtension) -> tuple[Any, ...]:
    return found.manifest, found.folder, found.command, found.set_env, found.options


def expand_variables(found: FoundExtension, environ: Mapping[str, str]) -> FoundExtension | str:
    """The server with the values of its variables; or why it cannot be started."""
    assert found.mcp_entry is not None
    server, workspace = found.mcp_entry.server, str(found.workspace)
    held = {name: value for name, value in environ.items() if name not in NEVER}

    def value(text: str, what: str) -> str:
        try:
            return expand(text, held, workspace)
        except ExpansionError as error:
            raise ExpansionError(f"{what}: {error}") from None

    try:
        command = value(server.command, "command")
        args = [value(arg, f"args[{number}]") for number, arg in enumerate(server.args)]
        env = {name: value(str(text), f"env.{name}") for name, text in server.env.items()}
        cwd = value(server.cwd, "cwd") if server.cwd is not None else ""
    except ExpansionError as error:
        return str(error)
    if not command:
        return f"command: {server.command} is empty"
    if any("\0" in text for text in (command, *args, *env.values(), cwd)):
        return "a value with a NUL in it cannot be handed over"
    folder = Path(os.path.abspath(os.path.join(workspace, os.path.expanduser(cwd))))
    made = replace(found, folder=folder, command=(command, *args), set_env=env)
    said = _secrets_in_args(found.mcp_entry, environ)
    return _add_remark(made, said) if said else made


def _secrets_in_args(entry: McpEntry, environ: Mapping[str, str]) -> str:
    """Names the secrets of the environment that are in the command line; empty if none is."""
    server = entry.server
    words = dict.fromkeys(name for word in (server.command, *server.args) for name in variables_in(word))
    secrets = [name for name in words if name in environ and is_secret(name, Config(), environ[name])]
    if not secrets:
        return ""
    return f"{', '.join(secrets)} in args can be seen by every user of this machine (ps); put it into env if it can be"


def as_extension(file: Path, entry: McpEntry, scope: Scope, workspace: Path, position: int = 0) -> FoundExtension:
    """The server of an entry as an extension, not expanded."""
    server = entry.server
    options: dict[str, Any] = {"instructions": server.instructions}
    if server.include_tools is not None:
        options["include_tools"] = server.include_tools
    if server.exclude_tools:
        options["exclude_tools"] = server.exclude_tools
    return FoundExtension(
        workspace if server.cwd is None else Path(os.path.join(workspace, server.cwd)),
        _manifest(file, entry),
        scope,
        position,
        options=options,
        mcp_file=file,
        mcp_entry=entry,
        workspace=workspace,
    )


def _manifest(file: Path, entry: McpEntry) -> Manifest:
    fields = {**entry.manifest_fields, "dialect": DIALECT, "enabled": None if entry.server.is_enabled else False}
    manifest: Manifest = msgspec.convert(with_defaults(DIALECT, fields), Manifest)
    return _with_remark(manifest, f"{at(file, entry.place)}: {entry.remark}" if entry.remark else "")


def _add_remark(found: FoundExtension, line: str) -> FoundExtension:
    """The server with one more line for its user."""
    told = found.manifest.remark
    return replace(found, manifest=_with_remark(found.manifest, f"{told}; {line}" if told else line))


def _with_remark(manifest: Manifest, line: str) -> Manifest:
    copied = replace(manifest)
    copied.__dict__["told"] = line
    return copied


def parse_file(file: Path) -> McpFile:
    """Raises `ManifestError`; its text names the file and the place."""
    try:
        return parse_mcp(read_file(file, LIMIT))
    except McpFileError as error:
        failed = ManifestError(error.of(file))
        failed.may_be_needed = error.may_be_needed
    except OSError as error:
        failed = ManifestError(f"{file}: cannot be read: {error.strerror}")
        failed.may_be_needed = not isinstance(error, FileNotFoundError)
    raise failed


def _skip(file: Path, fault: EntryFault) -> SkippedExtension:
    return SkippedExtension(
        file / fault.name,
        SkipReason(f"{at(file, fault.place)}: {fault.message}"),
        ExtensionKind.MCP,
        is_error=not fault.is_disabled,
        may_be_needed=fault.may_be_needed,
        mcp_file=file,
    )


REASON = "it is zot mcp serve for this project, whose extensions zot starts itself"
_PROGRAMS = ("zot", "pyzot")
_OTHERS = ("--host", "--no-ext", "--no-extensions")
"""Flags that change which extensions are served."""


def is_itself(found: FoundExtension) -> bool:
    """Whether an expanded server is `zot mcp serve` with the extensions of the project in whose folder it is found."""
    if found.workspace is None or (flags := _flags(found.command or ())) is None:
        return False
    if any(flag.partition("=")[0] in _OTHERS for flag in flags):
        return False
    folder = found.folder / _folder(flags)
    return os.path.realpath(folder) == os.path.realpath(found.workspace)


def _flags(words: Sequence[str]) -> Sequence[str] | None:
    """The words behind `zot mcp serve`; None if the command is another one."""
    for index in range(len(words) - 2):
        if Path(words[index]).name in _PROGRAMS and words[index + 1 : index + 3] == ("mcp", "serve"):
            return words[index + 3 :]
    return None


def _folder(flags: Sequence[str]) -> str:
    """The value of `--cwd`; "" without it."""
    value = ""
    for index, flag in enumerate(flags):
        if flag == "--cwd":
            value = flags[index + 1] if index + 1 < len(flags) else ""
        elif flag.startswith("--cwd="):
            value = flag.removeprefix("--cwd=")
    return value
