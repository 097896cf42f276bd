"""`zot ext install` and `zot ext install-sdk`."""

from __future__ import annotations

import ctypes
import os
import shlex
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.ext.manage.shared_options import GitTimeout, folders_at, run_and_exit, scopes_from
from cli.json_line import print_json
from cli.parameters import Cwd, Json
from cli.terminal import say, terminal_text

if TYPE_CHECKING:
    from supervisor.install.install import InstallResult


class SdkName(Enum):
    copilot = "copilot"


def register(app: typer.Typer) -> None:
    app.command("install")(ext_install)
    app.command("install-sdk")(ext_install_sdk)


def ext_install(
    source: Annotated[str, typer.Argument(metavar="PATH|URL[@REF]|OWNER/REPO[@REF]", help="Folder or git repository.")],
    link: Annotated[bool, typer.Option("--link", help="Link to the folder, so that edits need no update.")] = False,
    project: Annotated[bool, typer.Option("--project", help="Install in DIR/.zot/extensions, and trust it.")] = False,
    everywhere: Annotated[bool, typer.Option("--global", help="Install in $ZOT_HOME/extensions; the default.")] = False,
    cwd: Cwd = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the installed one; its data is kept.")] = False,
    timeout: GitTimeout = 300.0,
    as_json: Json = False,
) -> None:
    """Install an extension from a folder or a git repository, without running any of it.

    The extension is copied, checked, and then put in place in one step: a failure leaves nothing behind. OWNER/REPO is
    a repository on GitHub, if there is no folder of that name.

    Exit status: 0 installed, 1 failed, 2 usage, 130 interrupted.

    Examples:
        zot ext install ./guard                                for all projects
        zot ext install ./guard --project                      for the project in this folder
        zot ext install --link ./guard                         a link: edits count without an update
        zot ext install https://github.com/me/guard@v1.2       a tag of a git repository
    """

    def run() -> int:
        from pathlib import Path

        from supervisor.discovery.found_extension import Scope
        from supervisor.install.errors import MisuseError
        from supervisor.install.install import install
        from supervisor.install.install import link as link_to
        from supervisor.install.source import GitSource, parse_source

        scopes_from(project=project, everywhere=everywhere)
        folders = folders_at(cwd)
        parsed = parse_source(source, Path.cwd())
        scope = Scope.PROJECT if project else Scope.GLOBAL
        if isinstance(parsed, GitSource):
            if parsed.secrets:
                erase_line(source)
            if link:
                raise MisuseError(
                    f"--link needs a folder; {parsed.shown} is a repository: clone it, then link to the clone"
                )
            if not as_json:
                say(f"cloning {terminal_text(parsed.shown, 500)}")
        elif parsed.instead_of and not as_json:
            say(f"{terminal_text(source, 500)} is a folder here: this is installed, not {parsed.instead_of}")
        if link and not isinstance(parsed, GitSource):
            result = link_to(parsed, scope, folders, force=force)
        else:
            result = install(parsed, scope, folders, force=force, git_timeout_s=timeout)
        if as_json:
            _record(result)
        else:
            _tell(result)
        return 0

    run_and_exit("install", run)


def _record(result: InstallResult) -> None:
    import msgspec

    extension = result.now
    assert extension.found is not None
    said = {"kind": "link", "source": extension.target}
    if extension.record is not None:
        said = msgspec.structs.asdict(extension.record)
        del said["files"], said["source_hash"]
    print_json(
        {
            "action": "installed",
            "name": extension.name,
            "scope": extension.scope.recorded,
            "dir": str(extension.folder),
            "replaced": result.before is not None,
            "enabled": extension.found.manifest.is_enabled,
            "trusted": result.is_trusted,
            "argv": extension.found.argv,
            "env": extension.found.manifest.env,
            **said,
            "warnings": result.warnings,
        }
    )


def _tell(result: InstallResult) -> None:
    from supervisor.discovery.found_extension import Scope
    from supervisor.install.details import command_line

    extension = result.now
    assert extension.found is not None
    manifest = extension.found.manifest
    quoted = shlex.quote(extension.name)
    say(
        f"{'installed' if extension.record is not None else 'linked'} {extension.folder}"
        + (", in place of what was there" if result.before is not None else "")
    )
    version = f" {terminal_text(manifest.version)}" if manifest.version else ""
    about = f": {terminal_text(manifest.description, 500)}" if manifest.description else ""
    say(f"  {terminal_text(extension.name)}{version}{about}")
    if extension.record is None:
        say(f"  to            {terminal_text(extension.target, 500)}: what runs is this folder, always as it is")
    else:
        commit = f", commit {extension.record.commit[:12]}" if extension.record.commit else ""
        say(f"  from          {terminal_text(extension.record.source, 500)}{commit}")
    say(f"  command line  {terminal_text(command_line(extension.found), 1000)}")
    say(f"  secrets       {', '.join(manifest.env) or 'asks for none'}")
    if extension.scope is Scope.PROJECT and result.is_trusted:
        say("  trusted       as it is now; zot asks again when its files change")
    if extension.record is None:
        say(f"  after edits   zot ext reload {quoted}, in a host with --watch by itself")
    for warning in result.warnings:
        say(f"  warning       {terminal_text(warning, 1000)}")
    if not manifest.is_enabled:
        say(f"  disabled      by its manifest: zot ext enable {quoted}")
    else:
        say(f'  try it        zot -p "…" runs with it from now on; zot ext info {quoted} tells more')


def erase_line(word: str) -> None:
    """Overwrites a secret word of this process's own command line, which every user of the machine can read. Does
    nothing if that fails, and on other systems than Linux. `sys.argv` stays."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end
        at = ctypes.string_at(start, end - start).find(os.fsencode(word) + b"\0") if 0 < start < end else -1
        if at >= 0:
            ctypes.memset(start + at, ord("*"), len(os.fsencode(word)))
    except (OSError, ValueError, IndexError):
        pass


def ext_install_sdk(
    sdk: Annotated[SdkName, typer.Argument(metavar="SDK", help="copilot: the SDK that Copilot CLI extensions import.")],
    version: Annotated[
        str,
        typer.Option(
            "--version",
            help="Install this version, such as 1.0.14, or a tag, such as latest. Default: the newest 1.x.",
            metavar="VERSION",
        ),
    ] = "1",
    timeout: Annotated[
        float, typer.Option("--timeout", help="End npm after SECONDS.", metavar="SECONDS", min=1, max=86_400)
    ] = 300.0,
    as_json: Json = False,
) -> None:
    """Install the SDK that extensions of another program need, with npm, for all projects.

    Extensions of the Copilot CLI import @github/copilot-sdk, which is not in their folders. It goes to
    $ZOT_HOME/copilot-sdk, without its optional packages, and none of its scripts is run. An SDK in a project's own
    node_modules is used there instead. An installed version is replaced once the new one is complete.

    Exit status: 0 installed, 1 failed and nothing changed, 2 usage, 130 interrupted.

    Examples:
        zot ext install-sdk copilot                        the newest 1.x
        zot ext install-sdk copilot --version 1.0.14       a certain version
        zot ext install-sdk copilot --json | jq .version   for scripts
    """
    run_and_exit("install-sdk", lambda: _install_sdk(sdk, version, timeout, as_json=as_json))


def _install_sdk(sdk: SdkName, version: str, timeout: float, *, as_json: bool) -> int:
    from supervisor.discovery.copilot.sdk import PACKAGE
    from supervisor.home.zot_home import zot_home
    from supervisor.install.copilot_sdk import check, install

    check(version)
    if not as_json:
        say(f"installing {PACKAGE} with npm")
    done = install(zot_home(), version, timeout)
    if as_json:
        print_json(
            {
                "action": "installed",
                "sdk": sdk.value,
                "package": PACKAGE,
                "version": done.version,
                "dir": str(done.path),
                "replaced": done.before,
                "warnings": done.warnings,
            }
        )
        return 0
    replaced = "" if done.before is None else f", in place of {done.before or 'one that could not be used'}"
    say(f"installed {PACKAGE} {done.version}{replaced}")
    say(f"  in            {terminal_text(done.path, 500)}")
    for warning in done.warnings:
        say(f"  warning       {terminal_text(warning, 1000)}")
    return 0
