"""Descriptions of parameters, from a docstring."""

from __future__ import annotations

from zotext import Extension


def test_parameters_in_field_lists():
    ext = Extension("x")

    @ext.tool
    def f(a: str, b: int = 0) -> None:
        """Do it.

        :param a: The first,
            and more of it.
        :param int b: The second.
        :returns: Nothing.
        """

    properties = ext.registry.tools["f"].schema["properties"]
    assert ext.registry.tools["f"].description == "Do it."
    assert [schema["description"] for schema in properties.values()] == ["The first, and more of it.", "The second."]
