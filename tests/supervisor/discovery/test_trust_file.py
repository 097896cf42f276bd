"""The trust file is changed whole, by one writer at a time; a damaged file trusts nothing and stays as it is."""

from __future__ import annotations

import json
import multiprocessing
import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from supervisor.discovery.trust_rules import TrustRecord, TrustState
from supervisor.discovery.trust_store import TrustError, TrustFile, TrustStore
from tests.support.patience import PATIENCE_S
from tests.support.project_extension import found, manifest, written

if TYPE_CHECKING:
    from pathlib import Path


def test_unknown_fields_are_kept(folder, store):
    store.trust(folder, manifest())
    whole = json.loads(store.path.read_bytes())
    whole["more"] = [1]
    whole["extensions"][str(folder)]["more"] = {"a": None}
    store.path.write_text(json.dumps(whole))
    store.trust(folder, written(folder, env=("A",)))
    after = json.loads(store.path.read_bytes())
    assert (after["more"], after["extensions"][str(folder)]["more"]) == ([1], {"a": None})
    assert store.entries()[str(folder)].env == ("A",)


DAMAGED = {
    "half a file": "{",
    "an array": "[]",
    "not UTF-8": '{"version": 1, "extensions": {"\udcff": {}}}',
    "no object": '{"extensions": 3}',
    "a bad row": '{"extensions": {"/a": 3}}',
    "a bad entry": '{"extensions": {"/a": {"hash": 3, "name": "x"}}}',
    "a later version": '{"version": 2}',
    "nested deeply": "[" * 5000,
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_record_trusts_nothing_and_stays_as_it_is(folder, store, text):
    store.trust(folder, manifest())
    store.path.write_bytes(text.encode("utf-8", "surrogateescape"))
    judged = store.judge(found(folder))
    assert judged.standing is TrustState.UNKNOWN
    assert str(store.path) in judged.reason
    assert "remove it" in judged.reason
    damaged = store.path.read_bytes()
    with pytest.raises(TrustError):
        store.trust(folder, manifest())
    assert store.path.read_bytes() == damaged


def test_a_record_that_is_no_file_is_refused_at_once(folder, store):
    store.path.parent.mkdir(exist_ok=True)
    os.mkfifo(store.path)
    assert "cannot be read: Not a file" in store.judge(found(folder)).reason


def test_a_home_that_cannot_be_written_is_one_clear_error(folder, tmp_path):
    (tmp_path / "file").write_text("")
    store = TrustStore(tmp_path / "file")
    assert store.judge(found(folder)).standing is TrustState.NEVER_SEEN
    with pytest.raises(TrustError, match=r"trust\.json cannot be written: .*ZOT_HOME"):
        store.trust(folder, manifest())


def test_a_trust_file_that_is_a_link_stays_one(folder, store, tmp_path):
    store.path.parent.mkdir()
    store.path.symlink_to(tmp_path / "elsewhere.json")
    store.trust(folder, manifest())
    assert store.path.is_symlink()
    assert store.judge(found(folder)).is_trusted


def test_a_writer_that_fails_leaves_the_record_as_it_was(folder, store):
    store.trust(folder, manifest())
    before = store.path.read_bytes()
    with pytest.raises(TypeError), TrustFile(store.path.parent).changing() as rows:
        rows["/x"] = {"not JSON": object()}
    assert store.path.read_bytes() == before
    assert sorted(os.listdir(store.path.parent)) == ["trust.json", "trust.json.lock"]


def _trust_many(home: Path, folders: list[Path]) -> None:
    for folder in folders:
        TrustStore(home).trust(folder, manifest())


def test_parallel_writers_lose_nothing(tmp_path):
    folders = [tmp_path / f"{number}" for number in range(40)]
    for folder in folders:
        folder.mkdir()
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_trust_many, args=(tmp_path / "home", folders[k::4])) for k in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(PATIENCE_S)
        assert writer.exitcode == 0
        writer.close()
    assert set(TrustStore(tmp_path / "home").entries()) == {str(folder.resolve()) for folder in folders}


def test_entries_survive_a_round_trip():
    entry = TrustRecord("sha256:0", "x", ("A",), "2026-01-02T03:04:05Z")
    assert msgspec.convert(msgspec.to_builtins(entry), TrustRecord) == entry
