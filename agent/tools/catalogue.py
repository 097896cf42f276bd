"""The built-in tools as the model sees them: zot's names, parameters and required fields."""

from __future__ import annotations

from agent.model.request import ToolSpec


def _object(required: list[str], **properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": required}


def _string(description: str) -> dict[str, object]:
    return {"type": "string", "description": description}


def _integer(description: str) -> dict[str, object]:
    return {"type": "integer", "description": description}


BASH = ToolSpec(
    "bash",
    "Run a shell command in the working directory and return its output and exit status.",
    _object(
        ["command"],
        command=_string("What /bin/sh runs."),
        timeout=_integer("Seconds after which the command is stopped; 0 or nothing means the default."),
    ),
)

EDIT = ToolSpec(
    "edit",
    "Replace exact pieces of text in a file and return the difference.",
    _object(
        ["path", "edits"],
        path=_string("The file, absolute or relative to the working directory."),
        edits={
            "type": "array",
            "description": "Replacements, each found in the file as it is before any of them is made.",
            "items": _object(
                ["oldText", "newText"],
                oldText=_string("Text that occurs in the file exactly once."),
                newText=_string("Text to put in its place."),
            ),
        },
    ),
)

READ = ToolSpec(
    "read",
    "Read the lines of a text file, or look at an image.",
    _object(
        ["path"],
        path=_string("The file, absolute or relative to the working directory."),
        offset=_integer("First line to read, counted from 1."),
        limit=_integer("Number of lines to read."),
    ),
)

SKILL = ToolSpec(
    "skill",
    "Load the instructions of a skill by its name.",
    _object(["name"], name=_string("One of the skills that the system prompt lists.")),
)

WRITE = ToolSpec(
    "write",
    "Create a file or replace all of its content, making missing directories.",
    _object(
        ["path", "content"],
        path=_string("The file, absolute or relative to the working directory."),
        content=_string("All that the file will contain."),
    ),
)

EXTENSIONS_MANAGE = ToolSpec(
    "extensions_manage",
    "Make a new Copilot extension, list all of them, or look at one.",
    _object(
        ["operation"],
        operation={
            "type": "string",
            "enum": ["scaffold", "list", "inspect"],
            "description": "scaffold: write a skeleton. list: all, with their state. inspect: one, with its log.",
        },
        name=_string("The extension, for scaffold and inspect."),
        location={
            "type": "string",
            "enum": ["project", "user"],
            "description": "For scaffold: this project (default), or the user, for all projects.",
        },
    ),
)

EXTENSIONS_RELOAD = ToolSpec(
    "extensions_reload",
    "Start new and changed Copilot extensions that a person has trusted; their tools can be called at once.",
    _object([]),
)

OF_EXTENSIONS = (EXTENSIONS_MANAGE, EXTENSIONS_RELOAD)
"""The tools of `--copilot`."""

SPECS = (BASH, EDIT, READ, WRITE)
"""The tools for `--tools`, sorted by name. If there are skills, `SKILL` is offered, too."""


def conditional_tools(*, skills: bool, extensions: bool) -> set[str]:
    """The names of the built-in tools besides `SPECS`: for skills, and for an agent that may write extensions."""
    return {*([SKILL.name] if skills else ()), *([spec.name for spec in OF_EXTENSIONS] if extensions else ())}
