"""A row of the table of flags: how a flag is written, which values it takes, and its help."""

from __future__ import annotations

import keyword
from enum import Enum

import msgspec
from msgspec.structs import replace


class Kind(Enum):
    """The values of a flag."""

    SWITCH = "switch"
    """None: the flag is given or not."""
    TEXT = "text"
    TEXTS = "texts"
    """A text; the flag is repeatable."""
    PATH = "path"
    PATHS = "paths"
    """A path; the flag is repeatable."""
    NAMES = "names"
    """A list of names, separated by commas."""
    SCHEMA = "schema"
    """A path, or a JSON Schema itself."""
    CHOICE = "choice"
    """One of `choices`."""
    COUNT = "count"
    """A whole number of `least` or more."""
    NUMBER = "number"
    """A number from `least` to `most`."""
    WAIT = "wait"
    """A length of time."""
    LIMIT = "limit"
    """A length of time above zero."""
    DOLLARS = "dollars"
    """An amount of US dollars above zero."""
    SIZE = "size"
    """A number of bytes above zero."""


METAVARS = {
    Kind.COUNT: "N", Kind.WAIT: "DURATION", Kind.LIMIT: "DURATION", Kind.DOLLARS: "USD", Kind.SIZE: "SIZE",
    Kind.PATH: "FILE", Kind.PATHS: "FILE", Kind.SCHEMA: "FILE", Kind.TEXT: "TEXT", Kind.TEXTS: "TEXT",
}  # fmt: skip
"""The placeholder in the help for the value of a flag without a `metavar`."""


class Flag(msgspec.Struct, frozen=True):
    """One flag of one command, or of several."""

    names: str
    """All its names, with spaces between them: `-e --ext`."""
    help: str
    kind: Kind = Kind.TEXT
    panel: str = ""
    """The title of its group in the help."""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    """The values of a `CHOICE`; for another kind, the values that a shell offers."""
    least: float = 1
    most: float | None = None
    default: str | int | None = None
    shows_default: bool = True
    """Whether help adds the default. False if the text of the help names it."""
    completer: str = ""
    """The function of `cli.help.completion` that offers values."""
    field: str | None = ""
    """The field that it sets in the request for a run or a batch; empty if the field has the flag's name, None if it
    sets none. A flag `--no-…` of a run sets its field to false."""
    is_option: bool = True
    """Whether it is an option of `pyzot`, too."""
    option_help: str = ""
    """Description of the `pyzot` option, if `help` does not fit."""

    @property
    def words(self) -> list[str]:
        """Its names."""
        return self.names.split()

    @property
    def long(self) -> str:
        """The first of its names with two dashes."""
        return next(word for word in self.words if word.startswith("--"))

    @property
    def name(self) -> str:
        """The name of its parameter: `mcp_config` for `--mcp-config`, `continue_` for `--continue`."""
        name = self.long[2:].replace("-", "_")
        return f"{name}_" if keyword.iskeyword(name) else name

    @property
    def takes_value(self) -> bool:
        return self.kind is not Kind.SWITCH

    @property
    def is_repeatable(self) -> bool:
        return self.kind in (Kind.TEXTS, Kind.PATHS)

    def variant(self, help: str = "", *, panel: str | None = None) -> Flag:  # noqa: A002
        """Returns the flag for another command: with this help and this panel, where given."""
        return replace(self, help=help or self.help, panel=self.panel if panel is None else panel)
