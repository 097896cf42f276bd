"""The commands about models and keys, as typer sees them. Their work is imported when a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.help.completion import models, providers
from cli.help.root_group import MODELS
from cli.os_errors import exit_with
from cli.parameters import Json

Provider = Annotated[
    str,
    typer.Argument(
        metavar="[PROVIDER]",
        help="The provider whose key it is, as in --provider.",
        autocompletion=providers,
        show_default=True,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the commands to `zot`."""
    app.command("models", rich_help_panel=MODELS)(list_models)
    app.command("login", rich_help_panel=MODELS)(login)
    app.command("logout", rich_help_panel=MODELS)(logout)


def list_models(as_json: Json = False) -> None:
    """List the models whose size and price are known: the packaged ones, and those of $ZOT_HOME/models.json.

    Prices are US dollars per million tokens: unknown if not known, 0 for a free model. A model that is not listed can
    be used, too.

    Exit status: 0 listed, 2 models.json or config.json is wrong.

    Examples:
        zot models                                            a line for each model
        zot models --json | jq -r 'select(.default).id'       the one that a run uses
        zot models --json | jq 'select(.prices.input == 0)'   those that say they are free
    """
    from cli.models.list import run

    exit_with("models", lambda: run(as_json=as_json))


def login(
    provider: Provider = "anthropic",
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", help="Try the key with this model.", metavar="ID", autocompletion=models),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="Try the key at this server. Default: as for a run.", metavar="URL", show_default=False),
    ] = None,
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Store the key without trying it.")] = False,
) -> None:
    """Keep a provider's key in $ZOT_HOME/auth.json, which only you can read.

    On a terminal it asks for the key and does not show it; otherwise it reads stdin. It sends one request for one
    token: a key that is refused is not stored. --api-key, --api-key-file and variables come before a stored key.

    Exit status: 0 stored, 1 failed or could not be tried, 2 usage, 7 the key was refused, 130 interrupted.

    Examples:
        zot login                                      asks for the key of Anthropic
        zot login openrouter -m anthropic/claude-sonnet-5
        zot login < key.txt                            from a file
        pass show litellm | zot login litellm --no-probe
    """
    from cli.models.login import run_login

    exit_with("login", lambda: run_login(provider, model=model, base_url=base_url, has_probe=not no_probe))


def logout(provider: Provider = "anthropic") -> None:
    """Remove all that $ZOT_HOME/auth.json has for a provider. Variables and key files stay.

    Exit status: 0 nothing of it is left, 1 failed, 2 usage.

    Examples:
        zot logout               the key of Anthropic
        zot logout openrouter    that of another provider
    """
    from cli.models.login import run_logout

    exit_with("logout", lambda: run_logout(provider))
