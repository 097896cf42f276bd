"""Base of the small classes that handlers get and return.

Without `dataclasses`, which takes longer to import than this whole package.
"""

from __future__ import annotations


class Value:
    """Compares and prints by its fields: the names in `__slots__` of its classes."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields())
        return f"{type(self).__name__}({fields})"

    @classmethod
    def _fields(cls) -> list[str]:
        return [name for each in cls.__mro__ for name in each.__dict__.get("__slots__", ())]
