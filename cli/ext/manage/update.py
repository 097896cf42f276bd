"""`zot ext update`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.ext.manage.shared_options import (
    GitTimeout,
    InGlobal,
    InProject,
    folders_at,
    hint_at_reload,
    run_and_exit,
    scopes_from,
)
from cli.help.completion import installed_extensions
from cli.json_line import print_json
from cli.parameters import Cwd, Json
from cli.terminal import ask, complain, is_attended, say, terminal_text

if TYPE_CHECKING:
    from supervisor.install.installed_extension import InstalledExtension
    from supervisor.install.update import Update


def register(app: typer.Typer) -> None:
    app.command("update")(ext_update)


def ext_update(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="The extensions. Default: all that were installed with zot.",
            autocompletion=installed_extensions,
        ),
    ] = None,
    project: InProject = False,
    everywhere: InGlobal = False,
    cwd: Cwd = None,
    force: Annotated[bool, typer.Option("--force", help="Throw away changes made since the install.")] = False,
    yes: Annotated[
        bool, typer.Option("-y", "--yes", help="Agree to what the new version asks for of the environment.")
    ] = False,
    timeout: GitTimeout = 300.0,
    as_json: Json = False,
) -> None:
    """Install newer versions of extensions, each from its source.

    The data of an extension stays, and it stays enabled or disabled. A version that asks for more of the environment
    than the one before needs your consent, or --yes.

    Exit status: 0 all are up to date now, 1 one could not be updated, 2 usage, 130 interrupted.

    Examples:
        zot ext update                  all that were installed with zot
        zot ext update guard --yes      one, and agree to what it asks for
    """

    def run() -> int:
        from supervisor.home.config import load_config
        from supervisor.install.errors import InstallError
        from supervisor.install.installed_extension import extension_named, installed_extensions
        from supervisor.install.update import update

        folders = folders_at(cwd)
        config = load_config(folders.home)
        candidates = installed_extensions(folders, scopes_from(project=project, everywhere=everywhere))
        chosen = [extension_named(name, candidates) for name in dict.fromkeys(names or ())] or [
            extension for extension in candidates if extension.record is not None
        ]
        if not chosen:
            links = (
                " as a copy; a link is always as its folder is"
                if any(extension.is_link for extension in candidates)
                else ""
            )
            say(f"nothing to update: no extension was installed with zot ext install{links}")
        status = 0

        def consent(extension: InstalledExtension, asks: tuple[str, ...]) -> bool:
            if yes or as_json or not is_attended():
                return yes
            return ask(f"{terminal_text(extension.name)} now asks for {terminal_text(', '.join(asks), 1000)}; agree?")

        for extension in chosen:
            try:
                done = update(extension, folders, config, force=force, consent=consent, git_timeout_s=timeout)
            except InstallError as error:
                if len(chosen) == 1 and not as_json:
                    raise
                status = 1
                if as_json:
                    print_json({"action": "failed", **_label(extension), "error": str(error)})
                else:
                    complain("ext update", str(error))
                continue
            if as_json:
                print_json(_record(done))
            else:
                _tell(done)
        return status

    run_and_exit("update", run)


def _label(extension: InstalledExtension) -> dict[str, Any]:
    return {"name": extension.name, "scope": extension.scope.recorded, "dir": str(extension.folder)}


def _record(done: Update) -> dict[str, Any]:
    return {
        "action": done.action.value,
        **_label(done.now),
        "from": _state(done.before),
        "to": _state(done.now),
        "local_changes": done.has_local_changes,
        "warnings": done.warnings,
    }


def _state(extension: InstalledExtension) -> dict[str, Any]:
    assert extension.record is not None
    return {
        "version": extension.record.version,
        "commit": extension.record.commit,
        "content_hash": extension.record.content_hash,
    }


def _tell(done: Update) -> None:
    from supervisor.install.update import UpdateAction

    name = terminal_text(done.now.name)
    if done.action is UpdateAction.NOTHING:
        changes = ", with local changes; --force throws them away" if done.has_local_changes else ""
        say(f"{name} {_version(done.now)} is up to date ({_mark(done.now)}){changes}")
        return
    versions = f"{_version(done.before)} -> {_version(done.now)}"
    say(f"updated {name} {versions} ({_mark(done.before)} -> {_mark(done.now)})")
    for warning in done.warnings:
        say(f"  warning: {terminal_text(warning, 1000)}")
    hint_at_reload(done.now.name)


def _version(extension: InstalledExtension) -> str:
    return (
        terminal_text(extension.record.version)
        if extension.record is not None and extension.record.version
        else "without version"
    )


def _mark(extension: InstalledExtension) -> str:
    """Eight digits of the commit, else of the content hash, to compare by eye."""
    assert extension.record is not None
    return (extension.record.commit or extension.record.source_hash.removeprefix("sha256:"))[:8]
