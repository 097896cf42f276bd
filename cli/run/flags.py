"""The flags that a run has, and every run of a batch has, too; and how the values of flags are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.choices import Reasoning
from cli.duration import METAVAR, limit_from, seconds_from
from cli.help.completion import models, providers
from cli.run.request import dollars_from

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "The model"
_TOOLS = "Tools and extensions"


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
    typer.Option(
        help="anthropic, ollama, litellm, openrouter … or one of models.json. Default: that of the settings.",
        metavar="NAME",
        autocompletion=providers,
        rich_help_panel=MODEL,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--model",
        help="Model id; an unknown one is passed on, its cost is then unknown.",
        metavar="ID",
        autocompletion=models,
        rich_help_panel=MODEL,
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        help="Default: the provider's variable, such as $ANTHROPIC_API_KEY, else what zot login has stored.",
        metavar="KEY",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
ApiKeyFile = Annotated[
    str | None,
    typer.Option(
        help="Read the key from this file, - is stdin; unlike --api-key it does not show in ps.",
        metavar="FILE",
        rich_help_panel=MODEL,
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        help="Any server that speaks the Messages API. Default: $ANTHROPIC_BASE_URL, else the provider's.",
        metavar="URL",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
SystemPrompt = Annotated[
    str | None,
    typer.Option(help="Instead of $ZOT_HOME/SYSTEM.md or the built-in one.", metavar="TEXT", rich_help_panel=MODEL),
]
AppendSystemPrompt = Annotated[
    list[str] | None,
    typer.Option(help="Added to the system prompt; repeatable.", metavar="TEXT", rich_help_panel=MODEL),
]
ReasoningFlag = Annotated[Reasoning | None, typer.Option(help="How much the model may think.", rich_help_panel=MODEL)]
Replay = Annotated[
    str | None,
    typer.Option(
        help="Answer from a cassette; a request that differs is an error.", metavar="FILE", rich_help_panel=MODEL
    ),
]
Tools = Annotated[
    str | None,
    typer.Option(help="Only these built-in tools: read,write,edit,bash.", metavar="CSV", rich_help_panel=_TOOLS),
]
NoTools = Annotated[
    bool, typer.Option("--no-tools", help="No built-in tools; those of extensions stay.", rich_help_panel=_TOOLS)
]
Extensions = Annotated[
    list[str] | None,
    typer.Option(
        "-e", "--ext", help="Start the extension in this folder; repeatable.", metavar="DIR", rich_help_panel=_TOOLS
    ),
]
McpConfigs = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp-config",
        help="Start the MCP servers of this file, too, which has the form of .mcp.json; repeatable.",
        metavar="FILE",
        rich_help_panel=_TOOLS,
    ),
]
NoExt = Annotated[
    bool,
    typer.Option(
        "--no-ext",
        "--no-extensions",
        help="Start only those named with --ext and --mcp-config.",
        rich_help_panel=_TOOLS,
    ),
]
ExtensionWait = Annotated[
    float | None,
    typer.Option(
        "--ext-wait",
        help="Let the first request wait so long for extensions that are still starting. Default: as long as the"
        " model takes to get ready, at least 1s and at most 3s; for MCP servers up to 5s, for Copilot extensions up to"
        " 10s.",
        metavar=METAVAR,
        parser=wait,
        rich_help_panel=_TOOLS,
    ),
]
TrustProject = Annotated[
    bool,
    typer.Option(
        "--trust-project",
        help="Start the project's extensions and MCP servers in this run although they are not trusted.",
        rich_help_panel=_TOOLS,
    ),
]
Copilot = Annotated[
    bool,
    typer.Option(
        "--copilot",
        help="Offer the model tools to write and reload Copilot extensions; none runs before you trust it.",
        rich_help_panel=_TOOLS,
    ),
]
StrictGuards = Annotated[
    bool,
    typer.Option(
        "--strict-guards", help="A guard that gives no verdict (crash, timeout) denies.", rich_help_panel=_TOOLS
    ),
]
AllowAsked = Annotated[
    bool,
    typer.Option(
        "--allow-asked",
        help="Allow what guards want a person to decide. Default: it is refused, since nobody is asked.",
        rich_help_panel=_TOOLS,
    ),
]
WithSkills = Annotated[
    bool,
    typer.Option(
        "--with-skills",
        "--with-skill",
        help="Offer the user's and the project's skills, too.",
        rich_help_panel=_TOOLS,
    ),
]
NoSkills = Annotated[bool, typer.Option("--no-skill", "--no-skills", help="Offer no skills.", rich_help_panel=_TOOLS)]
NoContextFiles = Annotated[
    bool,
    typer.Option(
        "--no-context-files",
        help="Leave AGENTS.md and CLAUDE.md out of the system prompt.",
        rich_help_panel=_TOOLS,
    ),
]
