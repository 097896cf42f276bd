"""Why an extension did not start, and what to do about it: a table of rules. Pure.

A rule looks at the facts and returns its advice, or None if it has nothing to say. The first rule with advice counts,
so rules that see more come before those that see less. If no rule fits there is no advice: a wrong one costs more time
than none.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cli.ext.author.stderr_advice import advice_for
from supervisor.harness.program_facts import FileFormat, language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.harness.checkup import CheckupResult
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
_DOWNLOADERS = frozenset({"npx", "pnpx", "bunx", "uvx", "pipx", "uv"})


class Diagnosis(NamedTuple):
    """What is wrong and what to do."""

    rule: str
    """The rule that found it: a short name for programs."""
    message: str
    """What is wrong; empty if the failure itself says it."""
    advice: str


@dataclass(frozen=True)
class Facts:
    """What is known of an extension's program, and of how its start went."""

    program: ProgramFacts
    result: CheckupResult

    @property
    def code(self) -> int | None:
        return None if self.result.exit is None or self.ended_by_us else self.result.exit.code

    @property
    def ended_by_us(self) -> bool:
        return "within" in self.result.failure

    @property
    def uses_sdk(self) -> bool:
        return re.search(r"\bzotext\b", self.program.source) is not None

    def there(self, command: str) -> str:
        """A shell command for the extension's folder."""
        return f"cd {shlex.quote(str(self.program.folder))} && {command}"


Advice = tuple[str, str]
"""The message, which may be empty, and the advice."""


def why_no_start(facts: Facts) -> Diagnosis | None:
    """Why the program could not be started."""
    return _first(_NO_START, facts)


def why_no_hello(facts: Facts) -> Diagnosis | None:
    """Why a program that was started said no hello."""
    return _first(_NO_HELLO, facts)


def will_not_travel(facts: Facts) -> Diagnosis | None:
    """Why a program that starts here will not start elsewhere."""
    program = facts.program
    if not (program.is_zots_python and program.foreign_imports):
        return None
    names = ", ".join(program.foreign_imports)
    if program.foreign_imports == ("zotext",):
        advice = f"copy the folder zotext beside {program.script}: it needs nothing else"
    else:
        advice = facts.there("python3 -m venv .venv && .venv/bin/pip install …") + ", and exec ./.venv/bin/python"
    message = f"its Python is the one of zot's own environment, which has {names} for it: it will not start elsewhere"
    return Diagnosis("zots_python", message, advice)


def _first(rules: Sequence[tuple[str, Callable[[Facts], Advice | None]]], facts: Facts) -> Diagnosis | None:
    for name, rule in rules:
        if (found := rule(facts)) is not None:
            return Diagnosis(name, *found)
    return None


# --- programs that cannot be started ------------------------------------------------------------------------


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


def _carriage_return(facts: Facts) -> Advice | None:
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
    return (f"{facts.program.exec} is a folder", "name the program in it")


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
    return (f"{facts.program.exec} is an empty file", _rebuild(facts))


def _wrong_system(facts: Facts) -> Advice | None:
    program = facts.program
    wanted = {"Linux": FileFormat.ELF, "Darwin": FileFormat.MACH_O}.get(program.host_system)
    if program.format not in (FileFormat.ELF, FileFormat.MACH_O, FileFormat.PE):
        return None
    if program.format is not wanted:
        return (f"it is {program.format.value}, and this is {program.host_system}", _rebuild(facts))
    if program.machine and program.machine != program.host_machine:
        return (f"it is built for {program.machine}, and this machine is {program.host_machine}", _rebuild(facts))
    if program.loader:
        return (f"it needs the loader {program.loader}, which is not here", _rebuild(facts))
    return None


def _rebuild(facts: Facts) -> str:
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


# --- programs that said no hello ----------------------------------------------------------------------------


def _no_script(facts: Facts) -> Advice | None:
    program = facts.program
    if not program.script or program.has_script or program.script == program.exec:
        return None
    message = f"args name {program.script}, which is not in the folder"
    target = next((part for part in ("dist", "build", "out") if program.script.lstrip("./").startswith(f"{part}/")), "")
    if target and "package.json" in program.files:
        return (message, facts.there("npm install && npm run build"))
    near = program.like(program.script)
    return (message, f"did you mean {' or '.join(map(repr, near))}?" if near else "correct args in extension.json")


def _by_stderr(facts: Facts) -> Advice | None:
    return advice_for(facts.result.stderr, facts.program, facts.there)


def _forgot_run(facts: Facts) -> Advice | None:
    program = facts.program
    if facts.code != 0 or not facts.uses_sdk or facts.result.lines:
        return None
    if program.language == "javascript":
        return None if re.search(r"\.run\(", program.source) else ("", "did you forget ext.run() at the end?")
    if program.language != "python":
        return None
    name, caller = _run_call(program.source)
    if caller is None:
        return ("", f"did you forget {name}.run() at the end of {program.script}?")
    if caller:
        return ("", f"{caller}(), which has the {name}.run(), is never called: did you forget {caller}() at the end?")
    return None


def _run_call(source: str) -> tuple[str, str | None]:
    """The name of the extension in a Python source, and the function in which its `run` is called: "" if it is called
    at the top level or by a function that is called, None if it is not called."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "ext", ""
    name = "ext"
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            called = node.value.func
            if (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) == "Extension":
                name = node.targets[0].id
    called_names = {
        node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    caller: str | None = None
    for top in tree.body:
        if not _calls_run(top):
            continue
        if not isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef) or top.name in called_names:
            return name, ""
        caller = top.name
    return name, caller


def _calls_run(top: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("run", "serve")
        for node in ast.walk(top)
    )


def _other_protocol(facts: Facts) -> Advice | None:
    first = facts.result.first_junk
    if first.lower().startswith("content-length"):
        return (
            "it speaks with Content-Length headers, as language servers do",
            "zot's protocol is one JSON object per line: zot ext schema hello",
        )
    if '"jsonrpc"' in first:
        return ("it speaks JSON-RPC, as MCP servers do", "zot's protocol is another: zot ext schema hello")
    return None


def _prints(facts: Facts) -> Advice | None:
    if not facts.result.first_junk:
        return None
    message = f"it printed what is no frame: {facts.result.first_junk}"
    return (message, "print to stderr: stdout is for frames only, and hello is the first of them")


def _late_hello(facts: Facts) -> Advice | None:
    """It had said hello, but nobody saw it before it was stopped."""
    if facts.code is not None or facts.result.hello_name is None:
        return None
    advice = "flush stdout after each line"
    if facts.program.language == "python":
        advice += ": print(…, flush=True), or -u before the script in args"
    return ("its hello came only when it was stopped", f"{advice}; if it is slow to start, raise timeouts.hello")


def _needs_input(facts: Facts) -> Advice | None:
    """zot speaks only after the hello."""
    if facts.code is not None or facts.uses_sdk or facts.result.lines:
        return None
    program = facts.program
    if Path(program.exec).name in _DOWNLOADERS:
        command = shlex.join((program.exec, *program.args))
        advice = f"run it once by hand, so that it is there ({command}), or give it more time in timeouts.hello"
        return ("it may still be downloading", advice)
    if program.language == "go" and program.exec == "go":
        advice = facts.there("go build -o main .") + ', and "exec": "./main"'
        return ("go run compiles before each start", advice)
    return ("", "say hello as the first line on stdout, without being asked, and flush it")


def _ended_early(facts: Facts) -> Advice | None:
    if facts.code != 0 or facts.result.lines:
        return None
    if facts.uses_sdk:
        return None
    return ("", "say hello first, then read stdin until it ends; zot ext new makes a small one that does")


def _wrong_hello(facts: Facts) -> Advice | None:
    if not facts.result.lines:
        return None
    return ("", 'the first line must be {"type":"hello","name":"…"}: zot ext schema hello has all its fields')


def _killed(facts: Facts) -> Advice | None:
    if facts.code == -9:
        limits = facts.result.found.manifest.limits
        said = "" if limits.rss_mb is None else f" (limits.rss_mb is {limits.rss_mb:g})"
        return ("something killed it", f"see whether memory ran out{said}: dmesg, or the container's limit")
    if facts.code == -4:
        return ("it uses instructions that this processor does not have", _rebuild(facts))
    return None


_NO_START: tuple[tuple[str, Callable[[Facts], Advice | None]], ...] = (
    ("arguments_in_exec", _arguments_in_exec),
    ("carriage_return", _carriage_return),
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
_NO_HELLO: tuple[tuple[str, Callable[[Facts], Advice | None]], ...] = (
    ("carriage_return", _carriage_return),
    ("no_script", _no_script),
    ("stderr", _by_stderr),
    ("killed", _killed),
    ("forgot_run", _forgot_run),
    ("other_protocol", _other_protocol),
    ("prints", _prints),
    ("late_hello", _late_hello),
    ("wrong_hello", _wrong_hello),
    ("ended_early", _ended_early),
    ("silent", _needs_input),
)
