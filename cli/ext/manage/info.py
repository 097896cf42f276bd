"""`zot ext info`."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from cli.ext.manage.shared_options import (
    InGlobal,
    InProject,
    InstalledName,
    find_installed,
    folders_at,
    run_and_exit,
    running_hosts,
)
from cli.json_line import print_json
from cli.parameters import Cwd, Json
from cli.terminal import terminal_text
from wire.settings.limit_changes import shown_changes
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import typer

    from supervisor.discovery.copilot.sdk import Sdk
    from supervisor.install.details import Details
    from supervisor.monitoring.definition_sizes import DefinitionSize
    from wire.manifest import Manifest

WIDTH = 13
ORIGINS = {"kept": " (config.json, for it alone)", "config": " (config.json, for all)"}
"""Where a limit is set, if not in the manifest."""


def register(app: typer.Typer) -> None:
    app.command("info")(ext_info)


def ext_info(
    name: InstalledName,
    project: InProject = False,
    everywhere: InGlobal = False,
    cwd: Cwd = None,
    as_json: Json = False,
) -> None:
    """Show all about an installed extension, without starting it.

    Exit status: 0 shown, also if it is broken; 1 failed; 2 usage.

    Examples:
        zot ext info guard                       for a person
        zot ext info guard --json | jq .trusted  for a program
    """
    run_and_exit("info", lambda: _run(name, (project, everywhere), cwd, as_json=as_json))


def _run(name: str, where: tuple[bool, bool], cwd: str | None, *, as_json: bool) -> int:
    from supervisor.home.config import load_config
    from supervisor.install.details import details as read_details
    from supervisor.monitoring.definition_sizes import key_of, read_sizes

    folders = folders_at(cwd)
    extension = find_installed(name, folders, project=where[0], everywhere=where[1])
    details = read_details(extension, folders.home, load_config(folders.home), os.environ)
    hosts = running_hosts(extension.name)
    size = read_sizes(folders.home).get(key_of(extension.name, extension.folder))
    if as_json:
        print_json(_record(details, size, hosts))
    else:
        for label, text in _lines(details, size, hosts):
            sys.stdout.write(f"{label:<{WIDTH}} {terminal_text(text, 2000)}\n")
    return 0


def _record(details: Details, size: DefinitionSize | None, hosts: list[int]) -> dict[str, Any]:
    import msgspec

    extension = details.extension
    return {
        "name": extension.name,
        "scope": extension.scope.recorded,
        "dir": str(extension.runs_in),
        "mcp_file": None if extension.mcp_file is None else str(extension.mcp_file),
        "broken": extension.trouble or None,
        "manifest": extension.manifest,
        "argv": details.argv,
        "copilot_sdk": None if (sdk := _sdk(details)) is None else {"version": sdk.version, "dir": str(sdk.path)},
        "env": () if extension.manifest is None else extension.manifest.env,
        "env_policy": details.env_policy or None,
        "secrets_given": details.secrets_given,
        "secrets_withheld": details.withheld,
        "limits": None if details.limits is None else msgspec.structs.asdict(details.limits),
        "limit_origins": details.limit_origins,
        "trusted": details.is_trusted,
        "trust": details.trust or None,
        "data_dir": str(details.data) if extension.kind.has_data_dir else None,
        "data_bytes": details.data_bytes,
        "data_in_dir": details.data_in_folder,
        "log": str(details.log),
        "log_bytes": details.log_bytes,
        "install": extension.record,
        "locally_modified": details.is_changed,
        "tools": size and size.tools,
        "definition_tokens": size and size.tokens,
        "hosts": hosts,
        "warnings": details.warnings,
    }


def _lines(details: Details, size: DefinitionSize | None, hosts: list[int]) -> Iterator[tuple[str, str]]:
    from cli.number_format import definitions_text
    from cli.number_format import size as bytes_of

    extension = details.extension
    link = f", a link to {extension.target}" if extension.is_link else ""
    yield "name", extension.name
    if extension.mcp_file is None:
        yield "folder", f"{extension.folder} ({extension.scope.label}{link})"
    else:
        yield "MCP server", f"of {extension.mcp_file} ({extension.scope.label})"
        yield "folder", str(extension.runs_in)
    if extension.manifest is None:
        yield "broken", extension.trouble
    else:
        if extension.trouble:
            yield "fails", extension.trouble
        yield from _of_manifest(extension.manifest, details)
        if extension.needs_trust:
            yield (
                "trusted",
                "yes" if details.is_trusted else f"no, {details.trust}: zot ext trust {shlex.quote(extension.name)}",
            )
    starts = extension.manifest is None or not extension.manifest.without_program
    if starts and extension.kind.has_data_dir:
        yield "data", f"{details.data}, {'none yet' if details.data_bytes is None else bytes_of(details.data_bytes)}"
    if starts and details.data_in_folder:
        yield "", f"and in its own folder: {', '.join(details.data_in_folder[:10])}"
    if starts:
        yield "log", f"{details.log}, {'none yet' if details.log_bytes is None else bytes_of(details.log_bytes)}"
        yield (
            "definitions",
            "unknown: it has not run yet" if size is None else definitions_text(size.tools, size.tokens),
        )
    yield from _of_record(details)
    if starts:
        yield "running", f"in host {', '.join(map(str, hosts))}" if hosts else "in no host"
    for warning in details.warnings:
        yield "warning", warning


def _of_manifest(manifest: Manifest, details: Details) -> Iterator[tuple[str, str]]:
    import msgspec

    from wire.dialects.table import ZOT

    yield "version", manifest.version or "-"
    if manifest.description:
        yield "about", manifest.description
    yield "language", manifest.language or "-"
    yield "enabled", "yes" if manifest.is_enabled else f"no: zot ext enable {shlex.quote(manifest.name)}"
    if manifest.dialect != ZOT:
        yield "protocol", manifest.dialect
    yield "command line", manifest.without_program or shlex.join(details.argv)
    if manifest.skills:
        yield "skills", ", ".join(manifest.skills)
    if manifest.without_program:
        return
    if (sdk := _sdk(details)) is not None:
        yield "Copilot SDK", f"{sdk.version}, {sdk.path}"
    yield "environment", f"{details.env_policy}; asks for {', '.join(manifest.env) or 'nothing by name'}"
    yield "gets secrets", ", ".join(details.secrets_given) or "no variable that is set here"
    if details.withheld:
        yield "not", f"{', '.join(details.withheld)}: secrets that it neither asks for nor is granted"
    yield "guard", f"priority {manifest.priority}, on failure {manifest.on_failure}"
    restart = manifest.restart
    yield "restart", f"{restart.policy}, given up after {counted(restart.max, 'exit')} in {restart.window_s:g} s"
    said = {} if details.limits is None else msgspec.structs.asdict(details.limits)
    limits = [
        shown_changes({name: value}) + ORIGINS.get(details.limit_origins[name], "")
        for name, value in said.items()
        if value is not None
    ]
    yield "limits", ", ".join(limits) or "none"
    if manifest.workers > 1 or manifest.required:
        yield "also", f"{manifest.workers} workers{', required' if manifest.required else ''}"


def _sdk(details: Details) -> Sdk | None:
    """The SDK that a Copilot extension gets."""
    from supervisor.discovery.copilot.preparation import sdk_of
    from supervisor.discovery.kind import COPILOT
    from supervisor.home.zot_home import zot_home

    found = details.extension.found
    return sdk_of(found, zot_home()) if found is not None and found.manifest.dialect == COPILOT else None


def _of_record(details: Details) -> Iterator[tuple[str, str]]:
    if not details.extension.kind.has_folder:
        return
    record = details.extension.record
    if details.extension.is_link:
        yield "installed", f"as a link: what runs is {details.extension.target}, always as it is"
        return
    if record is None:
        yield "installed", details.extension.record_trouble or "by hand: nothing says where it came from"
        return
    ref = f"@{record.ref}" if record.ref else ""
    yield "installed", f"{record.installed_at} from {record.source}{ref}"
    if record.commit:
        yield "commit", record.commit
    yield "content", f"{record.content_hash}, {counted(len(record.files), 'file')}"
    changes = {None: "unknown", True: "yes: zot ext update refuses without --force", False: "none"}
    yield "local changes", changes[details.is_changed]
