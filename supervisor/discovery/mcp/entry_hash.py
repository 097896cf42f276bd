"""Hashes the part of an MCP server's entry that is trusted: how it is started, and the project's files that it names.

The hash covers name, `command`, `args`, `env`, `cwd` and `env_policy` of the entry as they are written. A word names a
file if it leads to one in the project: the whole word, its part behind a `=`, or a part between spaces, colons, commas
and the signs of a shell. Paths start in `cwd`, and in each folder that another word names. A text behind `sh -c` is
divided as a shell does it; if that is uncertain, the hash covers every file of the project that is executable or a
script. A word also names the files that Python and Node find for it without the ending: `server` and `app.server` name
`server.py` and `app/server.py`. Of a folder, the hash covers the files that a launcher would run; of the folder in
which `npm`, `make` and others start, the files that they read there. It does not cover files that these files load or
that a launcher downloads.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.discovery.content.covered_files import Content, ContentError, Covered, digest_state, link_state
from supervisor.discovery.content.seal import HISTORY
from supervisor.discovery.steps import Allowance
from supervisor.home.safe_files import read_start
from wire.data_files import paths_in
from wire.dialects.shell_words import certain_words, texts_for_shells, with_known_folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.discovery.steps import Steps

RUN_IN_FOLDERS = (
    "__init__.py", "__main__.py", "package.json", "index.js", "index.mjs", "index.cjs", "index.ts", "pyproject.toml",
    "deno.json", "deno.jsonc", "GNUmakefile", "makefile", "Makefile", "justfile", "Justfile", ".justfile", "Dockerfile",
    "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml",
)  # fmt: skip
"""Files that launchers run or read in a folder that they get as an argument."""
LAUNCHERS = {
    "package.json": {"npm", "pnpm", "yarn", "bun"},
    "deno": {"deno"},
    "makefile": {"make", "gmake"},
    "justfile": {"just"},
    "pyproject": {"uv", "poetry", "pdm", "hatch", "rye"},
    "compose": {"docker-compose", "podman-compose", "compose"},
}
"""Programs that read one of `RUN_IN_FOLDERS` in the folder in which they start, by a part of its name."""
ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts")
"""Endings of programs that a word may leave out."""
SCRIPTS = (
    *ENDINGS, ".sh", ".bash", ".zsh", ".ksh", ".fish", ".rb", ".pl", ".php", ".lua", ".tcl", ".awk", ".jar", ".mts",
    ".cts", ".tsx", ".jsx", ".wasm",
)  # fmt: skip
"""Endings of programs that need no exec bit."""
WORDS_LIMIT = 2000
"""Maximum number of parts of words that are looked up as paths."""
FOLDERS_LIMIT = 8
"""Maximum number of folders in which each part is looked up."""
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
_BETWEEN = re.compile(r"""[\s:;,="'()<>|&{}`\\]+""")


def entry_hash_steps(found: FoundExtension, allowance: Allowance | None = None) -> Steps[Content]:
    """Reads the files that the entry names, in steps. `found` must be expanded. Raises `ContentError` if one of them
    cannot be read, or if there is more than the allowance."""
    assert found.mcp_entry is not None
    assert found.workspace is not None
    server, files = found.mcp_entry.server, _Files(str(found.workspace), allowance or Allowance())
    written = {
        "name": found.mcp_entry.key,
        "command": server.command,
        "args": server.args,
        "env": server.env,
        "cwd": server.cwd,
        "env_policy": server.env_policy,
    }
    for name, value in written.items():
        files.add_word(name, value)
    if server.cwd is not None:
        yield from files.look_in(str(found.folder))
    texts = texts_for_shells(found.command)
    known = [certain_words(text) for text in texts]
    if None in known or (texts and "CDPATH" in found.set_env):
        yield from files.all_programs()
    home = found.set_env.get("HOME", os.path.expanduser("~"))
    told = [*map(with_known_folders, texts), *(word for words in known for word in words or ())]
    parts = (part for word in (*found.command, *found.set_env.values(), *told) for part in _parts(word))
    words = list(dict.fromkeys(_in_home(part, home) if told else part for part in parts))
    yield from files.look_where_it_starts(str(found.folder), words)
    if len(words) > WORDS_LIMIT:
        raise ContentError(
            f"{found.where}: {found.manifest.name} has more than {WORDS_LIMIT} words; put them into a file"
        )
    folders = _folders(str(found.folder), words, str(found.workspace) if texts else "")
    if len(folders) > FOLDERS_LIMIT:
        raise ContentError(
            f"{found.where}: {found.manifest.name} names more than {FOLDERS_LIMIT} folders; put them into a file"
        )
    for word in words:
        for folder in folders:
            yield from files.look_for(os.path.join(folder, word))
            if _MODULE.fullmatch(word):
                package, _, module = word.replace(".", "/").rpartition("/")
                yield from files.look_for(os.path.join(folder, package, module))
                yield from files.look_in(os.path.join(folder, package))
        yield
    return files.content()


def _folders(start: str, words: Sequence[str], project: str) -> list[str]:
    """The folder in which a server starts, and the folders that its words name; at most `FOLDERS_LIMIT` and one more.
    With `project` also the folders that words name from within a folder of the project: a shell may change to it."""
    found, others, real = [start], {_path_and_target(start)}, os.path.realpath(project)
    for folder in found:  # the loop itself appends to the list
        for word in words:
            path = os.path.join(folder, word)
            known = _path_and_target(path)
            may_be = folder == start or _relative_path(known[1], real)
            if may_be and known not in others and os.path.isdir(path) and len(found) <= FOLDERS_LIMIT:
                others.add(known)
                found.append(path)
        if not project:
            break
    return found


def _in_home(part: str, home: str) -> str:
    return home + part[1:] if part == "~" or part.startswith("~/") else part


def _parts(word: str) -> Iterator[str]:
    if "\0" in word:
        return
    yield from filter(None, paths_in(word))
    for part in _BETWEEN.split(word):
        if part and part != word:
            yield part


class _Files(Covered):
    """The files of a project that have been covered."""

    def __init__(self, project: str, allowance: Allowance) -> None:
        super().__init__(allowance)
        self._project = os.path.abspath(project)
        self._real = os.path.realpath(project)
        self._seen: set[tuple[str, str]] = set()
        self._looked_for: set[tuple[str, str]] = set()

    def add_word(self, name: str, value: Any) -> None:
        """Covers a member of the entry."""
        text = msgspec.json.encode(value, order="sorted")
        self._states.append((name, b"field " + hashlib.sha256(text).hexdigest().encode()))

    def look_for(self, path: str) -> Steps[None]:
        """Covers the files that a path names, with or without an ending."""
        path = path.rstrip("/")
        if not os.path.isdir(os.path.dirname(path)):
            return  # not marked as looked for: an existing path may differ only by a `..`
        if (known := _path_and_target(path)) not in self._looked_for:
            self._looked_for.add(known)
            for ending in ("", *ENDINGS):
                yield from self.look_at(path + ending)

    def look_at(self, path: str) -> Steps[None]:
        """Covers a file, or the files that are run in a folder."""
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return
        if stat.S_ISREG(found.st_mode):
            yield from self._file(path)
        elif stat.S_ISDIR(found.st_mode):
            yield from self.look_in(path)

    def all_programs(self) -> Steps[None]:
        """Covers every file of the project that is executable or a script, and the targets of its links."""
        pending, count = [self._project], 0
        while pending:
            for entry in self._entries(pending.pop()):
                count += 1
                if count > self._allowance.files:
                    raise ContentError(
                        "its shell command cannot be read for sure, so all programs of the project count, and it has"
                        f" more than {self._allowance.files:,} files; name the program without a shell, or in a script"
                    )
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != HISTORY:
                        pending.append(entry.path)
                elif _is_program(entry):
                    yield from self._file(entry.path)
                elif entry.is_symlink():
                    shown = _relative_path(entry.path, self._project)
                    self._states.append((f"./{shown} ->", link_state(os.readlink(entry.path))))
            yield

    def look_where_it_starts(self, folder: str, words: Sequence[str]) -> Steps[None]:
        """Covers the files that launchers among the words read in the folder in which they start."""
        programs = {os.path.basename(word) for word in words}
        parts = [part for part, launchers in LAUNCHERS.items() if not launchers.isdisjoint(programs)]
        for name in RUN_IN_FOLDERS:
            if any(part in name.lower() for part in parts):
                yield from self.look_at(os.path.join(folder, name))

    def look_in(self, folder: str) -> Steps[None]:
        """Covers the files that a launcher runs in a folder."""
        for name in RUN_IN_FOLDERS:
            if os.path.isfile(path := os.path.join(folder, name)):
                yield from self._file(path)

    def _file(self, path: str) -> Steps[None]:
        """Covers a file of the project; of a link that leads out of it, only the target's path."""
        path, real = _path_and_target(path)
        inside, really_inside = _relative_path(path, self._project), _relative_path(real, self._real)
        shown = inside or really_inside
        if not shown or (shown, real) in self._seen:
            return
        self._seen.add((shown, real))
        self._count(shown)
        if os.path.normpath(os.path.join(self._real, shown)) != real:
            self._states.append((f"./{shown} ->", link_state(os.path.relpath(real, self._real))))
        if really_inside:
            digest, found = yield from self._read(real)
            self._files[f"./{shown}"] = found.st_size
            self._states.append((f"./{shown}", digest_state(digest, found.st_mode)))


def _is_program(entry: os.DirEntry[str]) -> bool:
    """Whether a shell can run this file, or the target of this link. False if it cannot be read."""
    try:
        found = entry.stat()
        if not stat.S_ISREG(found.st_mode):
            return False
        if found.st_mode & 0o111 or entry.name in RUN_IN_FOLDERS or entry.name.endswith(SCRIPTS):
            return True
        return read_start(entry.path, 2) == b"#!"
    except OSError:
        return False


def _path_and_target(path: str) -> tuple[str, str]:
    """The path as it is written, and its real path: behind a link, `..` leads elsewhere than it seems."""
    return os.path.abspath(path), os.path.realpath(path)


def _relative_path(path: str, folder: str) -> str:
    """The path relative to the folder; empty if it lies elsewhere."""
    return path[len(folder.rstrip("/")) + 1 :] if path.startswith(folder.rstrip("/") + "/") else ""
