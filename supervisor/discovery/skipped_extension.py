"""Extensions that discovery finds and that are not started: the reasons, and the lines about them for people."""

from __future__ import annotations

import shlex
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.kind import ExtensionKind
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

NAMED = 5
"""Maximum number of extensions named in a line about several."""


class SkipCause(Enum):
    """Why an extension is not started."""

    UNUSABLE = "unusable"
    """It cannot be read, or has a fault."""
    DISABLED = "disabled"
    NAME_TAKEN = "name taken"
    """An extension that is started has the same name."""
    ITSELF = "itself"
    """It is `zot mcp serve` for this project."""
    LACKING = "lacking"
    """This machine lacks a program or a package that its start needs."""
    NEVER_SEEN = "never seen"
    """It needs trust, and the user has never decided about it."""
    UNTRUSTED = "untrusted"
    """It needs trust, and its content differs from the trusted content, or may differ."""


class SkipReason(msgspec.Struct, frozen=True):
    """Why an extension is not started."""

    what: str
    """The fault in a few words; for an extension that needs trust, why it is not trusted."""
    cause: SkipCause = SkipCause.UNUSABLE
    advice: str = ""
    """The advice to the user; "" if `what` has it, or there is none."""
    of_several: str = ""
    """`what` in the plural, for several extensions; "" if it is the same text."""

    @property
    def is_waiting(self) -> bool:
        """Whether the extension would start if the user trusted it."""
        return self.cause in (SkipCause.NEVER_SEEN, SkipCause.UNTRUSTED)

    @property
    def text(self) -> str:
        """The fault and the advice, in one line."""
        if self.is_waiting:
            return f"not trusted ({self.what})" + (f": not started; {self.advice}" if self.advice else "")
        return f"{self.what}: {self.advice}" if self.advice else self.what

    @property
    def text_of_several(self) -> str:
        """As `text`, for several extensions."""
        return msgspec.structs.replace(self, what=self.of_several or self.what).text

    def with_way_out(self, found: FoundExtension) -> SkipReason:
        """The reason of an extension that needs trust, with the advice at the start of a run."""
        return msgspec.structs.replace(self, advice=_trust_command(shlex.quote(found.manifest.name), found))


class SkippedExtension(msgspec.Struct, frozen=True):
    """A folder whose extension is not started, and why."""

    folder: Path
    why: SkipReason
    kind: ExtensionKind = ExtensionKind.OWN
    is_error: bool = True
    """Whether the user must be told. False if the user wants the extension skipped."""
    untrusted: FoundExtension | None = None
    """The extension that would be started if the user trusted it."""
    is_named: bool = False
    """Whether the folder was named with `--ext`."""
    may_be_needed: bool = False
    """Whether its faulty manifest may be that of a required extension or of a guard whose failure means deny."""
    mcp_file: Path | None = None
    """The file of MCP servers, or of the server. `folder` is then that file, or its path and the server's name;
    `reason` names the file."""
    is_of_others: bool = False
    """Whether it is a Copilot extension in a folder of the user's that was never trusted: it is for other programs, and
    does not count as a guard here."""

    @property
    def reason(self) -> str:
        """Why it is not started, in one line."""
        return self.why.text

    @property
    def why_needed(self) -> str:
        """Why no run may start without it, and why it is not started; empty if the others may run."""
        if self.untrusted is not None:
            manifest = self.untrusted.manifest
            if manifest.required:
                return f"extension {self.name} is required and {self.reason}"
            denies = manifest.on_failure == "deny" and not self.is_of_others
            return f"extension {self.name} denies where it fails and is {self.reason}" if denies else ""
        if not self.is_error or not (self.is_named or self.may_be_needed):
            return ""
        why = f"was named with {self.kind.flag}" if self.is_named else self.kind.why_needed
        return f"{self.kind.family} {self.name} {why}, and cannot be loaded: {self.reason}"

    @property
    def name(self) -> str:
        return self.folder.name if self.untrusted is None else self.untrusted.manifest.name

    @property
    def line(self) -> str:
        """The notice for the user."""
        if self.untrusted is not None:
            return f"{self.kind.noun} {self.name} of {_whose(self.untrusted)} is {self.reason}"
        return f"{self.kind.load_line.format(folder=self.folder, name=self.name)}: {self.reason}"

    @property
    def _state(self) -> object:
        """Equal for extensions that share a line: Copilot extensions that wait for trust, or cannot be started, for the
        same reason; and all broken ones that are for other programs, whatever their faults."""
        if self.kind is ExtensionKind.COPILOT and self.untrusted is not None:
            return self.untrusted.scope, self.why.what
        if self.kind is ExtensionKind.COPILOT and (self.is_of_others or self.why.cause is SkipCause.LACKING):
            return self.is_of_others or self.why
        return id(self)


def lines_of(skipped: Iterable[SkippedExtension]) -> list[str]:
    """The notices for the user about skipped extensions. Copilot extensions with the same fault share one: a folder of
    the Copilot CLI may have many that are unwanted here."""
    alike: dict[object, list[SkippedExtension]] = {}
    for each in skipped:
        if each.is_error:
            alike.setdefault(each._state, []).append(each)
    return [each[0].line if len(each) == 1 else _line_of_several(each) for each in alike.values()]


def _line_of_several(skipped: Sequence[SkippedExtension]) -> str:
    first, why, names = skipped[0].untrusted, skipped[0].why, [shlex.quote(each.name) for each in skipped]
    more = len(names) - NAMED
    named = ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
    count = counted(len(skipped), skipped[0].kind.noun)
    if first is None and skipped[0].is_of_others:
        return f"{count} of yours cannot be used: {named}: zot ext list says why of each"
    if first is None:
        return f"{count} cannot be started: {named}: {why.text_of_several}"
    said = "" if why.cause is SkipCause.NEVER_SEEN else f" ({why.what})"
    return f"{count} of {_whose(first)} are not trusted{said}: not started: {named}; {_trust_command('NAME', first)}"


def _whose(found: FoundExtension) -> str:
    return "this project" if found.scope is Scope.PROJECT else "yours"


def _trust_command(name: str, found: FoundExtension) -> str:
    return f"zot ext trust {name}" + (", or --trust-project" if found.scope is Scope.PROJECT else "")
