"""The servers that are written in C."""

from tests.support.compiled_children import compiled

__all__ = ["compiled"]
