"""A patch of ours makes of the old file the new one, says git; and so does patch, for text."""

from __future__ import annotations

import os
import subprocess
import tempfile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.batch.workspace.patch import FILE, LINK, PROGRAM, Side, file_patch

NAMES = st.sampled_from(
    [b"a", b"dir/sub/b.txt", b"with space", b'quo"te\\', "é中".encode(), b"tab\tname", b"-x", b"\xff\xfe"]
)
LINES = st.lists(st.sampled_from([b"a", b"b", b"", b"x\r", b"\xff", b"-- y", b"+++ z", b"@@ -1 +1 @@"]), max_size=25)
CONTENTS = st.one_of(
    st.builds(lambda lines, end: b"\n".join(lines) + end, LINES, st.sampled_from([b"", b"\n"])),
    st.binary(max_size=300),
    st.builds(bytes.__mul__, st.sampled_from([b"\0long", b"\0\1\2"]), st.integers(0, 4000)),
)
SIDES = st.one_of(
    st.none(),
    st.builds(Side, st.sampled_from([FILE, PROGRAM]), CONTENTS),
    st.builds(Side, st.just(LINK), st.sampled_from([b"there", b"../x y", "é".encode()])),
)


def put(root: str, name: bytes, side: Side | None) -> None:
    path = os.path.join(os.fsencode(root), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if side is not None and side.mode == LINK:
        os.symlink(side.data, path)
    elif side is not None:
        with open(path, "wb") as file:
            file.write(side.data)
        os.chmod(path, side.mode & 0o777)


def taken(root: str, name: bytes) -> Side | None:
    path = os.path.join(os.fsencode(root), name)
    if os.path.islink(path):
        return Side(LINK, os.readlink(path))
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return Side(PROGRAM if os.stat(path).st_mode & 0o100 else FILE, file.read())


def apply(root: str, patch: bytes, *command: str) -> None:
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(root), "GIT_CONFIG_GLOBAL": "/dev/null"}
    ended = subprocess.run(command, input=patch, cwd=root, capture_output=True, env=environment, check=False)
    assert ended.returncode == 0, (ended.stderr, patch)


@settings(max_examples=40)
@given(NAMES, SIDES, SIDES)
@example(b"a", None, Side(FILE, b""))
@example(b"a", Side(FILE, b""), None)
@example(b"a", Side(FILE, b"x"), Side(PROGRAM, b"x"))
@example(b"with space", Side(FILE, b"x\n"), Side(PROGRAM, b"y"))
@example(b"a", Side(FILE, b"x\n"), Side(LINK, b"there"))
@example(b"a", Side(LINK, b"here"), Side(LINK, b"there"))
@example(b"a", Side(FILE, b"\0" * 100), Side(FILE, os.urandom(5000)))
@example(
    b"a",
    Side(FILE, b"\n".join(b"%d" % n for n in range(3000))),
    Side(FILE, b"\n".join(b"%d" % -n for n in range(3000))),
)
def test_git_makes_of_the_old_file_the_new_one(name, old, new):
    patch = file_patch(name, old, new)
    assert bool(patch) == (old != new)
    if not patch:
        return
    with tempfile.TemporaryDirectory() as root:
        put(root, name, old)
        apply(root, patch, "git", "apply")
        assert taken(root, name) == new
        apply(root, patch, "git", "apply", "--reverse")
        assert taken(root, name) == old


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb\nc\n", b"a\nx\nc\n"),
        (b"".join(b"%d\n" % n for n in range(50)), b"".join(b"%d\n" % n for n in range(50) if n not in (3, 30))),
        (b"a", b"a\n"),
        (b"a\n", b"b"),
        (None, b"new\n"),
        (b"gone\n", None),
    ],
)
def test_patch_makes_of_the_old_file_the_new_one(tmp_path, old, new):
    sides = [None if each is None else Side(FILE, each) for each in (old, new)]
    put(str(tmp_path), b"dir/with space", sides[0])
    apply(str(tmp_path), file_patch(b"dir/with space", *sides), "patch", "-p1", "-s")
    assert taken(str(tmp_path), b"dir/with space") == sides[1]


def test_it_reads_as_git_writes_it(tmp_path):
    old = b"".join(b"line %d\n" % n for n in range(30))
    new = old.replace(b"line 10\n", b"line ten\n")
    (tmp_path / "a").write_bytes(old)
    (tmp_path / "b").write_bytes(new)
    git = subprocess.run(
        ["git", "diff", "--no-index", "--full-index", "--no-color", "a", "b"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    ).stdout
    ours = file_patch(b"a", Side(FILE, old), Side(FILE, new))
    assert ours.splitlines()[1:3] == git.splitlines()[1:3]
    heads = [line.partition(b" line")[0] for line in git.splitlines()[4:]]  # git repeats a line behind the second @@
    assert [line.partition(b" line")[0] for line in ours.splitlines()[4:]] == heads
