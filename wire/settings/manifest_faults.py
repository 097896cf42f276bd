"""Finds all faults of a manifest, for people who correct the file."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from wire.field_errors import fault_path, fault_steps
from wire.lenient_json import UNREADABLE, Place, fault_of, place_at, places
from wire.manifest import FILE, VOCABULARY, Manifest, explain_fault, find_other_faults, near_miss

MOST_FAULTS = 20
"""Maximum number of faults: finding each takes a pass over the whole text."""
_STAND_INS: tuple[Any, ...] = ("X", 1, {})


class ManifestFault(NamedTuple):
    """One fault of a manifest."""

    message: str
    """The text; it names the field."""
    place: Place | None
    """Place of the fault; None if it is in no single place."""


def all_faults(text: bytes, *, has_theme: bool = False) -> list[ManifestFault]:
    """Returns the faults for which `parse_manifest` refuses a text, in its words, at most `MOST_FAULTS`."""
    try:
        fields = msgspec.json.decode(text)
    except UNREADABLE as error:
        what, place = fault_of(text, error)
        return [ManifestFault(f"{FILE} is no JSON: {what}", place)]
    if not isinstance(fields, dict):
        return [ManifestFault("a manifest is an object, { … }", place_at(text, 0))]
    where = places(text)

    def fault(path: str, message: str) -> ManifestFault:
        return ManifestFault(message, place_at(text, where[path]) if path in where else None)

    found = [fault(each.place, near_miss(each)) for each in VOCABULARY.unknown(fields) if each.is_near_miss]
    found += [fault(path, message) for path, message in find_other_faults(fields, text, has_theme=has_theme)]
    while True:
        try:
            msgspec.convert(fields, Manifest)
        except msgspec.ValidationError as error:
            path = fault_path(str(error))
            found.append(fault(path, explain_fault(error)))
            if len(found) >= MOST_FAULTS:
                break
            _mend(fields, fault_steps(str(error)))
        else:
            break
    if not found and (refusal := _refusal(text)) is not None:
        found.append(fault(fault_path(str(refusal)), explain_fault(refusal)))
    return sorted(found, key=lambda each: (each.place is not None, each.place and each.place[:2]))


def _refusal(text: bytes) -> msgspec.ValidationError | None:
    """Returns the first fault in the order of the text. For a repeated name, it may be in the first value."""
    try:
        msgspec.json.decode(text, type=Manifest)
    except msgspec.ValidationError as error:
        return error
    return None


def _mend(fields: dict[str, Any], steps: tuple[str | int, ...]) -> None:
    """Removes the faulty value at these steps, so that the next fault shows."""
    *parents, last = steps
    holder: Any = fields
    for step in parents:
        holder = holder[step]
    if isinstance(holder, list) and isinstance(last, int):
        # replaced, not removed: the indices of the other items must stay
        holder[last] = next(value for value in _STAND_INS if _fits(value, fields, steps, holder, last))
    elif last == "name" and holder is fields:
        holder[last] = "x"
    else:
        del holder[last]


def _fits(value: Any, fields: dict[str, Any], steps: tuple[str | int, ...], holder: list[Any], index: int) -> bool:
    holder[index] = value
    try:
        msgspec.convert(fields, Manifest)
    except msgspec.ValidationError as error:
        return fault_steps(str(error)) != steps
    return True
