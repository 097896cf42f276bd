"""What is trusted: the hash of an extension's content, the record, and what follows from both."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.content_hash import Bounds, ContentError, hash_content
from supervisor.discovery.discover import Found, Scope, discover
from supervisor.discovery.environment import extension_environment, policy_of
from supervisor.discovery.trust_file import TrustFile
from supervisor.discovery.trust_rules import TrustRecord, TrustState, decide, widens
from supervisor.discovery.trust_store import TrustError, TrustStore
from supervisor.home.config import Config
from wire.manifest import Manifest

NAMES = st.sampled_from(["ANTHROPIC_API_KEY", "AWS_KEY", "EDITOR", "PATH", "ZOTCORE_RPC_TOKEN"])
ENVS = st.lists(NAMES, max_size=4).map(tuple)
MANIFESTS = st.builds(
    Manifest, name=st.just("x"), exec=st.just("x"), env=ENVS, env_policy=st.sampled_from([None, "inherit", "minimal"])
)
CONFIGS = st.builds(
    Config, secrets=st.sampled_from([(), ("AWS_*",)]), env_policy=st.sampled_from(["inherit", "minimal"])
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An extension of a project."""
    made = tmp_path / "project" / ".zot" / "extensions" / "guard"
    (made / "lib").mkdir(parents=True)
    (made / "extension.json").write_text('{"name": "guard", "exec": "./run.sh"}')
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o755)
    (made / "lib" / "rules").write_text("1")
    (made / "link").symlink_to("lib/rules")
    return made


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "home", now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def manifest(**fields: Any) -> Manifest:
    return Manifest(**{"name": "guard", "exec": "./run.sh", **fields})


def found(folder: Path, scope: Scope = Scope.PROJECT, **fields: Any) -> Found:
    return Found(folder, manifest(**fields), scope)


# --- the hash ---------------------------------------------------------------------------------------------------


def append(path: Path) -> None:
    path.write_text(path.read_text() + "x")


CHANGES = {
    "content": lambda folder: append(folder / "lib" / "rules"),
    "exec bit": lambda folder: (folder / "run.sh").chmod(0o644),
    "new file": lambda folder: (folder / "lib" / "more").write_text(""),
    "new folder": lambda folder: (folder / "empty").mkdir(),
    "removed": lambda folder: (folder / "lib" / "rules").unlink(),
    "renamed": lambda folder: (folder / "lib" / "rules").rename(folder / "lib" / "rulez"),
    "moved into a folder": lambda folder: (folder / "run.sh").rename(folder / "lib" / "run.sh"),
    "a link turned": lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("run.sh")),
    "a link made a file": lambda folder: ((folder / "link").unlink(), (folder / "link").write_text("1")),
    "a FIFO": lambda folder: os.mkfifo(folder / "pipe"),
    "bytecode": lambda folder: (folder / "__pycache__").write_text(""),
    "where it came from": lambda folder: (folder / ".zot-install.json").write_text("{}"),
}
NO_CHANGES = {
    "git": lambda folder: (folder / ".git").mkdir(),
    "times": lambda folder: os.utime(folder / "run.sh", (1, 1)),
    "who may read": lambda folder: (folder / "lib" / "rules").chmod(0o600),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_counts(folder, change):
    before = hash_content(folder).hash
    change(folder)
    assert hash_content(folder).hash != before


@pytest.mark.parametrize("change", NO_CHANGES.values(), ids=NO_CHANGES)
def test_what_is_not_part_of_it_does_not_count(folder, change):
    before = hash_content(folder).hash
    change(folder)
    assert hash_content(folder).hash == before


@given(st.data())
def test_the_same_files_have_the_same_hash_and_others_another(tmp_path_factory, data):
    names = st.text("ab/\n: 0", min_size=1, max_size=6).filter(lambda name: not set(name.split("/")) & {"", ".", ".."})
    trees = st.dictionaries(names, st.binary(max_size=4), max_size=4)

    def written(tree: dict[str, bytes]) -> str | None:
        root = tmp_path_factory.mktemp("tree")
        try:
            for name, content in tree.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content)
        except OSError:
            return None  # one name is a folder of another
        return hash_content(root).hash

    one, other = data.draw(trees), data.draw(trees)
    first, second = written(one), written(other)
    if first is not None and second is not None:
        assert (first == second) == (one == other)
        assert written(dict(reversed(one.items()))) == first


def test_where_the_folder_is_does_not_count(folder, tmp_path):
    before = hash_content(folder).hash
    assert hash_content(folder.rename(tmp_path / "elsewhere")).hash == before


OUTWARD = {
    "exec": {"exec": "../../../tools/run"},
    "an argument": {"exec": "python3", "args": ("../../../tools/run",)},
}


@pytest.mark.parametrize("fields", OUTWARD.values(), ids=OUTWARD)
def test_what_the_command_line_leads_to_outside_counts(folder, fields):
    outside = folder.parents[2] / "tools" / "run"
    outside.parent.mkdir()
    outside.write_text("1")
    before = hash_content(folder, manifest(**fields)).hash
    append(outside)
    after = hash_content(folder, manifest(**fields)).hash
    assert after != before
    outside.chmod(0o755)
    assert hash_content(folder, manifest(**fields)).hash != after


def test_what_the_command_line_or_a_link_leads_to_counts_also_where_nothing_else_does(folder):
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "hooks" / "run").write_text("1")
    named = manifest(exec="./.git/hooks/run")
    before, before_named = hash_content(folder).hash, hash_content(folder, named).hash
    append(folder / ".git" / "hooks" / "run")
    assert hash_content(folder).hash == before
    assert hash_content(folder, named).hash != before_named
    (folder / "by-link").symlink_to(".git/hooks/run")
    before = hash_content(folder).hash
    append(folder / ".git" / "hooks" / "run")
    assert hash_content(folder).hash != before


@pytest.mark.parametrize("target", ["../../../tools", "../../../tools/run"], ids=["folder", "file"])
def test_what_a_relative_link_leads_to_outside_counts(folder, target):
    outside = folder.parents[2] / "tools" / "run"
    outside.parent.mkdir()
    outside.write_text("1")
    (folder / "out").symlink_to(target)
    before = hash_content(folder).hash
    append(outside)
    assert hash_content(folder).hash != before


def test_of_an_absolute_link_only_the_target_counts(folder, tmp_path):
    (tmp_path / "system").write_text("1")
    (folder / "python").symlink_to(tmp_path / "system")
    before = hash_content(folder).hash
    append(tmp_path / "system")
    assert hash_content(folder).hash == before


def test_links_in_circles_and_to_nowhere_come_to_an_end(folder):
    tools = folder.parents[2] / "tools"
    tools.mkdir()
    (tools / "again").symlink_to("../tools")
    for name, target in {"self": "self", "up": ".", "nowhere": "../nowhere", "out": "../../../tools"}.items():
        (folder / name).symlink_to(target)
    assert hash_content(folder).hash == hash_content(folder).hash


@pytest.mark.parametrize(
    ("bounds", "named"), [(Bounds(files=3), "3 files"), (Bounds(bytes=2**20), "1 MB")], ids=["files", "bytes"]
)
def test_too_much_is_an_error_that_says_what_to_do(folder, bounds, named):
    with (folder / "large").open("wb") as file:
        file.truncate(2**20)
    with pytest.raises(ContentError, match=rf"guard holds more than {named}.*--ext"):
        hash_content(folder, bounds=bounds)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_named(folder, store):
    (folder / "lib" / "rules").chmod(0)
    judged = store.judge(found(folder))
    assert judged.standing is TrustState.UNKNOWN
    assert str(folder / "lib" / "rules") in judged.reason


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ContentError, match="nowhere cannot be read"):
        hash_content(tmp_path / "nowhere")


# --- the decision -------------------------------------------------------------------------------------------------


@given(
    st.none() | st.builds(TrustRecord, hash=st.sampled_from("ab"), name=st.just("x"), env=ENVS),
    st.sampled_from("ab"),
    ENVS,
)
def test_only_what_was_trusted_as_it_is_and_asks_for_no_more_is_trusted(entry, content, env):
    standing = decide(entry, content, env)
    assert (standing is TrustState.NEVER_SEEN) == (entry is None)
    if entry is not None:
        more = set(env) - set(entry.env)
        assert (standing is TrustState.ASKS_FOR_MORE_ENV) == bool(more)
        assert (standing is TrustState.TRUSTED) == (not more and content == entry.hash)


@given(MANIFESTS, MANIFESTS, CONFIGS)
def test_a_manifest_widens_exactly_if_it_gets_more(old, new, config):
    host = dict.fromkeys(["ANTHROPIC_API_KEY", "AWS_KEY", "EDITOR", "PATH", "ZOTCORE_RPC_TOKEN", "OTHER"], "")
    was, will_be = (extension_environment(Found(Path("/x"), one, Scope.GLOBAL), config, host) for one in (old, new))
    more = set(will_be) - set(was)
    said = widens(old, new, config)
    assert bool(said) == bool(more)
    opened = (policy_of(old, config), policy_of(new, config)) == ("minimal", "inherit")
    assert ("env_policy: inherit" in said) == opened
    assert {name for name in said if name != "env_policy: inherit"} <= set(new.env)


def test_what_widens():
    config = Config(secrets=("AWS_*",))
    assert widens(manifest(), manifest(env=("AWS_KEY", "PATH", "ZOTCORE_RPC_TOKEN")), config) == ["AWS_KEY"]
    assert widens(manifest(env=("AWS_KEY",)), manifest(), config) == []
    minimal = manifest(env_policy="minimal")
    assert widens(minimal, manifest(env_policy="minimal", env=("EDITOR",)), config) == ["EDITOR"]
    assert widens(minimal, manifest(), config) == ["env_policy: inherit"]
    assert widens(minimal, manifest(), Config(env_policy="minimal")) == []


# --- the record ---------------------------------------------------------------------------------------------------


def test_from_never_seen_to_trusted_to_changed_to_revoked(folder, store):
    assert store.judge(found(folder)).standing is TrustState.NEVER_SEEN
    store.trust(folder, manifest(env=("A",)))
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


def test_what_has_changed_is_named(folder, store):
    (folder / os.fsdecode(b"\xff")).write_text("")  # JSON has no room for such a name
    store.trust(folder, manifest())
    append(folder / "run.sh")
    (folder / "lib" / "rules").rename(folder / "lib" / "more")
    assert store.judge(found(folder)).changes[:3] == ("lib/more (new)", "lib/rules (gone)", "run.sh")


def test_only_those_of_projects_need_it(folder, store):
    for scope in (Scope.EXPLICIT, Scope.GLOBAL):
        assert store.judge(found(folder, scope)).is_trusted
    assert store.examine(folder, manifest()).standing is TrustState.NEVER_SEEN


def test_an_entry_says_what_was_granted_to_whom_and_when(folder, store):
    store.trust(folder, manifest(env=("A",)))
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert json.loads(store.path.read_bytes()) == {
        "version": 1,
        "extensions": {
            str(folder.resolve()): {
                "hash": hash_content(folder, manifest()).hash,
                "name": "guard",
                "env": ["A"],
                "time": "2026-01-02T03:04:05Z",
                "parts": hash_content(folder, manifest()).parts,
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


def test_fields_of_others_are_kept(folder, store):
    store.trust(folder, manifest())
    whole = json.loads(store.path.read_bytes())
    whole["more"] = [1]
    whole["extensions"][str(folder)]["more"] = {"a": None}
    store.path.write_text(json.dumps(whole))
    store.trust(folder, manifest(env=("A",)))
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


def test_a_home_that_cannot_be_written_is_one_clear_error(folder, tmp_path):
    (tmp_path / "file").write_text("")
    store = TrustStore(tmp_path / "file")
    assert store.judge(found(folder)).standing is TrustState.NEVER_SEEN
    with pytest.raises(TrustError, match=r"trust\.json cannot be written: .*ZOT_HOME"):
        store.trust(folder, manifest())


def test_a_folder_that_json_has_no_name_for_is_refused(store, tmp_path):
    odd = tmp_path / os.fsdecode(b"\xff")
    odd.mkdir()
    with pytest.raises(TrustError, match="name is not UTF-8"):
        store.trust(odd, manifest())
    assert store.entries() == {}


def test_a_record_that_is_a_link_stays_one(folder, store, tmp_path):
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
    for one in folders:
        TrustStore(home).trust(one, manifest())


def test_parallel_writers_lose_nothing(tmp_path):
    folders = [tmp_path / f"{number}" for number in range(40)]
    for one in folders:
        one.mkdir()
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_trust_many, args=(tmp_path / "home", folders[k::4])) for k in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
        assert writer.exitcode == 0
        writer.close()
    assert set(TrustStore(tmp_path / "home").entries()) == {str(one.resolve()) for one in folders}


# --- what is started ------------------------------------------------------------------------------------------------


def test_admission(folder, tmp_path):
    home = tmp_path / "home"
    assert Admission(home, Consent())(found(folder)) == "never seen"
    assert Admission(home, Consent(whole_project=True))(found(folder)) == ""
    assert Admission(home, Consent(folders=frozenset({folder})))(found(folder)) == ""


def test_a_new_version_of_a_projects_must_be_trusted_as_it_is(folder, store, tmp_path):
    admission = Admission(tmp_path / "home", Consent())
    store.trust(folder, manifest())
    assert admission.may_run(found(folder), manifest()) is None
    append(folder / "run.sh")
    assert admission.may_run(found(folder), manifest()) == "not trusted (its files have changed)"
    store.trust(folder, manifest())
    assert admission.may_run(found(folder), manifest()) is None


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.EXPLICIT])
def test_a_new_version_of_another_needs_trust_only_to_be_handed_more(folder, store, tmp_path, scope):
    admission = Admission(tmp_path / "home", Consent(), Config(secrets=("AWS_*",)))
    append(folder / "run.sh")
    assert admission.may_run(found(folder, scope), manifest()) is None
    asks = found(folder, scope, env=("AWS_KEY",))
    assert admission.may_run(asks, manifest()) == f"it now asks for AWS_KEY, in {folder}"
    assert admission.may_run(asks, asks.manifest) is None
    store.trust(folder, asks.manifest)
    assert admission.may_run(asks, manifest()) is None


def test_an_untrusted_one_is_skipped_and_hides_nothing(folder, tmp_path):
    home = tmp_path / "home"
    (home / "extensions" / "guard").mkdir(parents=True)
    (home / "extensions" / "guard" / "extension.json").write_text('{"name": "guard", "exec": "x"}')
    discovery = discover((), folder.parents[2], home, lambda _: "never seen")
    assert [(one.folder, one.scope) for one in discovery.found] == [(home / "extensions" / "guard", Scope.GLOBAL)]
    (skipped,) = discovery.skipped
    assert skipped.is_error
    assert skipped.untrusted is not None
    assert skipped.reason == "not trusted (never seen): not started; zot ext trust guard, or --trust-project"
    assert skipped.line == f"extension guard of this project is {skipped.reason}"


def test_extensions_of_a_home_that_is_also_the_projects_are_the_users_own(folder):
    project = folder.parents[2]
    (one,) = discover((), project, project / ".zot", lambda _: "never seen").found
    assert one.scope is Scope.GLOBAL


def test_entries_survive_a_round_trip():
    entry = TrustRecord("sha256:0", "x", ("A",), "2026-01-02T03:04:05Z")
    assert msgspec.convert(msgspec.to_builtins(entry), TrustRecord) == entry
