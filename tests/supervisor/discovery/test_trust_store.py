"""The trust in an extension: never seen, trusted, changed, revoked."""

from __future__ import annotations

import json
import os
import stat

import pytest

from supervisor.discovery.content.content_hash import hash_content
from supervisor.discovery.found_extension import Scope
from supervisor.discovery.trust_rules import TrustState
from supervisor.discovery.trust_store import TrustError
from tests.support.project_extension import append, found, manifest, written


def test_from_never_seen_to_trusted_to_changed_to_revoked(folder, store):
    assert store.judge(found(folder)).standing is TrustState.NEVER_SEEN
    store.trust(folder, written(folder, env=("A",)))
    judged = store.judge(found(folder, env=("A",)))
    assert (judged.standing, judged.reason) == (TrustState.TRUSTED, "")
    more = store.judge(found(folder, env=("A", "B")))
    assert (more.standing, more.reason) == (TrustState.ASKS_FOR_MORE_ENV, "it now asks for B")
    append(folder / "run.sh")
    changed = store.judge(found(folder, env=("A",)))
    assert (changed.standing, changed.reason) == (TrustState.CHANGED, "its files have changed")
    assert store.revoke(folder)
    assert not store.revoke(folder)
    assert store.judge(found(folder)).standing is TrustState.NEVER_SEEN


def test_the_files_that_have_changed_are_named(folder, store):
    (folder / os.fsdecode(b"\xff")).write_text("")  # JSON has no room for such a name
    store.trust(folder, manifest())
    append(folder / "run.sh")
    (folder / "lib" / "rules").rename(folder / "lib" / "more")
    assert store.examine(folder, manifest()).changes[:3] == ("lib/more (new)", "lib/rules (gone)", "run.sh")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_named(folder, store):
    (folder / "lib" / "rules").chmod(0)
    judged = store.judge(found(folder))
    assert judged.standing is TrustState.UNKNOWN
    assert str(folder / "lib" / "rules") in judged.reason


def test_only_extensions_of_projects_need_trust(folder, store):
    for scope in (Scope.EXPLICIT, Scope.GLOBAL):
        assert store.judge(found(folder, scope)).is_trusted
    assert store.examine(folder, manifest()).standing is TrustState.NEVER_SEEN


def test_an_entry_has_hash_name_environment_time_and_parts(folder, store):
    there = written(folder, env=("A",))
    store.trust(folder, there)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert json.loads(store.path.read_bytes()) == {
        "version": 1,
        "extensions": {
            str(folder.resolve()): {
                "hash": hash_content(folder, there).hash,
                "name": "guard",
                "env": ["A"],
                "time": "2026-01-02T03:04:05Z",
                "parts": hash_content(folder, there).parts,
            }
        },
    }
    assert sorted(os.listdir(store.path.parent)) == ["trust.json", "trust.json.lock"]


def test_a_folder_by_another_path_is_the_same(folder, store, tmp_path):
    (tmp_path / "way").symlink_to(folder.parent)
    store.trust(tmp_path / "way" / "guard", manifest())
    assert store.judge(found(folder)).is_trusted


def test_a_link_that_is_turned_to_another_folder_has_never_been_seen(folder, store, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder)
    store.trust(link, manifest())
    other = tmp_path / "other"
    other.mkdir()
    link.unlink()
    link.symlink_to(other)
    assert store.judge(found(link)).standing is TrustState.NEVER_SEEN


def test_a_folder_that_json_has_no_name_for_is_refused(store, tmp_path):
    odd = tmp_path / os.fsdecode(b"\xff")
    odd.mkdir()
    with pytest.raises(TrustError, match="name is not UTF-8"):
        store.trust(odd, manifest())
    assert store.entries() == {}
