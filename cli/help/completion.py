"""Names that a shell offers when a person presses Tab: of extensions, hosts, models, sessions, runs, schemas
and commands.

Each function here gets the context of the command and the beginning of the word. It never raises and prints nothing,
since a shell would show that in the middle of the line. It asks running hosts for a moment only, and imports what it
needs when it is called: most commands never complete anything.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002  (it reads the annotations)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from agent.providers.user_models import KnownModels

ANSWER_S = 0.3
"""Seconds to wait for one host."""
HOSTS_S = 1.0
"""Seconds to wait for all hosts together, about."""
NEWEST_RUNS = 50
SAFE = re.compile(r"[\w.+@/][\w.+@:/-]*")
"""Only such names are offered. bash expands `*` in what it gets, and zsh evaluates it."""


def _completer(names: Callable[[typer.Context], Iterable[str]]) -> Any:
    """Makes a completer of a function that gives all names."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            given = {word for value in ctx.params.values() if isinstance(value, list | tuple) for word in value}
            return sorted({name for name in names(ctx) if name.startswith(incomplete) and SAFE.fullmatch(name)} - given)
        except Exception:
            return []

    complete.__doc__ = names.__doc__
    return complete


@_completer
def installed_extensions(ctx: typer.Context) -> Iterator[str]:
    """Extensions of the user and of the project; for `enable` disabled ones, for `disable` enabled ones."""
    wanted = {"enable": False, "disable": True}.get(ctx.info_name or "")
    for name, is_enabled in _find_installed(ctx):
        if wanted is None or is_enabled is wanted:
            yield name


@_completer
def project_extensions(ctx: typer.Context) -> Iterator[str]:
    """Extensions of the project."""
    for name, _ in _find_installed(ctx, with_user=False):
        yield name


@_completer
def live_extensions(ctx: typer.Context) -> Iterator[str]:
    """Extensions of the host of `--host`, or of all running hosts; for `logs` extensions with a log."""
    if ctx.info_name == "logs":
        from supervisor.home.zot_home import zot_home

        for file in (zot_home() / "logs").glob("ext-*.log"):
            yield file.name.removeprefix("ext-").removesuffix(".log")
        return
    pid = ctx.params.get("pid")
    for host in _hosts():
        if pid in (None, host.pid):
            yield from host.extensions


@_completer
def hosts(_ctx: typer.Context) -> Iterator[str]:
    """The pids of the running hosts."""
    for host in _hosts():
        yield str(host.pid)


@_completer
def models(_ctx: typer.Context) -> Iterator[str]:
    """The models that are known: the packaged ones, and those of the user's file."""
    from agent.model.catalogue import CATALOGUE

    yield from CATALOGUE
    for info in _users_models().models:
        yield info.id


@_completer
def providers(_ctx: typer.Context) -> Iterator[str]:
    """The presets, and the providers of the user's file."""
    yield from _users_models().providers


@_completer
def skills(ctx: typer.Context) -> Iterator[str]:
    """Names of the skills that `zot skill list` lists."""
    from pathlib import Path

    from agent.skills.discover import discover_installed
    from supervisor.home.zot_home import zot_home

    for skill in discover_installed(Path(ctx.params.get("cwd") or ".").expanduser().absolute(), zot_home()).skills:
        yield skill.name


@_completer
def mcp_servers(_ctx: typer.Context) -> Iterator[str]:
    """Names of the servers in the two files, also faulty ones."""
    from pathlib import Path

    from supervisor.discovery.discover import servers_of
    from supervisor.discovery.found_extension import FoundExtension, Scope
    from supervisor.discovery.kind import ExtensionKind
    from supervisor.home.zot_home import zot_home

    for scope in (Scope.PROJECT, Scope.GLOBAL):
        for each in servers_of(scope, Path.cwd(), zot_home()):
            if isinstance(each, FoundExtension):
                yield each.manifest.name
            elif each.kind is ExtensionKind.MCP:  # else it is about the whole file
                yield each.name


@_completer
def sessions(ctx: typer.Context) -> Iterator[str]:
    """The ids of the sessions of the folder of `--cwd`, as short as lists show them where that is enough."""
    from agent.sessions.find import session_ids
    from supervisor.home.zot_home import zot_home

    ids = session_ids(zot_home(), os.path.abspath(os.path.expanduser(ctx.params.get("cwd") or ".")))
    short = [name[:8] for name in ids]
    for name in ids:
        yield name if short.count(name[:8]) > 1 else name[:8]


@_completer
def runs(_ctx: typer.Context) -> Iterator[str]:
    """The ids of the runs with a trace."""
    from supervisor.home.zot_home import zot_home
    from supervisor.traces.trace_reader import run_ids

    yield from run_ids(zot_home())


@_completer
def past_extensions(_ctx: typer.Context) -> Iterator[str]:
    """The extensions of the newest runs."""
    from itertools import islice

    from supervisor.home.zot_home import zot_home
    from supervisor.traces.trace_reader import read_traces

    for run in islice(read_traces(zot_home(), lambda _line: None), NEWEST_RUNS):
        yield from run.extensions


@_completer
def session_paths(ctx: typer.Context) -> Iterator[str]:
    """The files of the folder's sessions."""
    from agent.sessions.places import session_files
    from supervisor.home.zot_home import zot_home

    for path in session_files(zot_home(), os.path.abspath(ctx.params.get("cwd") or os.curdir)):
        yield str(path)


@_completer
def schemas(ctx: typer.Context) -> Iterator[str]:
    """The names of all JSON Schemas; below `zot ext` those of extensions, without `frame.`."""
    from wire.schema import definitions

    if ctx.parent is None or ctx.parent.info_name != "ext":
        yield from definitions()
        return
    for name in definitions():
        if name.startswith(("manifest", "frame.")):
            yield name.removeprefix("frame.")


@_completer
def command_names(ctx: typer.Context) -> Iterator[str]:
    """For `zot help`: the commands, or after the name of a group those of the group."""
    found: Any = ctx.find_root().command
    for word in ctx.params.get("command") or ():
        found = found.get_command(ctx, word)
    for name in found.list_commands(ctx):
        if not found.get_command(ctx, name).hidden:
            yield name


def _find_installed(ctx: typer.Context, *, with_user: bool = True) -> Iterator[tuple[str, bool]]:
    """Name and whether it is enabled, of each installed extension whose manifest can be read."""
    from pathlib import Path

    from supervisor.discovery.discover import installed_folders, read_manifest, servers_of
    from supervisor.discovery.found_extension import FoundExtension, Scope
    from supervisor.home.zot_home import zot_home
    from wire.manifest import ManifestError

    project: Path = Path(ctx.params.get("cwd") or ".").expanduser().absolute()
    for folder, _scope in installed_folders(project, zot_home() if with_user else None, []):
        try:
            manifest = read_manifest(folder)
        except ManifestError:
            continue
        yield manifest.name, manifest.is_enabled
    for scope in (Scope.PROJECT, Scope.GLOBAL) if with_user else (Scope.PROJECT,):
        for each in servers_of(scope, project, zot_home()):
            if isinstance(each, FoundExtension):
                yield each.manifest.name, each.manifest.is_enabled


def _users_models() -> KnownModels:
    """The models of the user's file; empty if the file is faulty."""
    from agent.providers.user_models import KnownModels, UserModelsError, load_user_models
    from supervisor.home.zot_home import zot_home

    try:
        return load_user_models(zot_home())
    except UserModelsError:
        return KnownModels()


def _hosts() -> Iterator[Any]:
    """The answer of each running host about itself; hosts that do not answer soon are left out."""
    from supervisor.control.client import ControlClient, ControlError, endpoints
    from supervisor.home.runtime_dir import runtime_dirs
    from wire import control

    end = time.monotonic() + HOSTS_S
    for endpoint in endpoints(runtime_dirs()):
        if time.monotonic() > end:
            return
        try:
            with ControlClient(endpoint, ANSWER_S) as client:
                yield client.ask(control.Info(client.next_id()), control.HostInfoReply)
        except ControlError:
            continue
