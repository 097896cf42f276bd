"""Checks a tool's arguments against its schema before the tool is called.

Extensions write the schemas, and all extensions wait while one check runs. A schema of a few hundred bytes can ask for
millions of steps, or for a page from the network. If the check would take too long, or if the schema refers to parts
outside of itself, the arguments are not checked: the extension gets them as they are, as with zot.
"""

from __future__ import annotations

from typing import Any

from supervisor.registry.schema_cost import FAULT_LENGTH, SchemaExtent, check_cost, patterns_written, schema_extent
from wire.lenient_json import UNREADABLE, read
from wire.text import one_line

FAULTS_NAMED = 5
STEPS_LIMIT = 5_000_000
"""Parts of the schema times values in the arguments; about a tenth of a second."""
FAULTS_LIMIT = 32 * 1024 * 1024
"""Parts of the schema times bytes of the arguments. Beyond this limit the error names no places: the validator collects
all faults at once, each with a copy of the wrong value."""
PATTERN_SIZES = (16 * 1024, 256 * 1024, 4 * 1024 * 1024)
"""Limits for the bytes of one compiled regular expression, tried in this order."""
PATTERNS_LIMIT = 16 * 1024 * 1024
"""Bytes of all compiled regular expressions of a schema. To compile so many takes a tenth of a second."""
LETTERS_LIMIT = 5_000_000_000
"""Characters matched times bytes of the regular expression. A check at this limit takes at worst half a second, mostly
a thousandth of that."""
BACKTRACK_LIMIT = 1_000
"""Backtracking steps of one regular expression on one text."""
TOO_LARGE = "these arguments are too large to be judged"


class Checker:
    """Checks the arguments of one tool. `trouble` says why it cannot check them; empty if it can."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.trouble = ""
        self._extent = SchemaExtent()
        self._pattern_size = 0
        self._validator: Any = None
        try:
            self._extent = schema_extent(schema)
            if self._extent.size > STEPS_LIMIT:
                self.trouble = "its schema unfolds to too many parts"
            else:
                self._validator, self._pattern_size = _compiled(schema)
        except RecursionError:
            self.trouble = "its references are nested too deep"
        except ValueError as error:
            self.trouble = str(error)

    def fault(self, args: bytes) -> str | None:
        """Returns the faults of the arguments, each with its path. None if the arguments fit or cannot be checked."""
        if self._validator is None:
            return None
        try:
            value, _ = read(args)
        except UNREADABLE:
            return None  # the caller reports invalid JSON
        bound = check_cost(self._extent, value)
        if bound.steps > STEPS_LIMIT or bound.letters * self._pattern_size > LETTERS_LIMIT:
            self.trouble = TOO_LARGE
            return None
        if self._validator.is_valid(value):
            return None
        if self._extent.size * len(args) > FAULTS_LIMIT:
            if self._extent.patterns:  # the fault may be a pattern that reached BACKTRACK_LIMIT
                self.trouble = TOO_LARGE
                return None
            return "invalid args: they do not fit the tool's schema, and are too large to name the place"
        return self._named(value)

    def _named(self, value: Any) -> str | None:
        found: list[str] = []
        for error in self._validator.iter_errors(value):
            if "Backtrack" in type(error.kind).__name__:
                continue  # the match was broken off: the text may fit
            path = "".join(f"/{part}" for part in error.instance_path) or "/"
            found.append(f"{path}: {_short(error.message)}")
            if len(found) == FAULTS_NAMED:
                break
        return "invalid args: " + "; ".join(found) if found else None


def _short(message: str) -> str:
    """Cuts the middle: the message begins with the value and ends with its fault."""
    if len(message) > FAULT_LENGTH:
        message = f"{message[: FAULT_LENGTH // 2]} … {message[-FAULT_LENGTH // 2 :]}"
    return one_line(message, FAULT_LENGTH + 3)


def _compiled(schema: dict[str, Any]) -> tuple[Any, int]:
    """Returns the validator, and the limit for the bytes of one regular expression. Raises `ValueError`."""
    import jsonschema_rs  # 20 ms: only if there is a tool to call

    def refuse(uri: str) -> Any:
        raise ValueError(uri)

    written = patterns_written(schema)
    text = "it has too many regular expressions"
    for size in PATTERN_SIZES:
        if written * size > PATTERNS_LIMIT:
            break
        try:
            validator = jsonschema_rs.Draft202012Validator(
                {key: value for key, value in schema.items() if key != "$schema"},
                retriever=refuse,
                pattern_options=jsonschema_rs.FancyRegexOptions(
                    backtrack_limit=BACKTRACK_LIMIT, size_limit=size, dfa_size_limit=size
                ),
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
            text = one_line(str(getattr(error, "message", error)), FAULT_LENGTH)
            if not written:
                break
        else:
            return validator, size
    raise ValueError(text)
