"""A worker has slots and no dictionary, since it is looked at on the hot path."""

from __future__ import annotations

from supervisor.extension.worker import Worker


def test_the_slots_of_the_class_name_all_attributes():
    assert not hasattr(object.__new__(Worker), "__dict__")
