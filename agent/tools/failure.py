"""Why a tool refused or failed, in the words that the model reads."""

from __future__ import annotations


class ToolError(Exception):
    """An expected failure. Its text is the whole tool result."""


def os_failure(verb: str, path: str, error: OSError) -> ToolError:
    """`VERB PATH: reason`, for example `stat /a/b: no such file or directory`.

    The same three parts as zot's, because models and scripts recognise them.
    """
    reason = error.strerror or str(error)
    return ToolError(f"{verb} {path}: {reason[:1].lower()}{reason[1:]}")
