"""The kinds of extensions by their origin, with all words and rules in which they differ."""

from __future__ import annotations

from typing import ClassVar

import msgspec

COPILOT = "copilot"
"""The dialect of Copilot extensions."""
NODE = "node"
"""The program that runs Copilot extensions."""


class ExtensionKind(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of a found, skipped or installed extension, apart from its protocol. Compare the four with `is`."""

    OWN: ClassVar[ExtensionKind]
    """A folder with a manifest that says how it is started."""
    COPILOT: ClassVar[ExtensionKind]
    """A folder with an `extension.mjs`, which zot starts with Node."""
    MCP: ClassVar[ExtensionKind]
    """An MCP server that is an entry in a file."""
    MCP_FILE: ClassVar[ExtensionKind]
    """A whole file of MCP servers: only if it cannot be read."""

    noun: str
    article: str
    """The article of the noun."""
    family: str
    """The noun for an extension with a folder if its kind does not matter or is unknown."""
    label: str | None
    """The kind in lists; None if they leave it out."""
    flag: str
    """The flag with which a user names an extension of this kind."""
    load_line: str
    """Beginning of a line that says why it cannot be loaded; may have `{folder}` or `{name}`."""
    why_needed: str
    """Why no run may start without it if it cannot be read."""
    has_folder: bool = True
    """Whether it has a folder of its own. If not, it is an entry in a file: it has no record of an installation, and
    runs in a folder that others use, too."""
    has_data_dir: bool = False
    """Whether it gets a folder for its data."""
    may_guard: bool = True
    is_expanded: bool = False
    """Whether variables in its command line and its environment are filled in. They may be secrets, and have defaults.
    """
    described_in: str = "manifest"
    """The word for its description."""
    fields_advice: str = "correct or remove it: zot ext schema manifest has all fields"
    """Advice about an unknown field there."""
    dialect: str = ""
    """The dialect of all extensions of this kind; "" if each manifest names its own."""

    @property
    def one(self) -> str:
        """The noun with its article."""
        return f"{self.article} {self.noun}"


_GUARD = "may be required, or a guard whose failure means deny"
_LOAD = "extension load: {folder}"
ExtensionKind.OWN = ExtensionKind(
    noun="extension", article="an", family="extension", label=None, flag="--ext", load_line=_LOAD, why_needed=_GUARD,
    has_data_dir=True,
)  # fmt: skip
ExtensionKind.COPILOT = ExtensionKind(
    noun="Copilot extension", article="a", family="extension", label="copilot", flag="--ext", load_line=_LOAD,
    why_needed=_GUARD, dialect=COPILOT,
)  # fmt: skip
ExtensionKind.MCP = ExtensionKind(
    noun="MCP server", article="an", family="MCP server", label="mcp", flag="--mcp-config",
    load_line="MCP server {name}", why_needed="may be required", has_folder=False, may_guard=False,
    is_expanded=True, described_in="entry", fields_advice="zot schema mcp has all fields", dialect="mcp",
)  # fmt: skip
ExtensionKind.MCP_FILE = msgspec.structs.replace(
    ExtensionKind.MCP, noun="file", article="a", family="file", load_line="MCP servers",
    why_needed="may have a server that is required",
)  # fmt: skip
