"""Whether a tool's arguments fit its schema, judged before the tool is called.

Schemas are written by extensions, so a judgement must not cost what all the others would have to wait for: a schema of
a few hundred bytes can ask for millions of steps, or for a page from the network. What would take too long, or refers
to what is not in it, is not judged, and the extension gets the arguments as they are, as with zot.
"""

from __future__ import annotations

from typing import Any

from supervisor.logs import one_line
from wire.lenient_json import UNREADABLE, read

FAULTS_NAMED = 5
FAULT_LENGTH = 200
"""Characters."""
STEPS_LIMIT = 5_000_000
"""Parts of the schema times values in the arguments: about a tenth of a second."""
BACKTRACK_LIMIT = 5_000
"""Steps of one regular expression on one text."""
ROOT = "#"


class Checker:
    """The judge of one tool's calls. `trouble` says why it does not judge, if it does not."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.trouble = ""
        self._size, self._loops = 1, 0
        try:
            self._size, self._loops = extent(schema)
            self._validator = _compiled(schema) if self._size <= STEPS_LIMIT else None
            self.trouble = "" if self._validator is not None else "its schema unfolds to too many parts"
        except (ValueError, RecursionError) as error:
            self._validator = None
            self.trouble = "its references are nested too deep" if isinstance(error, RecursionError) else str(error)

    def fault(self, args: bytes) -> str | None:
        """What is wrong with arguments, each place by its path; None if they fit, or cannot be judged."""
        if self._validator is None:
            return None
        try:
            value, _ = read(args)
        except UNREADABLE:
            return None  # whoever asks has seen to that
        if steps(self._size, self._loops, value) > STEPS_LIMIT:
            self.trouble = "these arguments are too large to be judged"
            return None
        found = []
        for error in self._validator.iter_errors(value):
            if "Backtrack" in type(error.kind).__name__:
                continue  # the text was not read to the end: nothing is known of it
            path = "".join(f"/{part}" for part in error.instance_path) or "/"
            found.append(f"{path}: {one_line(error.message, FAULT_LENGTH)}")
            if len(found) == FAULTS_NAMED:
                break
        return "invalid args: " + "; ".join(found) if found else None


def _compiled(schema: dict[str, Any]) -> Any:
    """Raises `ValueError`."""
    import jsonschema_rs  # 20 ms: only once there is a tool to call

    def refuse(uri: str) -> Any:
        raise ValueError(uri)

    try:
        return jsonschema_rs.Draft202012Validator(
            {key: value for key, value in schema.items() if key != "$schema"},
            retriever=refuse,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT),
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        raise ValueError(one_line(str(getattr(error, "message", error)), FAULT_LENGTH)) from None


# --- what a judgement costs, at most ---------------------------------------------------------------------------


def extent(schema: dict[str, Any]) -> tuple[int, int]:
    """How many parts the schema has once its references are unfolded, and how many of these lead back to where they
    stand. Raises `ValueError` for a reference that leads out of the schema or nowhere, `RecursionError` for a chain of
    hundreds of them."""
    known: dict[str, tuple[int, int]] = {}
    under_way = {ROOT}

    def of(part: Any) -> tuple[int, int]:
        if isinstance(part, dict):
            sums = [of(inner) for inner in part.values()]
            targets = (part.get("$ref"), part.get("$dynamicRef"))
            sums += [of_reference(target) for target in targets if isinstance(target, str)]
        elif isinstance(part, list):
            sums = [of(inner) for inner in part]
        else:
            return 1, 0
        return 1 + sum(size for size, _ in sums), sum(loops for _, loops in sums)

    def of_reference(target: str) -> tuple[int, int]:
        if target in under_way:
            return 1, 1
        if target not in known:
            under_way.add(target)
            known[target] = of(resolve(schema, target))
            under_way.discard(target)
        return known[target]

    return of(schema)


def resolve(schema: dict[str, Any], target: str) -> Any:
    """The part that a reference names. Raises `ValueError` if it is not a JSON pointer into this schema."""
    if not target.startswith("#/"):
        raise ValueError(f"a reference leads out of it: {one_line(target, FAULT_LENGTH)}")
    part: Any = schema
    for name in target[2:].split("/"):
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict) and key in part:
            part = part[key]
        elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
            part = part[int(key)]
        else:
            raise ValueError(f"a reference leads nowhere: {one_line(target, FAULT_LENGTH)}")
    return part


def steps(size: int, loops: int, value: Any) -> int:
    """An upper bound of what it takes to hold a schema of this extent against a value. A schema that leads back to
    itself unfolds once more with each level of the value."""
    values, depth, level = 0, 0, [value]
    while level:
        values += len(level)
        depth += 1
        containers = [one for one in level if isinstance(one, dict | list)]
        level = [inner for one in containers for inner in (one.values() if isinstance(one, dict) else one)]
    unfolded = max(loops, 1) ** min(depth, 64) if loops else 1
    return size * values * unfolded
