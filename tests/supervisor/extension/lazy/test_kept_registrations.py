"""Registrations are read as they were written, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.lazy.kept_registrations import FILES_LIMIT, Kept, KeptRegistrations
from supervisor.loop.loop import Loop
from supervisor.registry.registration import Command, Tool
from supervisor.registry.worker_registry import Registry
from wire import frames
from wire.dialects.table import find_dialect

TEXT = st.text(max_size=20)
NUMBERS = st.integers(-(2**63), 2**64) | st.floats()
SCHEMAS = st.recursive(
    NUMBERS | st.none() | st.booleans() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
TOOLS = st.builds(
    Tool,
    TEXT,
    TEXT,
    st.dictionaries(TEXT, SCHEMAS, max_size=3),
    retry=st.booleans(),
    timeout_s=st.none() | st.floats(0.1, 100),
    read_only=st.booleans(),
    tokens=st.integers(0, 1000),
    is_deferred=st.booleans(),
    output_schema=st.none() | st.dictionaries(TEXT, SCHEMAS, max_size=2),
)
KEPT = st.builds(
    Kept,
    st.lists(TOOLS, max_size=3),
    st.dictionaries(TEXT, st.builds(Command, TEXT, TEXT), max_size=3),
    st.lists(TEXT, max_size=3),
    st.lists(TEXT, max_size=3),
    st.lists(TEXT, max_size=3),
    TEXT,
    st.none() | st.builds(frames.Hello, TEXT, st.none() | TEXT),
)


@given(KEPT, st.binary(max_size=8), st.floats(0, 1))
def test_the_file_has_all_or_counts_as_none(kept: Kept, junk: bytes, place: float):
    remarks: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        file = KeptRegistrations(Path(folder) / "registrations", "one", remarks.append)
        path = file.path("key")
        assert file.read("key") is None
        file.write("key", kept)
        if not path.exists():
            assert "are not kept" in remarks[0], "only what JSON cannot hold"
            return
        assert (file.read("key"), remarks) == (kept, [])
        assert file.read("another") is None
        text = path.read_bytes()
        at = int(place * len(text))
        path.write_bytes(changed := text[:at] + junk + text[at + len(junk) :])
        if changed != text:
            known = file.read("key")
            assert known is None or known == kept
            assert os.listdir(path.parent) == [path.name]


def test_a_registry_is_filled_with_them():
    def ignore(*_: Any) -> None: ...

    registry = Registry(Loop(), find_dialect("zot"), ignore, ignore)
    kept = Kept([Tool("a", "A", {"type": "object"})], {"hi": Command("Hi", "")}, ["turn_start"], [], ["a"], "Be kind.")
    assert Kept.of(kept.fill(registry), None) == kept


def test_the_oldest_files_go(tmp_path: Path):
    kept = Kept([], {}, [], [], [], "")
    for number in range(FILES_LIMIT + 2):
        path = tmp_path / f"{number}.json"
        path.touch()
        os.utime(path, (number, number))
    KeptRegistrations(tmp_path, "new", print).write("key", kept)
    left = {path.stem for path in tmp_path.iterdir()}
    assert len(left) == FILES_LIMIT
    assert {"0", "1", "2"}.isdisjoint(left)
    assert "new-key" in left


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path):
    remarks: list[str] = []
    (tmp_path / "file").touch()
    KeptRegistrations(tmp_path / "file", "one", remarks.append).write("key", Kept([], {}, [], [], [], ""))
    assert len(remarks) == 1
