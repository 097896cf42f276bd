"""The hash of an extension's content changes with all that it runs, and with nothing else."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.discovery.content.content_hash import MAX_DEPTH, hash_content, hash_steps
from supervisor.discovery.content.covered_files import ENTRY_COST, ContentError
from supervisor.discovery.discover import read_manifest
from supervisor.discovery.steps import STEP_BYTES, Allowance
from tests.support.project_extension import append, written

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
def test_the_hash_changes_with_every_part_of_the_content(folder, change):
    before = hash_content(folder).hash
    change(folder)
    assert hash_content(folder).hash != before


@pytest.mark.parametrize("change", NO_CHANGES.values(), ids=NO_CHANGES)
def test_the_hash_does_not_change_with_what_is_not_content(folder, change):
    before = hash_content(folder).hash
    change(folder)
    assert hash_content(folder).hash == before


@given(st.data())
def test_two_trees_have_one_hash_exactly_if_they_are_equal(tmp_path_factory, data):
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

    tree, other = data.draw(trees), data.draw(trees)
    first, second = written(tree), written(other)
    if first is not None and second is not None:
        assert (first == second) == (tree == other)
        assert written(dict(reversed(tree.items()))) == first


def test_the_hash_does_not_depend_on_the_place_of_the_folder(folder, tmp_path):
    before = hash_content(folder).hash
    assert hash_content(folder.rename(tmp_path / "elsewhere")).hash == before


OUTWARD = {
    "exec": {"exec": "../../../tools/run"},
    "an argument": {"exec": "python3", "args": ("../../../tools/run",)},
    "in a roundabout way": {"exec": "python3", "args": ("lib/../../../../tools/run",)},
    "a flag with a value": {"exec": "python3", "args": ("--config=../../../tools/run",)},
    "a variable": {"exec": "env", "args": ("RULES=../../../tools/run", "python3")},
    "a short flag": {"exec": "python3", "args": ("-p../../../tools/run",)},
    "a folder": {"exec": "python3", "args": ("../../../tools",)},
}


@pytest.mark.parametrize("fields", OUTWARD.values(), ids=OUTWARD)
def test_a_file_outside_that_the_command_line_names_counts(folder, fields):
    outside = folder.parents[2] / "tools" / "run"
    outside.parent.mkdir()
    outside.write_text("1")
    before = hash_content(folder, written(folder, **fields)).hash
    append(outside)
    after = hash_content(folder, written(folder, **fields)).hash
    assert after != before
    outside.chmod(0o755)
    assert hash_content(folder, written(folder, **fields)).hash != after


def test_a_file_in_an_ignored_folder_counts_if_it_is_named_or_linked(folder):
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "hooks" / "run").write_text("1")
    named = written(folder, exec="./.git/hooks/run")
    before, before_named = hash_content(folder).hash, hash_content(folder, named).hash
    append(folder / ".git" / "hooks" / "run")
    assert hash_content(folder).hash == before
    assert hash_content(folder, named).hash != before_named
    (folder / "by-link").symlink_to(".git/hooks/run")
    before = hash_content(folder).hash
    append(folder / ".git" / "hooks" / "run")
    assert hash_content(folder).hash != before


@pytest.mark.parametrize("target", ["../../../tools", "../../../tools/run"], ids=["folder", "file"])
def test_a_file_outside_that_a_relative_link_leads_to_counts(folder, target):
    outside = folder.parents[2] / "tools" / "run"
    outside.parent.mkdir()
    outside.write_text("1")
    (folder / "out").symlink_to(target)
    before = hash_content(folder).hash
    append(outside)
    assert hash_content(folder).hash != before


@pytest.mark.parametrize("above", ["..", "../../..", "/".join([".."] * 40)])
def test_of_a_folder_that_holds_the_extension_only_the_program_of_python_counts(folder, above):
    root = folder.joinpath(above).resolve()
    fields = {"exec": "python3", "args": ("-m", "rules", "--root", above)}
    (folder / "root").symlink_to(above)
    content = hash_content(folder, written(folder, **fields))
    assert len(content.files) <= 5, "a walk of the folders above would find more"
    if root != Path("/"):
        (root / "more").write_text("")
        assert hash_content(folder, written(folder, **fields)).hash == content.hash
        (root / "__main__.py").write_text("")
        assert hash_content(folder, written(folder, **fields)).hash != content.hash


def test_the_manifest_that_was_parsed_is_the_one_that_counts(folder):
    parsed = written(folder)
    written(folder, args=("-x",))
    with pytest.raises(ContentError, match=r"extension.json changes while it is read"):
        hash_content(folder, parsed)


def test_of_a_manifest_behind_a_link_the_text_that_was_parsed_counts(folder, tmp_path):
    def parsed(text: str) -> str:
        (tmp_path / "far.json").write_text(text)
        return hash_content(folder, read_manifest(folder)).hash

    (folder / "extension.json").unlink()
    (folder / "extension.json").symlink_to(tmp_path / "far.json")
    first = parsed('{"name": "guard", "exec": "a"}')
    assert parsed('{"name": "guard", "exec": "b"}') != first
    assert parsed('{"name": "guard", "exec": "a"}') == first


def test_only_the_target_of_an_absolute_link_counts(folder, tmp_path):
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
    ("allowance", "named"),
    [(Allowance(files=3), "3 files"), (Allowance(bytes=2**20), "1 MB.*file is .*/large .1 MB.")],
    ids=["files", "bytes"],
)
def test_too_many_files_or_bytes_are_an_error_that_says_what_to_do(folder, allowance, named):
    with (folder / "large").open("wb") as file:
        file.truncate(2**20)
    with pytest.raises(ContentError, match=rf"guard more than {named}.*--ext"):
        hash_content(folder, allowance=allowance)


def test_extensions_share_one_allowance_and_the_largest_file_is_named_before_it_is_read(folder, tmp_path):
    shared = Allowance(bytes=2**20)
    (folder / "lib" / "rules").write_bytes(bytes(600_000))
    hash_content(folder, allowance=shared)
    other = tmp_path / "other"
    other.mkdir()
    with (other / "sparse").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ContentError, match=r"with .*/other more than 1 MB .*file is .*/sparse \(1048576 MB\)"):
        hash_content(other, allowance=shared)
    assert shared.used_files < 20


def test_the_work_is_divided_into_steps_by_bytes_and_by_files(folder):
    few = sum(1 for _ in hash_steps(folder))
    (folder / "large").write_bytes(bytes(20 * STEP_BYTES))
    assert sum(1 for _ in hash_steps(folder)) >= few + 20
    for number in range(300):
        (folder / f"{number}").write_text("")
    assert sum(1 for _ in hash_steps(folder)) >= few + 20 + 300 * ENTRY_COST // STEP_BYTES - 1


@pytest.mark.parametrize("depth", [MAX_DEPTH, 1100])
def test_folders_within_one_another_are_refused_in_one_line(folder, depth):
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    with pytest.raises(ContentError, match=r"guard holds more than 100 folders within one another; remove"):
        hash_content(folder)
    subprocess.run(["rm", "-rf", folder / "d"], check=True)
    os.makedirs(folder.joinpath(*["d"] * (MAX_DEPTH - 1)))
    assert hash_content(folder).hash


def test_a_path_that_is_too_long_for_the_system_is_one_line(folder):
    made = folder
    with contextlib.chdir(folder):
        for _ in range(20):
            os.mkdir("x" * 250)
            os.chdir("x" * 250)
    with pytest.raises(ContentError, match=r"x… cannot be read: File name too long") as raised:
        hash_content(made)
    assert len(str(raised.value)) < 500


def test_a_long_chain_of_links_leads_nowhere(folder):
    for number in range(1500):
        (folder / f"{number}").symlink_to(f"{number + 1}")
    assert hash_content(folder).hash == hash_content(folder).hash


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ContentError, match="nowhere cannot be read"):
        hash_content(tmp_path / "nowhere")


# --- data -------------------------------------------------------------------------------------------------------

DATA = {"data": ["*.json", "*.log", "lib/*.txt"]}
STATE = {
    "new data": lambda folder: (folder / "todos.json").write_text("[]"),
    "data in a folder": lambda folder: (folder / "lib" / "x.txt").write_text(""),
    "changed data": lambda folder: append(folder / "run.log"),
    "removed data": lambda folder: (folder / "run.log").unlink(),
    "data that runs": lambda folder: (folder / "run.log").chmod(0o755),
    "a huge file of data": lambda folder: os.truncate(folder / "run.log", 2**40),
    "unreadable data": lambda folder: (folder / "run.log").chmod(0),
}
NO_STATE = {
    "a link with a name of data": lambda folder: (folder / "x.json").symlink_to("run.sh"),
    "a folder with a name of data": lambda folder: (folder / "x.json").mkdir(),
    "a FIFO with a name of data": lambda folder: os.mkfifo(folder / "x.json"),
    "a link in the place of data": lambda folder: ((folder / "run.log").unlink(), (folder / "run.log").symlink_to("x")),
    "a package": lambda folder: (folder / "package.json").write_text("{}"),
    "a package within": lambda folder: (folder / "lib" / "package.json").write_text("{}"),
    "a setting of TypeScript": lambda folder: (folder / "tsconfig.build.json").write_text("{}"),
    "another ending": lambda folder: (folder / "lib" / "x.py").write_text(""),
    "another folder": lambda folder: (folder / "lib" / "x.log").write_text(""),
    "what a word names": lambda folder: append(folder / "rules.json"),
    "what a word names by a way around": lambda folder: append(folder / "conf.json"),
    "what a link leads to": lambda folder: append(folder / "main.log"),
    "what an absolute link leads to": lambda folder: append(folder / "plugin.log"),
    "what a shell gets": lambda folder: append(folder / "setup.log"),
    "a module of Python": lambda folder: (folder / "sitecustomize.py").write_text(""),
    "a module of Node": lambda folder: (folder / "node_modules").mkdir(),
}


@pytest.fixture
def with_data(folder):
    for name in ("run.log", "rules.json", "conf.json", "main.log", "plugin.log", "setup.log"):
        (folder / name).write_text("1")
    (folder / "main.py").symlink_to("main.log")
    (folder / "plugin.py").symlink_to(folder / "plugin.log")
    manifest = written(folder, args=["rules.json", f"--conf={folder}/lib/../conf.json", ". ./setup.log; run"], **DATA)
    return folder, manifest


@pytest.mark.parametrize("change", STATE.values(), ids=STATE)
def test_data_is_no_part_of_the_content(with_data, change):
    folder, manifest = with_data
    before = hash_content(folder, manifest)
    change(folder)
    assert hash_content(folder, manifest).hash == before.hash
    assert "run.log" not in before.files


@pytest.mark.parametrize("change", NO_STATE.values(), ids=NO_STATE)
def test_what_only_has_a_name_of_data_is_content(with_data, change):
    folder, manifest = with_data
    before = hash_content(folder, manifest).hash
    change(folder)
    assert hash_content(folder, manifest).hash != before


def test_a_hard_link_to_data_makes_it_no_data(with_data):
    folder, manifest = with_data
    os.link(folder / "run.log", folder / "again.sh")
    before = hash_content(folder, manifest).hash
    append(folder / "run.log")
    assert hash_content(folder, manifest).hash != before


def test_outside_of_the_folder_is_no_data(with_data):
    folder, manifest = with_data
    (folder.parent / "shared").mkdir()
    (folder / "link.d").symlink_to("../shared")
    before = hash_content(folder, manifest).hash
    (folder.parent / "shared" / "x.json").write_text("")
    assert hash_content(folder, manifest).hash != before
