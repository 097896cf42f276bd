"""Writes the classes of the Python API, `pyzot/events.py` and others, from the definitions of the wire.

`python -m wire.rpc.python_classes` writes the files. With `--check` it names those that are out of date, and exits
with 1 if there are any. The classes have the names, the members, their order and the descriptions of the definitions.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WIRE = Path(__file__).parents[1]
API = WIRE.parent / "pyzot"
INDENT = "    "
WIDTH = 120
RENAMED = {"Extension": "ExtensionNotice"}
"""Name in `pyzot` by name on the wire. There, an `Extension` is part of a program, and the record a notice."""
NO_EVENTS = ("Totals", "HostedShare", "Cost", "SentPrompt")
"""Classes that are parts of records."""
ANSWERS = {
    "rpc/responses.py": (
        "SessionFile",
        "State",
        "CommandOutcome",
        "ToolOutcome",
        "SkillInfo",
        "ReloadError",
        "Reloaded",
        "Resumed",
        "Forked",
    ),
    "rpc/sessions.py": ("Session",),
    "dialects/host_calls.py": ("ModelInfo", "ToolInfo"),
    "control/parts.py": ("CommandInfo",),
    "stats.py": ("Alarm", "SessionStats", "ExtensionStats"),
}
"""Classes that the methods of a runtime return, by the file that defines them."""
HOST_ANSWERS = {
    "stats.py": ("HostStats", "Stats"),
    "control/replies.py": ("HostInfoReply",),
    "control/parts.py": ("SkippedExtension", "LimitUse", "PendingRequest", "ExtensionStatus", "ReloadOutcome"),
    "frames/parts.py": ("ContentBlock", "Panel", "ModifiedResult"),
    "frames/extension_frames.py": ("ToolResult", "CommandResponse", "InterceptResponse"),
}
"""Classes that the methods of a host return; `ExtensionStats` is one of them, too."""
BATCH = {
    "batch/outcome.py": ("Usage", "CommandEnd", "Score", "Lost", "Outcome"),
    "batch/records.py": ("BatchEnd",),
}
"""Classes of the results of a batch."""
WITHOUT_ID = {
    "HostInfoReply": "HostInfo",
    "ToolResult": "ToolAnswer",
    "CommandResponse": "CommandAnswer",
    "InterceptResponse": "Verdict",
}
"""New names of classes that are not messages in `pyzot`: they have no id. `ToolResult` is an event there."""
RENAMED_ANSWERS = {"Session": "SessionInfo"}
"""`Session` is an event in `pyzot`."""
RENAMED_BATCH = {"Usage": "TaskUsage", "Lost": "LostRequests", "Outcome": "TaskResult", "BatchEnd": "BatchSummary"}
"""`Usage` is an event in `pyzot`."""
INHERITED = {"Session": "A session that is kept in a file."}
"""Descriptions of classes that also get the members of their base class."""
_NAMES = [name for names in (*ANSWERS.values(), *HOST_ANSWERS.values()) for name in names]
PARTS = {
    *NO_EVENTS,
    *({**WITHOUT_ID, **RENAMED_ANSWERS}.get(name, name) for name in _NAMES),
    "TaskUsage",
    "CommandEnd",
    "LostRequests",
    "Score",
}
"""Classes of members that are objects."""
META = re.compile(r"Annotated\[(.+), msgspec\.Meta\([^)]*\)\]")
HEAD = '''"""{about}

Generated from the definitions of the wire by `python -m wire.rpc.python_classes`; not to be edited.
"""

from __future__ import annotations

{imports}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import {typing}
'''
CONTENT = ("Content", "TextContent")
"""Starts of the types of lists of content blocks."""
PART = "from .record import Part"
TYPING = "Any, ClassVar, Literal"


def pages() -> dict[str, str]:
    """Returns the text of each generated file by its name."""
    return {
        "parts.py": _parts(),
        "events.py": _events(),
        "answers.py": _answers(
            "Classes that the methods of a runtime return.",
            ANSWERS,
            "from .parts import HostedShare, ImageContent, TextContent, Totals",
        ),
        "host_answers.py": _answers(
            "Classes that the methods of a host return.", HOST_ANSWERS, "from .answers import ExtensionStats"
        ),
        "batches/results.py": _answers(
            "Classes of the results of a batch.", BATCH, "from ..parts import Cost, SentPrompt", RENAMED_BATCH
        ),
    }


def _parts() -> str:
    classes = list(_classes(WIRE / "events/parts.py"))
    content = [node for node in classes if node.name.endswith("Content")]
    known = [_class(node, "Part") for node in classes]
    head = HEAD.format(about="The parts of events that are objects themselves.", imports=PART, typing="Any, ClassVar")
    union = f"Content = {' | '.join(node.name for node in content)}\n"
    return "\n\n".join([head, *known, union])


def _events() -> str:
    records = [node for node in _classes(WIRE / "events/records.py") if _bases(node) == ["Record"]]
    imports = "from . import parts  # noqa: F401  (events are read with them)\nfrom .record import Event, UnknownEvent"
    head = HEAD.format(about="The records of the agent's event stream.", imports=imports, typing=TYPING)
    head += "\n    from .parts import Content, Cost, ImageContent, SentPrompt, TextContent, Totals\n"
    names = " | ".join([*map(_name, records), "UnknownEvent"])
    members = textwrap.fill(names, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
    union = f"AnyEvent = (\n{members}\n)  # fmt: skip\n"
    union += '"""Every event, for a `match` that a type checker accepts as complete."""\n'
    table = "EVENTS: dict[str, type[Event]] = {each.type: each for each in Event.__subclasses__() if each.type}\n"
    table += '"""By the `type` of a record."""\n'
    return "\n\n".join([head, *(_class(node, "Event") for node in records), f"{union}{table}"])


def _answers(about: str, classes: dict[str, tuple[str, ...]], other: str, renamed: dict[str, str] | None = None) -> str:
    """Returns the text of a file. `renamed` has new names of classes for this file only."""
    imports = PART if renamed is None else PART.replace(".", "..", 1)
    head = HEAD.format(about=about, imports=imports, typing=TYPING) + f"\n    {other}\n"
    renamed = renamed or {}
    found = []
    for file, names in classes.items():
        known = {node.name: node for node in _classes(WIRE / file)}
        for node in known.values():
            if node.name in names:
                if inherited := [item for base in _bases(node) if base in known for item in known[base].body[1:]]:
                    node.body[1:1] = inherited
                    node.body[0] = ast.Expr(ast.Constant(INHERITED[node.name]))
                node.name = {**WITHOUT_ID, **RENAMED_ANSWERS, **renamed}.get(node.name, node.name)
                node.keywords = []  # their `type` says nothing there
                for item in ast.walk(node):
                    if isinstance(item, ast.Name):
                        item.id = renamed.get(item.id, item.id)
                found.append(_class(node, "Part"))
    return "\n\n".join([head, *found])


def _classes(source: Path) -> Iterator[ast.ClassDef]:
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield node


def _bases(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base) for base in node.bases]


def _tag(node: ast.ClassDef) -> str | None:
    return next((ast.literal_eval(word.value) for word in node.keywords if word.arg == "tag"), None)


def _name(node: ast.ClassDef) -> str:
    return RENAMED.get(node.name, node.name)


def _class(node: ast.ClassDef, base: str) -> str:
    fields = [field for field in _fields(node) if field[0] != "id" or node.name not in WITHOUT_ID.values()]
    lines = [f"class {_name(node)}({base}):"]
    if doc := ast.get_docstring(node):
        lines += [*_docstring(doc), ""]
    nested = {name: part for name, annotation, *_ in fields if (part := _part(annotation))}
    if nested:
        lines += _nested(nested)
    if (tag := _tag(node)) is not None:
        lines.append(f'{INDENT}type: ClassVar[str] = "{tag}"')
    for name, annotation, default, doc in fields:
        lines += _member(name, annotation, default)
        if doc:
            lines += _docstring(doc)
    if len(lines) == 1:
        lines.append(f"{INDENT}pass")
    return "\n".join(lines) + "\n"


def _nested(parts: dict[str, str]) -> list[str]:
    line = f"{INDENT}_parts: ClassVar[dict[str, str]] = {parts!r}".replace("'", '"')
    if len(line) <= WIDTH:
        return [line]
    rows = [f'{INDENT * 2}"{name}": "{part}",' for name, part in parts.items()]
    return [f"{INDENT}_parts: ClassVar[dict[str, str]] = {{", *rows, f"{INDENT}}}"]


def _member(name: str, annotation: str, default: str | None) -> list[str]:
    line = f"{INDENT}{name}: {annotation}" + ("" if default is None else f" = {default}")
    if len(line) <= WIDTH:
        return [line]
    values = annotation.removeprefix("Literal[").removesuffix("]").split(", ")
    return [f"{INDENT}{name}: Literal[", *(f"{INDENT * 2}{value}," for value in values), f"{INDENT}]"]


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str | None, str]]:
    """Yields the name, the annotation, the default as text, and the description of each member. Members with a default
    come last, so that the others can be given by position."""
    found = list(_written_fields(node))
    yield from (field for field in found if field[2] is None)
    yield from (field for field in found if field[2] is not None)


def _written_fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str | None, str]]:
    following = [*node.body[1:], None]
    for item, after in zip(node.body, following, strict=True):
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        annotation, default = _annotation(item)
        is_described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        doc = str(after.value.value) if is_described else ""  # type: ignore[union-attr]
        doc = doc[6:7].upper() + doc[7:] if doc.startswith("Ours: ") else doc
        doc = f"None{doc[6:]}" if doc.startswith("Absent") else doc
        yield item.target.id, annotation, default, doc


def _annotation(item: ast.AnnAssign) -> tuple[str, str | None]:
    text = ast.unparse(item.annotation).replace("'", '"')
    value = item.value
    if isinstance(value, ast.Call) and value.keywords and isinstance(made := value.keywords[0].value, ast.Lambda):
        value = made.body
    default = None if value is None else ast.unparse(value).replace("'", '"')
    if "msgspec.UnsetType" in text or "Unset" in text:
        text, default = text.replace("msgspec.UnsetType", "None"), "None"
    text = META.sub(r"\1", text.replace("Raw", "Any").replace("HostKind", "str").replace("TaskStatus", "str"))
    text = re.sub(r"\bAny \| None\b", "Any", text)
    text = re.sub(r"\blist\[([^\]]+)\]", r"tuple[\1, ...]", text)
    for wire_name, name in RENAMED.items():
        text = name if text == wire_name else text
    return text, default


def _part(annotation: str) -> str:
    """Returns how the member is read: the class of a part, with `[]` for a list and `{}` for members of any name; ""
    for a plain value."""
    annotation = annotation.removesuffix(" | None")
    if annotation.startswith("tuple["):
        inner = annotation.removeprefix("tuple[").removesuffix(", ...]")
        return "content[]" if inner.split(" | ")[0] in CONTENT else f"{inner}[]" if inner[0].isupper() else "plain[]"
    if annotation.startswith("dict[str, ") and annotation[10].isupper() and annotation != "dict[str, Any]":
        return f"{annotation.removeprefix('dict[str, ').removesuffix(']')}{{}}"
    return annotation if annotation in PARTS else ""


def _docstring(text: str) -> list[str]:
    first, *others = (line.strip() for line in text.strip().splitlines())
    lines = [f'{INDENT}"""{first}', *(f"{INDENT}{line}".rstrip() for line in others)]
    return [*lines[:-1], f'{lines[-1]}"""']


def main(arguments: list[str]) -> int:
    texts = pages()
    if "--check" in arguments:
        outdated = [
            name
            for name, text in texts.items()
            if not (API / name).exists() or (API / name).read_text(encoding="utf-8") != text
        ]
        for name in outdated:
            print(f"pyzot/{name} is out of date: run python -m wire.rpc.python_classes", file=sys.stderr)  # noqa: T201
        return 1 if outdated else 0
    for name, text in texts.items():
        (API / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
