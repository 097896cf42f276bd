"""Why a journal or the folder of a batch cannot be used. Each text names the file, what is wrong, and what to do."""

from __future__ import annotations


class JournalError(Exception):
    """The journal cannot be used."""


class BusyError(JournalError):
    """Another batch process works on the folder."""

    def __init__(self, text: str, pid: int | None) -> None:
        super().__init__(text)
        self.pid = pid
        """The pid of the other process; None if unknown."""


class DamagedError(JournalError):
    """The journal has a bad line with good ones after it, which were written later: no crash leaves that."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line
        """Number of the first bad line, from 1."""


class NewerError(JournalError):
    """The journal was written by a newer version."""


class FolderError(Exception):
    """A folder is no batch's, or its files cannot be used."""
