"""The JSON Schema that the final text must fit: read from its file before anything starts, then held against texts.

It imports the validator; only a run with a schema imports this module.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import jsonschema_rs
import msgspec

from agent.answers.checked_text import CheckedText
from supervisor.home.safe_files import read_file
from supervisor.registry.plain_schema import shorten
from wire.lenient_json import ARGUMENTS_DEPTH, UNREADABLE, fault_of, is_deeper, json_on_one_line, place_at, places
from wire.text import one_line, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wire.lenient_json import Place

SIZE_LIMIT = 128 * 1024
"""Bytes of the file. The model reads it with each request."""
FAULTS_LIMIT = 10
"""Faults that the model is told."""
BRANCHES_SHOWN = 4
"""Number of branches shown of an `anyOf` or `oneOf` that the value does not fit."""
ALL_FAULTS_LIMIT = 32 * 1024 * 1024
"""Bytes of the text, times those of the schema or of the text, whichever is larger. Beyond this limit only the first
fault is named: the validator collects all faults at once, each with a copy of the wrong value."""
FENCE = "```"
INLINE = "(the JSON)"
"""The name in errors of a schema that is no file."""


class AnswerSchemaError(ValueError):
    """The file is no schema that answers could be held against; the text says why, and where."""


class AnswerSchema:
    """A JSON Schema: of the draft in its `$schema`, else of 2020-12. Raises `AnswerSchemaError`. References lead to
    places in the file; nothing else is read, from no folder and no server."""

    def __init__(self, given: str) -> None:
        """`given` is the path of a file, or the schema itself: a text that begins with `{`."""
        path, text = (INLINE, _bounded(INLINE, given.encode())) if is_inline(given) else (given, _read(given))
        value = _json(path, text)
        self._size = len(text)
        self._validator = _validator(path, text, value)
        self.instructions = (
            "Your final answer is read by a program. It must be one JSON value that fits this JSON Schema, and nothing"
            " else: no words before or after it, and no code fence.\n\n" + msgspec.json.encode(value).decode()
        )
        """For the system prompt."""

    def check(self, text: str) -> CheckedText:
        """Whether a final text fits. It must be JSON and nothing else, or one block between ``` or ```json and ```."""
        found = _without_fence(text.strip()).encode("utf-8", "surrogatepass")
        try:
            value = msgspec.json.decode(found)
        except UNREADABLE as error:
            return CheckedText(text, faults=(_not_json(found, error),))
        if is_deeper(value, ARGUMENTS_DEPTH):
            return CheckedText(text, faults=(f"it is nested deeper than {ARGUMENTS_DEPTH} levels",))
        if self._validator.is_valid(value):
            return CheckedText(found.decode(), json_on_one_line(found))
        is_small = max(self._size, len(found)) * len(found) < ALL_FAULTS_LIMIT
        faults = tuple(_faults(self._validator.iter_errors(value) if is_small else self._first(value)))
        left = len(faults) - FAULTS_LIMIT
        return CheckedText(text, faults=(*faults[:FAULTS_LIMIT], *([f"and {left} more"] if left > 0 else [])))

    def _first(self, value: Any) -> Iterator[jsonschema_rs.ValidationError]:
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            yield error


def is_inline(given: str) -> bool:
    """Whether this is a schema, and not the path of one."""
    return given.lstrip().startswith("{")


# --- the file -----------------------------------------------------------------------------------------------


def _read(path: str) -> bytes:
    if not path.strip():
        raise AnswerSchemaError("--output-schema is empty: give it a file, or leave it out")
    try:
        text = read_file(Path(path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise AnswerSchemaError(f"--output-schema {valid_text(path)}: cannot be read: {reason}") from None
    return _bounded(path, text)


def _bounded(path: str, text: bytes) -> bytes:
    if len(text) > SIZE_LIMIT:
        raise _fault(path, f"it has {len(text):,} bytes; the limit is {SIZE_LIMIT:,}, as each request has it")
    return text


def _json(path: str, text: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except UNREADABLE as error:
        what, place = _fault_of(text, error)
        where = "" if place is None else f":{place.line}:{place.column}"
        quoted = "" if place is None or not place.quoted else f" (the line: {place.quoted})"
        raise _fault(f"{path}{where}", f"not JSON: {what}{quoted}") from None
    if not isinstance(value, dict):
        raise _fault(path, f'a schema is an object, such as {{"type": "object"}}, not {shorten(text.decode())}')
    return value


def _validator(path: str, text: bytes, value: dict[str, Any]) -> jsonschema_rs.Validator:
    outside: list[str] = []

    def refuse(uri: str) -> NoReturn:
        outside.append(uri)
        raise ValueError(uri)

    try:
        return jsonschema_rs.validator_for(value, retriever=refuse, base_uri=Path(path).absolute().as_uri())
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        message = str(getattr(error, "message", error))
        at: list[str | int] = getattr(error, "instance_path", [])
        left = outside[0] if outside else found[1] if (found := _ABSENT.match(message)) else ""
        if left == value.get("$schema") or message.startswith("Unknown meta-schema"):
            at, message = ["$schema"], f"no draft of JSON Schema has the name {left!r}; leave it out for 2020-12"
        elif left:
            at = _reference(value, left)
            message = f"it refers to {left}; nothing is fetched: copy that schema into its $defs"
        elif at and isinstance(error, jsonschema_rs.ValidationError):
            message = f"{shorten(_pointer(at))}: {_said(error)}"
        else:
            at, message = _reference(value, message), shorten(message)
        raise _fault(path + _place(text, at), f"not a JSON Schema: {message}") from None


_ABSENT = re.compile(r"Resource '([^']+)' is not present")


def _reference(schema: dict[str, Any], said: str) -> list[str | int]:
    """The path of the reference that a message is about; empty if none is found."""
    waiting: list[tuple[list[str | int], Any]] = [([], schema)]
    while waiting:
        at, value = waiting.pop()
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        waiting += [([*at, step], each) for step, each in inner]
        if at and at[-1] in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
            document, _, fragment = value.partition("#")
            if (document.lstrip("./") or fragment or value) in said:
                return at
    return []


def _place(text: bytes, at: list[str | int]) -> str:
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in at).removeprefix(".")
    where = places(text).get(name)
    return "" if where is None else ":{0.line}:{0.column}".format(place_at(text, where))


def _fault(where: str, what: str) -> AnswerSchemaError:
    return AnswerSchemaError(f"--output-schema {valid_text(where)}: {what}")


# --- a text -------------------------------------------------------------------------------------------------


def _without_fence(text: str) -> str:
    """The content of the fences, if the text is one fenced block; else the text."""
    if len(text) < 2 * len(FENCE) or not (text.startswith(FENCE) and text.endswith(FENCE)):
        return text
    opening, line_feed, rest = text[len(FENCE) : -len(FENCE)].partition("\n")
    return rest.strip() if line_feed and opening.strip().lower() in ("", "json") else text


def _fault_of(text: bytes, error: Exception) -> tuple[str, Place | None]:
    return ("a number is too large", None) if isinstance(error, msgspec.ValidationError) else fault_of(text, error)


def _not_json(text: bytes, error: Exception) -> str:
    if not text:
        return "it is empty"
    what, place = _fault_of(text, error)
    where = "" if place is None else f" at line {place.line}, column {place.column}"
    quoted = "" if place is None or not place.quoted else f" (the line: {one_line(place.quoted, 200)})"
    return f"it is not JSON alone: {what}{where}{quoted}"


def _faults(errors: Iterable[jsonschema_rs.ValidationError]) -> Iterator[str]:
    """Each fault: where the value is, what is wrong, and where the rule is in the schema."""
    for error in errors:
        rule = shorten(_pointer(error.schema_path))
        yield f"{shorten(_pointer(error.instance_path)) or '/'}: {_said(error)} (rule {rule})"


def _said(error: jsonschema_rs.ValidationError) -> str:
    """The fault in words. If none of several schemas fits, the first fault of each."""
    branches = [branch[0].message for branch in getattr(error.kind, "context", ()) if branch]
    if not branches:
        return shorten(error.message)
    shown = "; or ".join(shorten(message) for message in branches[:BRANCHES_SHOWN])
    more = len(branches) - BRANCHES_SHOWN
    return f"{shown}; or {more} more" if more > 0 else shown


def _pointer(path: Iterable[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
