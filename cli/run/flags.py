"""The flags that a run has, and every run of a batch has, too; and how the values of flags are read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cli.choices import Reasoning
from cli.duration import METAVAR, limit_from, seconds_from
from cli.help.completion import models, providers
from cli.run.request import dollars_from

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "The model"
of_model = partial(typer.Option, rich_help_panel=MODEL)
of_tools = partial(typer.Option, rich_help_panel="Tools and extensions")


def wait(text: str) -> float:
    return _value(seconds_from, text)


def limit(text: str) -> float:
    return _value(limit_from, text)


def dollars(text: str) -> float:
    return _value(dollars_from, text)


def _value(read: Callable[[str], float], text: str) -> float:
    try:
        return read(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


Provider = Annotated[
    str | None,
    of_model(
        help="anthropic, ollama, litellm, openrouter … or one of models.json. Default: that of the settings.",
        metavar="NAME",
        autocompletion=providers,
    ),
]
Model = Annotated[
    str | None,
    of_model(
        "-m",
        "--model",
        help="Model id; an unknown one is passed on, its cost is then unknown.",
        metavar="ID",
        autocompletion=models,
    ),
]
ApiKey = Annotated[
    str | None,
    of_model(
        help="Default: the provider's variable, such as $ANTHROPIC_API_KEY, else what zot login has stored.",
        metavar="KEY",
        show_default=False,
    ),
]
ApiKeyFile = Annotated[
    str | None,
    of_model(help="Read the key from this file, - is stdin; unlike --api-key it does not show in ps.", metavar="FILE"),
]
BaseUrl = Annotated[
    str | None,
    of_model(
        help="Any server that speaks the Messages API. Default: $ANTHROPIC_BASE_URL, else the provider's.",
        metavar="URL",
        show_default=False,
    ),
]
SystemPrompt = Annotated[
    str | None, of_model(help="Instead of $ZOT_HOME/SYSTEM.md or the built-in one.", metavar="TEXT")
]
AppendSystemPrompt = Annotated[
    list[str] | None, of_model(help="Added to the system prompt; repeatable.", metavar="TEXT")
]
ReasoningFlag = Annotated[Reasoning | None, of_model(help="How much the model may think.")]
Replay = Annotated[
    str | None, of_model(help="Answer from a cassette; a request that differs is an error.", metavar="FILE")
]
Tools = Annotated[str | None, of_tools(help="Only these built-in tools: read,write,edit,bash.", metavar="CSV")]
NoTools = Annotated[bool, of_tools("--no-tools", help="No built-in tools; those of extensions stay.")]
Extensions = Annotated[
    list[str] | None, of_tools("-e", "--ext", help="Start the extension in this folder; repeatable.", metavar="DIR")
]
McpConfigs = Annotated[
    list[str] | None,
    of_tools(
        "--mcp-config",
        help="Start the MCP servers of this file, too, which has the form of .mcp.json; repeatable.",
        metavar="FILE",
    ),
]
NoExt = Annotated[
    bool, of_tools("--no-ext", "--no-extensions", help="Start only those named with --ext and --mcp-config.")
]
ExtensionWait = Annotated[
    float | None,
    of_tools(
        "--ext-wait",
        help="Let the first request wait so long for extensions that are still starting. Default: as long as the"
        " model takes to get ready, at least 1s and at most 3s; for MCP servers up to 5s, for Copilot extensions up to"
        " 10s.",
        metavar=METAVAR,
        parser=wait,
    ),
]
TrustProject = Annotated[
    bool,
    of_tools(
        "--trust-project",
        help="Start the project's extensions and MCP servers in this run although they are not trusted.",
    ),
]
Copilot = Annotated[
    bool,
    of_tools(
        "--copilot", help="Offer the model tools to write and reload Copilot extensions; none runs before you trust it."
    ),
]
StrictGuards = Annotated[
    bool, of_tools("--strict-guards", help="A guard that gives no verdict (crash, timeout) denies.")
]
AllowAsked = Annotated[
    bool,
    of_tools(
        "--allow-asked",
        help="Allow what guards want a person to decide. Default: it is refused, since nobody is asked.",
    ),
]
WithSkills = Annotated[
    bool, of_tools("--with-skills", "--with-skill", help="Offer the user's and the project's skills, too.")
]
NoSkills = Annotated[bool, of_tools("--no-skill", "--no-skills", help="Offer no skills.")]
NoContextFiles = Annotated[
    bool, of_tools("--no-context-files", help="Leave AGENTS.md and CLAUDE.md out of the system prompt.")
]
