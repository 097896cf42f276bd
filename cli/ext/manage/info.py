"""`zot ext info`."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from cli.ext.manage.shared_options import (
    Cwd,
    InGlobal,
    InProject,
    InstalledName,
    managing,
    running_hosts,
    shelves_at,
    shown,
    the_one,
)
from cli.json_line import print_json
from cli.parameters import Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    import typer

    from supervisor.install.details import Details
    from wire.manifest import Manifest

WIDTH = 13


def register(app: typer.Typer) -> None:
    app.command("info")(ext_info)


def ext_info(
    name: InstalledName,
    project: InProject = False,
    everywhere: InGlobal = False,
    cwd: Cwd = None,
    as_json: Json = False,
) -> None:
    """Tell all that is known of an installed extension, without starting it.

    Exit status: 0, also for a broken one; 1 failed; 2 usage.

    Example: [bold]zot ext info guard[/bold]
    """
    managing("info", lambda: _run(name, (project, everywhere), cwd, as_json=as_json))


def _run(name: str, where: tuple[bool, bool], cwd: str | None, *, as_json: bool) -> int:
    from supervisor.home.config import load_config
    from supervisor.install.details import details

    shelves = shelves_at(cwd)
    extension = the_one(name, shelves, project=where[0], everywhere=where[1])
    known = details(extension, shelves.home, load_config(shelves.home))
    hosts = running_hosts(extension.name)
    if as_json:
        print_json(_record(known, hosts))
    else:
        for label, text in _lines(known, hosts):
            sys.stdout.write(f"{label:<{WIDTH}} {shown(text, 2000)}\n")
    return 0


def _record(known: Details, hosts: list[int]) -> dict[str, Any]:
    import msgspec

    extension = known.one
    return {
        "name": extension.name,
        "scope": extension.scope.label,
        "dir": str(extension.folder),
        "broken": extension.trouble or None,
        "manifest": extension.manifest,
        "argv": known.argv,
        "env": () if extension.manifest is None else extension.manifest.env,
        "env_policy": known.env_policy or None,
        "limits": None if known.limits is None else msgspec.structs.asdict(known.limits),
        "trusted": known.is_trusted,
        "trust": known.trust or None,
        "data_dir": str(known.data),
        "data_bytes": known.data_bytes,
        "data_in_dir": known.data_in_folder,
        "log": str(known.log),
        "log_bytes": known.log_bytes,
        "install": extension.record,
        "locally_modified": known.is_changed,
        "hosts": hosts,
        "warnings": known.warnings,
    }


def _lines(known: Details, hosts: list[int]) -> Iterator[tuple[str, str]]:
    from cli.number_format import size
    from supervisor.discovery.discover import Scope

    extension = known.one
    link = f", a link to {extension.folder.resolve()}" if extension.is_link else ""
    yield "name", extension.name
    yield "folder", f"{extension.folder} ({extension.scope.label}{link})"
    if extension.manifest is None:
        yield "broken", extension.trouble
    else:
        yield from _of_manifest(extension.manifest, known)
        if extension.scope is Scope.PROJECT:
            yield (
                "trusted",
                "yes" if known.is_trusted else f"no, {known.trust}: zot ext trust {shlex.quote(extension.name)}",
            )
    yield "data", f"{known.data}, {'none yet' if known.data_bytes is None else size(known.data_bytes)}"
    if known.data_in_folder:
        yield "", f"and in its own folder: {', '.join(known.data_in_folder[:10])}"
    yield "log", f"{known.log}, {'none yet' if known.log_bytes is None else size(known.log_bytes)}"
    yield from _of_record(known)
    yield "running", f"in host {', '.join(map(str, hosts))}" if hosts else "in no host"
    for warning in known.warnings:
        yield "warning", warning


def _of_manifest(manifest: Manifest, known: Details) -> Iterator[tuple[str, str]]:
    import msgspec

    yield "version", manifest.version or "-"
    if manifest.description:
        yield "about", manifest.description
    yield "language", manifest.language or "-"
    yield "enabled", "yes" if manifest.is_enabled else f"no: zot ext enable {shlex.quote(manifest.name)}"
    yield "command line", shlex.join(known.argv)
    yield "environment", f"{known.env_policy}; asks for {', '.join(manifest.env) or 'no secrets'}"
    yield "guard", f"priority {manifest.priority}, on failure {manifest.on_failure}"
    restart = manifest.restart
    yield "restart", f"{restart.policy}, given up after {restart.max} exits in {restart.window_s:g} s"
    said = {} if known.limits is None else msgspec.structs.asdict(known.limits)
    limits = [f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in said.items()
              if value is not None]  # fmt: skip
    yield "limits", ", ".join(limits) or "none"
    if manifest.workers > 1 or manifest.required:
        yield "also", f"{manifest.workers} workers{', required' if manifest.required else ''}"


def _of_record(known: Details) -> Iterator[tuple[str, str]]:
    record = known.one.record
    if record is None:
        yield "installed", known.one.record_trouble or "by hand: nothing says where it came from"
        return
    ref = f"@{record.ref}" if record.ref else ""
    yield "installed", f"{record.installed_at} from {record.source}{ref}"
    if record.commit:
        yield "commit", record.commit
    yield "content", f"{record.content_hash}, {len(record.files)} files"
    changes = {None: "cannot be told", True: "yes: zot ext update refuses without --force", False: "none"}
    yield "local changes", changes[known.is_changed]
