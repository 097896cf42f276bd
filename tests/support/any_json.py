"""Any JSON value, and JSON values that differ from another in one place."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**40), 10**40)
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.sampled_from(["", "\0", "\ud83d", "x" * 2_000])
)
"""As Python's parser gives them: also infinity, NaN and lone surrogates."""
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def with_another_value(value: Any, data: Any) -> Any:
    """A copy in which one field or item has any other value, or is missing. `data` is Hypothesis's own."""
    changed = copy.deepcopy(value)
    *path, last = data.draw(st.sampled_from(list(_paths(changed))))
    owner = changed
    for step in path:
        owner = owner[step]
    if data.draw(st.booleans()):
        owner[last] = data.draw(json_values)
    else:
        del owner[last]
    return changed


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield (*path, step)
            yield from _paths(value[step], (*path, step))
