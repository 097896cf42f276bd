"""Generates the text of the files that come from the table of flags; `python docs/generate.py` writes them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from wire.flags.batch import BATCH
from wire.flags.flag import Kind
from wire.flags.run import RUN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wire.flags.flag import Flag

WRITTEN = "Written by docs/generate.py from `wire.flags`; do not edit."
TEXTUAL = (Kind.TEXT, Kind.PATH, Kind.SCHEMA, Kind.NAMES, Kind.CHOICE)
OPTION_KINDS = {
    Kind.SWITCH: "SWITCH", Kind.TEXT: "TEXT", Kind.CHOICE: "TEXT", Kind.TEXTS: "TEXTS", Kind.PATH: "PLACE",
    Kind.PATHS: "PLACES", Kind.NAMES: "CSV", Kind.SCHEMA: "SCHEMA", Kind.COUNT: "COUNT", Kind.SIZE: "COUNT",
    Kind.WAIT: "SECONDS", Kind.LIMIT: "SECONDS", Kind.DOLLARS: "DOLLARS",
}  # fmt: skip
"""The name in `pyzot.flags` of each kind of value."""
OPTION_TYPES = {
    "SWITCH": "bool", "TEXT": "str", "TEXTS": "str | Sequence[str]", "PLACE": "Place",
    "PLACES": "Place | Sequence[Place]", "CSV": "str | Sequence[str]", "SCHEMA": "Place | Mapping[str, Any]",
    "COUNT": "int", "SECONDS": "float", "DOLLARS": "float",
}  # fmt: skip


def plain_flags(commands: Iterable[str]) -> str:
    """The module `cli.run.plain_flags`. `commands` are the names of the sub-commands."""
    rows = [f'    "{word}": ("{flag.name}", {_plain_kind(flag)}),\n' for flag in RUN for word in flag.words]
    names = [f'        "{name}",\n' for name in sorted(commands)]
    return (
        '"""The flags of a run by their names, each with its parameter and the kind of its value; and the names\n'
        f'of the sub-commands. {WRITTEN}"""\n\n'
        "from __future__ import annotations\n\n"
        f"FLAGS: dict[str, tuple[str, str | tuple[str, ...]]] = {{\n{''.join(rows)}}}\n"
        f"COMMANDS = frozenset(\n    {{\n{''.join(names)}    }}\n)\n"
    )


def _plain_kind(flag: Flag) -> str:
    if flag.kind is Kind.CHOICE:
        return _tuple(flag.choices)
    kind = "texts" if flag.is_repeatable else "text" if flag.kind in TEXTUAL else flag.kind.value
    return f'"{kind}"'


def run_flags() -> str:
    """The module `agent.run_flags`."""
    flags = [flag for flag in RUN if flag.field is not None]
    fields = "".join(f"    {flag.field or flag.name}: {_field_type(flag)}\n{_doc(_meaning(flag))}" for flag in flags)
    rows = "".join(f'    "{flag.name}": "{flag.field or flag.name}",\n' for flag in flags)
    return (
        f'"""The fields of a run\'s request that are flags. {WRITTEN}"""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import Literal\n\n"
        "import msgspec\n\n\n"
        "class RunFlags(msgspec.Struct, frozen=True, kw_only=True):\n"
        '    """The values of flags, each described as in the help."""\n\n'
        f"{fields}\n\n"
        f'FIELDS = {{\n{rows}}}\n"""Parameter of the flag → field. A flag `--no-…` sets its field to false."""\n'
    )


def _meaning(flag: Flag) -> str:
    return f"False with `{flag.long}`: {flag.help}" if flag.name.startswith("no_") else flag.help


def _field_type(flag: Flag) -> str:
    if flag.kind is Kind.SWITCH:
        return f"bool = {flag.name.startswith('no_')}"
    if flag.is_repeatable:
        return "tuple[str, ...] = ()"
    return f"{_value_type(flag)} | None = None"


def _value_type(flag: Flag) -> str:
    if flag.kind is Kind.CHOICE:
        return f"Literal[{_tuple(flag.choices)[1:-1]}]"
    return "str" if flag.kind in TEXTUAL else "int" if flag.kind is Kind.COUNT else "float"


def options() -> str:
    """The module `pyzot.flags`."""
    return (
        f'"""The flags that are options of a runtime or a batch. {WRITTEN}"""\n\n'
        "from __future__ import annotations\n\n"
        "TYPE_CHECKING = False\n"
        "if TYPE_CHECKING:\n"
        "    from collections.abc import Mapping, Sequence\n"
        "    from pathlib import Path\n"
        "    from typing import Any, Literal, TypedDict\n\n"
        "    Place = str | Path\n\n"
        f"{_options_of('RunOptions', 'a run', RUN)}\n{_options_of('BatchFlags', '`zot batch`', BATCH)}\n\n"
        "TEXT, PLACE, SWITCH, SECONDS, COUNT, TEXTS, PLACES, CSV, DOLLARS, SCHEMA = range(10)\n"
        f"{_kinds_of('RUN', RUN)}{_kinds_of('BATCH', BATCH)}"
        '"""How the value of each option is written."""\n'
    )


def _options_of(name: str, command: str, flags: tuple[Flag, ...]) -> str:
    lines = [f'    class {name}(TypedDict, total=False):\n        """The flags of {command}. Times are seconds."""\n\n']
    for flag in flags:
        if flag.is_option:
            kind = _value_type(flag) if flag.kind is Kind.CHOICE else OPTION_TYPES[OPTION_KINDS[flag.kind]]
            lines.append(f"        {flag.name}: {kind}\n{_doc(flag.option_help or flag.help, ' ' * 8)}")
    return "".join(lines)


def _kinds_of(name: str, flags: tuple[Flag, ...]) -> str:
    rows = "".join(f'    "{flag.name}": {OPTION_KINDS[flag.kind]},\n' for flag in flags if flag.is_option)
    return f"{name} = {{\n{rows}}}\n"


def _doc(text: str, indent: str = "    ") -> str:
    wrapped = textwrap.fill(f'"""{text}', 120 - len(indent) - 3, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(f'{wrapped}"""', indent) + "\n"


def _tuple(words: tuple[str, ...]) -> str:
    return f"({', '.join(f'{chr(34)}{word}{chr(34)}' for word in words)})"
