"""The blocking half of the Python API is what the asyncio half says."""

from __future__ import annotations

import ast

import pytest

from wire.rpc.blocking_half import API, HALVES, blocking_half


def public_names(text: str) -> dict[str, set[str]]:
    """The public methods and properties of each class, whose name is that of the blocking half."""
    return {
        node.name.removeprefix("Async"): {
            item.name
            for item in node.body
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not item.name.startswith("_")
        }
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
    }


@pytest.mark.parametrize(("source", "target"), HALVES.items())
def test_both_halves_have_the_same_methods(source, target):
    asyncio_half, blocking = ((API / name).read_text() for name in (source, target))
    assert public_names(asyncio_half) == public_names(blocking) != {}
    assert not any(word in blocking.lower() for word in ("await", "asyncio:", "blocking: ", "not blocking"))


def test_marks_and_words_are_taken_over():
    text = '''"""An `AsyncThing`, an async iterator.

asyncio: for loops.
"""

from .connection.async_waits import come


class AsyncThing:
    def __init__(self) -> None:
        self.name = ""
        # blocking: self._greeted()

    # blocking: @property
    async def cost(self) -> int:
        """Dollars.

        asyncio: a method."""
        return (await self.state(1)).usage

    def __await__(self) -> int:  # not blocking
        return 1

    async def state(self, one: int) -> None:
        async with self as it, it:
            return await come(it, one)
'''
    assert (
        blocking_half(text, "x.py").splitlines()[1:]
        == '''"""A `Thing`, an iterator."""

from .connection.waits import come


class Thing:
    def __init__(self) -> None:
        self.name = ""
        self._greeted()

    @property
    def cost(self) -> int:
        """Dollars."""
        return self.state(1).usage

    def state(self, one: int) -> None:
        with self as it, it:
            return come(it, one)
'''.splitlines()
    )
