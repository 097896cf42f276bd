"""`zot ext install-sdk`."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from cli.dialogue import say
from cli.ext.manage.shared_options import managing, shown
from cli.json_line import print_json
from cli.parameters import Json


class SdkName(Enum):
    copilot = "copilot"


def register(app: typer.Typer) -> None:
    app.command("install-sdk")(ext_install_sdk)


def ext_install_sdk(
    sdk: Annotated[SdkName, typer.Argument(metavar="SDK", help="copilot: what extensions of the Copilot CLI import.")],
    version: Annotated[
        str,
        typer.Option("--version", help="As 1.0.14, or a tag, as latest. Default: the newest 1.x.", metavar="VERSION"),
    ] = "1",
    timeout: Annotated[
        float, typer.Option("--timeout", help="Seconds for npm.", metavar="SECONDS", min=1, max=86_400)
    ] = 300.0,
    as_json: Json = False,
) -> None:
    """Install what extensions of another program need to run here, with npm, for all projects.

    Extensions of the Copilot CLI import @github/copilot-sdk, which is not in their folders. It goes to
    $ZOT_HOME/copilot-sdk, without its optional packages, and no script of it is run. One that is in a project's own
    node_modules is used there instead. A version that is installed already is replaced once the other one is whole.

    Exit status: 0 installed, 1 failed and nothing changed, 2 usage, 130 interrupted.

    Examples:
        zot ext install-sdk copilot                        the newest 1.x
        zot ext install-sdk copilot --version 1.0.14       a certain version
        zot ext install-sdk copilot --json | jq .version   for scripts
    """
    managing("install-sdk", lambda: _run(sdk, version, timeout, as_json=as_json))


def _run(sdk: SdkName, version: str, timeout: float, *, as_json: bool) -> int:
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
    say(f"  in            {shown(done.path, 500)}")
    for warning in done.warnings:
        say(f"  warning       {shown(warning, 1000)}")
    return 0
