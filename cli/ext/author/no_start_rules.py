"""Why a program could not be started: the rules for what `exec` leads to. Pure."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.harness.program_facts import FileFormat, language_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.ext.author.start_facts import Advice, Facts
    from supervisor.harness.program_facts import ProgramFacts

_SHEBANGS = {"python": "python3", "javascript": "node", "ruby": "ruby", "perl": "perl"}
_BUILDS = (
    ("go.mod", "go build -o {target} ."),
    ("Cargo.toml", "cargo build --release"),
    ("Makefile", "make"),
    ("CMakeLists.txt", "cmake -B build && cmake --build build"),
    ("tsconfig.json", "npm install && npm run build"),
)
"""Files that say how the program in a folder is built."""


def _arguments_in_exec(facts: Facts) -> Advice | None:
    program = facts.program
    try:
        words = shlex.split(program.exec)
    except ValueError:
        return None
    if len(words) < 2 or program.format is not FileFormat.MISSING:
        return None
    args = json.dumps([*words[1:], *program.args], ensure_ascii=False)
    return (
        "exec is one program, without arguments",
        f'write "exec": {json.dumps(words[0], ensure_ascii=False)}, "args": {args}',
    )


def carriage_return(facts: Facts) -> Advice | None:
    program = facts.program
    if not program.has_crlf or not (program.shebang.endswith("\r") or program.language == "shell"):
        return None
    name = shlex.quote(program.script)
    return (
        f"{program.script} has Windows line ends (CRLF)"
        + (", also in its #! line" if program.shebang.endswith("\r") else ""),
        facts.there(f"tr -d '\\r' < {name} > fixed && cat fixed > {name} && rm fixed")
        + ("; in git: *.sh text eol=lf in .gitattributes" if program.language == "shell" else ""),
    )


def _is_in_the_folder(facts: Facts) -> Advice | None:
    program = facts.program
    if "/" in program.exec or program.exec not in program.files or program.format is not FileFormat.MISSING:
        return None
    return (
        f"a bare name is looked up on PATH, and {program.exec} is in the folder",
        f'write "exec": "./{program.exec}"',
    )


def _python_is_python3(facts: Facts) -> Advice | None:
    if facts.program.exec == "python" and "python3" in facts.program.on_path:
        return ("", 'write "exec": "python3": many systems have no python')
    return None


def _not_on_path(facts: Facts) -> Advice | None:
    program = facts.program
    if "/" in program.exec or program.format is not FileFormat.MISSING:
        return None
    if program.on_path:
        return ("", f"did you mean {' or '.join(map(repr, program.on_path))}?")
    return ("", f"install {program.exec}, or start zot with a PATH that has it")


def _broken_link(facts: Facts) -> Advice | None:
    program = facts.program
    if not program.link:
        return None
    advice = "make the link again"
    if ".venv" in program.exec or "venv/" in program.exec:
        advice = _make_venv(facts)
    return (f"{program.exec} is a link to {program.link}, which does not exist", advice)


def _no_venv(facts: Facts) -> Advice | None:
    program = facts.program
    match = re.match(r"(?:\./)?(\.?venv|env)/bin/python", program.exec)
    return ("", _make_venv(facts)) if match and program.format is FileFormat.MISSING else None


def _make_venv(facts: Facts) -> str:
    venv = next((part for part in Path(facts.program.exec).parts if part.endswith(("venv", "env"))), ".venv")
    command = f"python3 -m venv {venv}"
    if "requirements.txt" in facts.program.files:
        command += f" && {venv}/bin/pip install -r requirements.txt"
    elif "pyproject.toml" in facts.program.files:
        command += f" && {venv}/bin/pip install ."
    return facts.there(command)


def _not_built(facts: Facts) -> Advice | None:
    program = facts.program
    if program.format is not FileFormat.MISSING or Path(program.exec).suffix in (".py", ".sh", ".rb", ".pl"):
        return None
    if found := _build(program):
        return (f"{program.exec} is not built", facts.there(found))
    return None


def _build(program: ProgramFacts, target: str = "") -> str:
    """The command that builds the program of a folder; empty if nothing says how."""
    target = target or program.exec.removeprefix("./")
    for name, command in _BUILDS:
        if name in program.files:
            return command.format(target=shlex.quote(target))
    if any(file.endswith(".go") for file in program.files):
        return f"go mod init {shlex.quote(Path(target).name)} && go build -o {shlex.quote(target)} ."
    return ""


def _near_file(facts: Facts) -> Advice | None:
    program = facts.program
    if program.format is not FileFormat.MISSING or "/" not in program.exec:
        return None
    if near := program.like(program.exec):
        return ("", f"did you mean {' or '.join(repr('./' + name) for name in near)}?")
    return ("", "correct exec in extension.json: a path with a slash starts in the extension's folder")


def _is_folder(facts: Facts) -> Advice | None:
    if facts.program.format is not FileFormat.FOLDER:
        return None
    return ("", "name the program in it")


def _not_executable(facts: Facts) -> Advice | None:
    program = facts.program
    if program.is_executable or program.format in (FileFormat.MISSING, FileFormat.FOLDER):
        return None
    command = f"chmod +x {shlex.quote(program.path)}"
    if program.format is FileFormat.TEXT:
        return ("it is not executable, and has no #! line", f"{command}, and {_shebang(program)}")
    return ("", command)


def _no_shebang(facts: Facts) -> Advice | None:
    program = facts.program
    return ("", _shebang(program)) if program.format is FileFormat.TEXT else None


def _shebang(program: ProgramFacts) -> str:
    name = _SHEBANGS.get(program.language)
    line = f"#!/usr/bin/env {name}" if name else "#!/bin/sh" if program.language == "shell" else ""
    return f"make its first line {line}" if line else "make its first line #! and its interpreter, as #!/bin/sh"


def _empty(facts: Facts) -> Advice | None:
    if facts.program.format is not FileFormat.EMPTY:
        return None
    return (f"{facts.program.exec} is an empty file", rebuild(facts))


def _wrong_system(facts: Facts) -> Advice | None:
    program = facts.program
    wanted = {"Linux": FileFormat.ELF, "Darwin": FileFormat.MACH_O}.get(program.host_system)
    if program.format not in (FileFormat.ELF, FileFormat.MACH_O, FileFormat.PE):
        return None
    if program.format is not wanted:
        return (f"it is {program.format.value}, and this is {program.host_system}", rebuild(facts))
    if program.machine and program.machine != program.host_machine:
        return (f"it is built for {program.machine}, and this machine is {program.host_machine}", rebuild(facts))
    if program.loader:
        return (f"it needs the loader {program.loader}, which is not here", rebuild(facts))
    return None


def rebuild(facts: Facts) -> str:
    command = _build(facts.program)
    return facts.there(command) if command else "build it on this system"


def _no_interpreter(facts: Facts) -> Advice | None:
    program = facts.program
    words = program.shebang.split()
    if not words or "interpreter" not in facts.result.spawn_error:
        return None
    base = Path(words[0]).name
    return (
        f"its first line names {words[0]}, which is not here",
        f"make its first line #!/usr/bin/env {base}" if language_of(base) else f"correct the line, or install {base}",
    )


NO_START: tuple[tuple[str, Callable[[Facts], Advice | None]], ...] = (
    ("arguments_in_exec", _arguments_in_exec),
    ("carriage_return", carriage_return),
    ("broken_link", _broken_link),
    ("bare_name", _is_in_the_folder),
    ("python3", _python_is_python3),
    ("not_on_path", _not_on_path),
    ("no_venv", _no_venv),
    ("is_folder", _is_folder),
    ("empty_file", _empty),
    ("not_executable", _not_executable),
    ("wrong_system", _wrong_system),
    ("no_interpreter", _no_interpreter),
    ("no_shebang", _no_shebang),
    ("not_built", _not_built),
    ("no_such_file", _near_file),
)
