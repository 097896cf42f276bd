"""Whether a tool's arguments fit its schema, judged before the tool is called.

Schemas are written by extensions, so a judgement must not cost what all the others would have to wait for: a schema of
a few hundred bytes can ask for millions of steps, or for a page from the network. What would take too long, or refers
to what is not in it, is not judged, and the extension gets the arguments as they are, as with zot.
"""

from __future__ import annotations

from typing import Any

from supervisor.registry.schema_cost import FAULT_LENGTH, Extent, cost, extent, patterns_written
from wire.lenient_json import UNREADABLE, read
from wire.text import one_line

FAULTS_NAMED = 5
STEPS_LIMIT = 5_000_000
"""Parts of the schema times values in the arguments: about a tenth of a second."""
FAULTS_LIMIT = 32 * 1024 * 1024
"""Parts of the schema times bytes of the arguments: the validator makes all faults at once, each with a copy of the
value that is wrong. Beyond it the places are not named."""
PATTERN_SIZES = (16 * 1024, 256 * 1024, 4 * 1024 * 1024)
"""Bytes that one regular expression may take, tried in this order."""
PATTERNS_LIMIT = 16 * 1024 * 1024
"""Bytes that all of a schema's may take: they are made in a tenth of a second."""
LETTERS_LIMIT = 5_000_000_000
"""Characters times bytes of the regular expressions that they are held against: at worst half a second, mostly a
thousandth of it."""
BACKTRACK_LIMIT = 1_000
"""Steps back of one regular expression on one text."""
TOO_LARGE = "these arguments are too large to be judged"


class Checker:
    """The judge of one tool's calls. `trouble` says why it does not judge, if it does not."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.trouble = ""
        self._extent = Extent()
        self._pattern_size = 0
        self._validator: Any = None
        try:
            self._extent = extent(schema)
            if self._extent.size > STEPS_LIMIT:
                self.trouble = "its schema unfolds to too many parts"
            else:
                self._validator, self._pattern_size = _compiled(schema)
        except RecursionError:
            self.trouble = "its references are nested too deep"
        except ValueError as error:
            self.trouble = str(error)

    def fault(self, args: bytes) -> str | None:
        """What is wrong with arguments, each place by its path; None if they fit, or cannot be judged."""
        if self._validator is None:
            return None
        try:
            value, _ = read(args)
        except UNREADABLE:
            return None  # whoever asks has seen to that
        costs = cost(self._extent, value)
        if costs.steps > STEPS_LIMIT or costs.letters * self._pattern_size > LETTERS_LIMIT:
            self.trouble = TOO_LARGE
            return None
        if self._validator.is_valid(value):
            return None
        if self._extent.size * len(args) > FAULTS_LIMIT:
            if self._extent.patterns:  # one of them may have given up
                self.trouble = TOO_LARGE
                return None
            return "invalid args: they do not fit the tool's schema, and are too large to name the place"
        return self._named(value)

    def _named(self, value: Any) -> str | None:
        found: list[str] = []
        for error in self._validator.iter_errors(value):
            if "Backtrack" in type(error.kind).__name__:
                continue  # the text was not read to the end: nothing is known of it
            path = "".join(f"/{part}" for part in error.instance_path) or "/"
            found.append(f"{path}: {_short(error.message)}")
            if len(found) == FAULTS_NAMED:
                break
        return "invalid args: " + "; ".join(found) if found else None


def _short(message: str) -> str:
    """It begins with the value and ends with what is wrong with it: the middle can be spared."""
    if len(message) > FAULT_LENGTH:
        message = f"{message[: FAULT_LENGTH // 2]} … {message[-FAULT_LENGTH // 2 :]}"
    return one_line(message, FAULT_LENGTH + 3)


def _compiled(schema: dict[str, Any]) -> tuple[Any, int]:
    """The validator, and what one regular expression takes at most. Raises `ValueError`."""
    import jsonschema_rs  # 20 ms: only once there is a tool to call

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
