"""The fields of an MCP server in `.mcp.json` and `$ZOT_HOME/mcp.json`.

[MCP servers](../mcp.md) describes the files and trust. Other fields are ignored and named; a near miss of a field that
changes what a server may do is an error of its entry.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Annotated

import msgspec

from wire.manifest import EnvPolicy, Limits, Restart, Seconds, Sessions, StartMoment, Timeouts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WORKSPACE = "workspaceFolder"
_PART = re.compile(
    r"\$\{(?:(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?|(?P<other>[A-Za-z]+:[^{}]*))\}"
)
"""`other` is a value that editors ask a person for, or read from their settings: `${input:token}`, `${config:x}`."""


class ExpansionError(ValueError):
    """A variable is not set, or only an editor has it. The text names it and says what to do."""


def expand(text: str, environ: Mapping[str, str], workspace: str) -> str:
    """Returns the text with the values of its variables. Raises `ExpansionError`."""

    def value(found: re.Match[str]) -> str:
        if found["other"] is not None:
            raise ExpansionError(
                f"{found[0]} is something that only an editor can fill in; write ${{VAR}}, and set VAR"
            )
        name, default = found["name"], found["default"]
        if name == WORKSPACE:
            return workspace
        if (held := environ.get(name, default)) is None:
            raise ExpansionError(f"the variable {name} is not set; set it, or write ${{{name}:-default}}")
        return held

    head, rest = _divided(text)
    return _PART.sub(value, head) + rest


def variables_in(text: str) -> Iterator[str]:
    """Yields the names of the environment variables in the text, those with a default included."""
    for found in _PART.finditer(_divided(text)[0]):
        if found["name"] is not None and found["name"] != WORKSPACE:
            yield found["name"]


def _divided(text: str) -> tuple[str, str]:
    """Divides the text behind its last closing brace. No variable ends in the rest: searching it for the end of each
    variable that begins there would take time that grows with the square of its length."""
    end = text.rfind("}") + 1
    return text[:end], text[end:]


NAME_KEPT = 55
"""Number of characters that are kept of a name that is too long; `_` and 8 hexadecimal digits of its hash follow."""
NAME_LIMIT = 64
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069/\\]")

Text = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*$(?!\n)")]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """The entry of one server. In `command`, `args`, `env` and `cwd`, variables are expanded: `${VAR}`,
    `${VAR:-default}`, `${env:VAR}` and `${workspaceFolder}`, which is the project's folder."""

    command: Annotated[str, msgspec.Meta(pattern=r"^[^\x00]+$(?!\n)")]
    """The program: a name on PATH, an absolute path, or a path with a `/` that starts in `cwd`."""
    args: tuple[Text, ...] = ()
    """The program's arguments."""
    env: dict[str, Text | int | float] = {}
    """Environment variables of the server, in addition to those of `env_policy`."""
    cwd: Text | None = None
    """The folder that it runs in. A relative path starts in the project's folder, which is the default."""
    type: str = "stdio"
    """Only `stdio` (also `local`) can run. Servers of other types are skipped with a message."""
    description: str | None = None
    """One line for people."""
    disabled: bool = False
    """True: it is not started."""
    enabled: bool = True
    """False: it is not started."""
    required: bool = False
    """Whether a run that cannot start it fails with exit status 9."""
    timeout: Positive | None = None
    """Milliseconds for the result of a tool call, at most a day. `timeouts.tool_call` and `tool_timeout_sec` have
    precedence."""
    startup_timeout_sec: Positive | None = None
    """Seconds from its start to its hello, at most a day. `timeouts.hello` has precedence."""
    tool_timeout_sec: Positive | None = None
    """Seconds for the result of a tool call, at most a day. `timeouts.tool_call` has precedence."""
    include_tools: tuple[str, ...] | None = msgspec.field(default=None, name="includeTools")
    """The server's own names of the only tools that are offered. Also written `enabled_tools`. Absent: all."""
    exclude_tools: tuple[str, ...] = msgspec.field(default=(), name="excludeTools")
    """The server's own names of tools that are not offered. Also written `disabled_tools`."""
    instructions: bool = True
    """Whether the server's instructions go into the system prompt."""
    limits: Limits = msgspec.field(default_factory=Limits)
    """The resources that it may use, as in a manifest."""
    restart: Restart = msgspec.field(default_factory=Restart)
    """The rules for starting it again, as in a manifest; without a `policy` it is `permanent`."""
    timeouts: Timeouts = msgspec.field(default_factory=Timeouts)
    """The times that the host waits for it, as in a manifest."""
    sessions: Sessions = "private"
    """The runs that one process of it serves, as in a manifest; `leased` counts as `private`."""
    start: StartMoment = "eager"
    """When it starts, as in a manifest."""
    idle_stop_s: Seconds | None = None
    """When an idle one is stopped, as in a manifest."""
    env_policy: EnvPolicy = "minimal"
    """minimal: only the variables that every program needs, `env`, and those that the entry names in `${}`; inherit:
    the host's environment without its secrets."""

    @property
    def is_enabled(self) -> bool:
        return self.enabled and not self.disabled

    @property
    def texts(self) -> Iterator[str]:
        """Yields all texts that are expanded."""
        yield self.command
        yield from self.args
        yield from (str(value) for value in self.env.values())
        if self.cwd is not None:
            yield self.cwd

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the environment variables that it uses, each once, in their order."""
        return tuple(dict.fromkeys(name for text in self.texts for name in variables_in(text)))


class McpFormat(msgspec.Struct, frozen=True):
    """`.mcp.json` and `$ZOT_HOME/mcp.json`."""

    mcp_servers: dict[str, McpServer] = msgspec.field(default={}, name="mcpServers")
    """The servers, by name."""
    servers: dict[str, McpServer] = {}
    """The same, as VS Code writes it."""


def server_name(key: str) -> str:
    """Returns the name of a server as an extension, which names logs and folders: unfit characters become `_`, and a
    name of more than 64 characters is cut and ends in a part of its hash. Two keys may have the same name."""
    name = _UNFIT.sub("_", key).strip()
    if name.startswith("."):
        name = "_" + name[1:]
    if len(name) > NAME_LIMIT:
        name = f"{name[:NAME_KEPT]}_{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    return name
