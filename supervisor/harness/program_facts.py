"""Looks at the program of an extension without running it: what `exec` leads to, and which script it runs.

All files are read here, so that the diagnosis is pure.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import struct
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.discovery.environment import extension_environment
from wire.text import printable

if TYPE_CHECKING:
    from supervisor.discovery.found import Found
    from supervisor.home.config import Config

SOURCE_LIMIT = 256 * 1024
"""Bytes of a script that are read."""
FILES_LIMIT = 500
"""Files of the folder that are known."""
NEAR = 3
"""Most near names."""
MACHINES = {3: "i386", 8: "mips", 21: "ppc64le", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""Names of the machines in ELF files."""
_INTERPRETERS = {
    "python": re.compile(r"python(\d+(\.\d+)*)?|pypy3?"),
    "javascript": re.compile(r"node|nodejs|bun|deno|tsx|ts-node"),
    "shell": re.compile(r"sh|bash|dash|zsh|ksh|busybox"),
    "ruby": re.compile(r"ruby(\d+(\.\d+)*)?"),
    "perl": re.compile(r"perl"),
    "go": re.compile(r"go"),
    "java": re.compile(r"java"),
}
_ENDINGS = {
    ".py": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".ts": "javascript",
    ".sh": "shell", ".bash": "shell", ".rb": "ruby", ".pl": "perl", ".go": "go", ".java": "java", ".jar": "java",
}  # fmt: skip
_WITH_A_VALUE = frozenset({"-W", "-X", "-r", "--require", "--import", "--loader", "-cp", "-classpath"})
"""Options of interpreters that are followed by a value."""
_NO_SCRIPT = frozenset({"-c", "-m", "-e", "--eval", "-p", "--print"})
"""Options after which no script follows."""


class FileFormat(Enum):
    MISSING = "missing"
    FOLDER = "folder"
    EMPTY = "empty"
    SCRIPT = "script"
    """It begins with `#!`."""
    TEXT = "text"
    ELF = "a Linux program"
    MACH_O = "a macOS program"
    PE = "a Windows program"
    OTHER = "other"


@dataclass(frozen=True)
class ProgramFacts:
    """What is known of an extension's program before it starts."""

    folder: Path
    exec: str
    args: tuple[str, ...] = ()
    path: str = ""
    """The file that `exec` leads to; a bare name if it is not on PATH."""
    format: FileFormat = FileFormat.MISSING
    link: str = ""
    """The target of `path`, if that is a link to a file that does not exist."""
    is_executable: bool = False
    machine: str = ""
    """The processor that an ELF file is built for."""
    loader: str = ""
    """The program loader that an ELF file names and that does not exist here."""
    shebang: str = ""
    """The line after `#!`, with a carriage return if it ends with one."""
    language: str = ""
    """python, javascript, shell, ruby, perl, go or java; empty if unknown."""
    script: str = ""
    """The file that an interpreter is to run, as `exec` or `args` name it; empty if none is known."""
    has_script: bool = False
    has_crlf: bool = False
    source: str = ""
    """The text of the script."""
    files: frozenset[str] = frozenset()
    """Names in the folder, at its top level."""
    on_path: tuple[str, ...] = ()
    """Programs on PATH whose names are like `exec`, if that is not on PATH itself."""
    foreign_imports: tuple[str, ...] = ()
    """Modules that a Python script imports and that are neither in its folder nor in the standard library."""
    is_zots_python: bool = False
    """Whether its Python is the one of zot's own environment."""
    withheld: frozenset[str] = frozenset()
    """Variables that the host has and the extension does not get."""
    host_machine: str = ""
    host_system: str = ""

    def like(self, name: str) -> list[str]:
        """Files of the folder with a name like this one."""
        return get_close_matches(Path(name).name, sorted(self.files), n=NEAR)


def look(found: Found, config: Config) -> ProgramFacts:
    """Reads what can be known of an extension's program. Raises nothing."""
    manifest, folder, path = found.manifest, found.folder, found.program
    args = manifest.args or ()
    head = _head(path)
    # The python3 of pyenv is a script itself: what is of interest is the script that an interpreter runs.
    is_script = head.startswith(b"#!") and not language_of(manifest.exec)
    shebang = head[2:].partition(b"\n")[0].decode("utf-8", "replace") if is_script else ""
    machine, loader = _elf(path, head)
    is_bare = "/" not in manifest.exec
    language, script = _script(manifest.exec, args, shebang)
    source = _head(str(folder / script), SOURCE_LIMIT) if script else b""
    text = source.decode("utf-8", "replace")
    files = _files(folder)
    env = extension_environment(found, config, os.environ)
    uname = os.uname()
    return ProgramFacts(
        folder=folder,
        exec=manifest.exec,
        args=args,
        path=path,
        format=_format(path, head),
        link=os.readlink(path) if os.path.islink(path) and not os.path.exists(path) else "",
        is_executable=os.access(path, os.X_OK),
        machine=machine,
        loader=loader,
        shebang=shebang,
        language=language,
        script=script,
        has_script=bool(script) and (folder / script).is_file(),
        has_crlf=b"\r\n" in source or shebang.endswith("\r"),
        source=text,
        files=files,
        on_path=_on_path(manifest.exec) if is_bare and not os.path.isabs(path) else (),
        foreign_imports=_foreign_imports(text, (folder / script).parent) if language == "python" else (),
        is_zots_python=language == "python" and _is_zots_python(manifest.exec, path, shebang),
        withheld=frozenset(os.environ.keys() - env.keys()),
        host_machine={"arm64": "aarch64", "amd64": "x86_64"}.get(uname.machine, uname.machine),
        host_system=uname.sysname,
    )


def language_of(name: str) -> str:
    """The language that a program runs, by its name; empty if it is no interpreter that is known."""
    base = Path(name).name
    return next((language for language, names in _INTERPRETERS.items() if names.fullmatch(base)), "")


def _head(path: str, size: int = 4096) -> bytes:
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(size)
    except (OSError, ValueError):
        return b""


def _format(path: str, head: bytes) -> FileFormat:
    if os.path.isdir(path):
        return FileFormat.FOLDER
    if not os.path.exists(path):
        return FileFormat.MISSING
    if head.startswith(b"#!"):
        return FileFormat.SCRIPT
    if head.startswith(b"\x7fELF"):
        return FileFormat.ELF
    if head[:4] in (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"):
        return FileFormat.MACH_O
    if head.startswith(b"MZ"):
        return FileFormat.PE
    if not head:
        return FileFormat.EMPTY
    return FileFormat.OTHER if b"\0" in head else FileFormat.TEXT


def _elf(path: str, head: bytes) -> tuple[str, str]:
    """The machine of an ELF file, and its program loader if that is missing here."""
    if not head.startswith(b"\x7fELF") or len(head) < 64:
        return "", ""
    order = "<" if head[5] == 1 else ">"
    machine = MACHINES.get(struct.unpack_from(f"{order}H", head, 18)[0], "another processor")
    if head[4] != 2:  # 32 bits
        return machine, ""
    table, size, count = (
        struct.unpack_from(f"{order}Q", head, 32)[0],
        *struct.unpack_from(f"{order}HH", head, 54),
    )
    whole = _head(path, min(table + size * count + 4096, 1 << 20))
    for entry in range(table, table + size * count, size or 1):
        if entry + 56 <= len(whole) and struct.unpack_from(f"{order}I", whole, entry)[0] == 3:  # PT_INTERP
            offset = struct.unpack_from(f"{order}Q", whole, entry + 8)[0]
            loader = whole[offset : offset + 200].partition(b"\0")[0].decode("utf-8", "replace")
            return machine, "" if not loader or os.path.exists(loader) else printable(loader)
    return machine, ""


def _script(exec_: str, args: tuple[str, ...], shebang: str) -> tuple[str, str]:
    """The language and the script of a command line."""
    if shebang:
        words = [word for word in shebang.split() if not word.startswith("-") and Path(word).name != "env"]
        ending = _ENDINGS.get(Path(exec_).suffix, "")
        return (language_of(words[0]) if words else "") or ending, exec_
    if language := language_of(exec_):
        waiting = iter(args)
        for word in waiting:
            if word in _NO_SCRIPT:
                return language, ""
            if word in _WITH_A_VALUE:
                next(waiting, None)
            elif word == "-jar":
                return language, next(waiting, "")
            elif not word.startswith("-") and word != "run":
                return language, word if language not in ("go", "java") else ""
        return language, ""
    language = _ENDINGS.get(Path(exec_).suffix, "")
    return language, exec_ if language else ""


def _files(folder: Path) -> frozenset[str]:
    try:
        return frozenset(sorted(os.listdir(folder))[:FILES_LIMIT])
    except OSError:
        return frozenset()


def _on_path(name: str) -> tuple[str, ...]:
    programs: set[str] = set()
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        try:
            programs.update(os.listdir(folder))
        except OSError:
            continue
    near = get_close_matches(name, sorted(programs), n=NEAR, cutoff=0.75)
    return tuple(program for program in near if shutil.which(program))


def _foreign_imports(source: str, folder: Path) -> tuple[str, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    near = {name for name in names if (folder / f"{name}.py").is_file() or (folder / name).is_dir()}
    return tuple(sorted(names - near - sys.stdlib_module_names))


def _is_zots_python(exec_: str, path: str, shebang: str) -> bool:
    """Whether a Python found on PATH is the one of the environment in which zot is installed."""
    if sys.prefix == sys.base_prefix:
        return False
    words = shebang.split()
    if words and Path(words[0]).name == "env":
        program = next((word for word in words[1:] if not word.startswith("-")), "")
        path = shutil.which(program) or ""
    elif "/" in exec_:
        return False
    return os.path.dirname(os.path.abspath(path)) == os.path.join(sys.prefix, "bin")
