"""What to do about known last words of a program: patterns in its stderr, by language. Pure."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.harness.program_facts import ProgramFacts

    There = Callable[[str], str]

_DISTRIBUTIONS = {
    "bs4": "beautifulsoup4", "cv2": "opencv-python", "dateutil": "python-dateutil", "dotenv": "python-dotenv",
    "git": "GitPython", "jwt": "PyJWT", "PIL": "Pillow", "sklearn": "scikit-learn", "yaml": "PyYAML",
}  # fmt: skip
"""Python distributions whose modules have other names."""
_VARIABLE = re.compile(r"^KeyError: '(?P<name>[A-Za-z_][A-Za-z0-9_]*)'$", re.MULTILINE)


def advice_for(stderr: Sequence[str], program: ProgramFacts, there: There) -> tuple[str, str] | None:
    """A message and an advice about the last lines of stderr; None if they are not known. `there` makes a shell command
    for the extension's folder of another one."""
    text = "\n".join(stderr)
    for pattern, advise in _TABLE:
        if (found := pattern.search(text)) is not None and (advice := advise(found, program, there)) is not None:
            return advice
    return _missing_variable(text, program)


def _python_module(found: re.Match[str], program: ProgramFacts, there: There) -> tuple[str, str] | None:
    module = found["name"].partition(".")[0]
    if not program.files.isdisjoint({module, f"{module}.py"}):
        return None  # it is the extension's own, and a part of it is missing
    message = f"Python finds no module {module}"
    python = _python(program)
    if module == "zotext":
        return (
            message,
            f"copy the folder zotext beside {program.script or 'the script'}, or {python} -m pip install pyzot",
        )
    if "requirements.txt" in program.files:
        return (message, there(f"{python} -m pip install -r requirements.txt"))
    if "pyproject.toml" in program.files:
        return (message, there(f"{python} -m pip install ."))
    if f"-m {found['name']}" in " ".join(program.args):
        return (message, "add it to the folder, or correct args in extension.json")
    return (message, f"{python} -m pip install {_DISTRIBUTIONS.get(module, module)}")


def _python(program: ProgramFacts) -> str:
    """The Python that runs the program, for a shell."""
    if program.shebang:
        words = [word for word in program.shebang.split() if not word.startswith("-")]
        return shlex.quote(words[-1] if words and Path(words[0]).name == "env" else words[0])
    return shlex.quote(program.path if "/" in program.exec else program.exec)


def _node_module(found: re.Match[str], program: ProgramFacts, there: There) -> tuple[str, str] | None:
    name = found["name"]
    if name.startswith((".", "/")):
        built = re.search(r"(?:^|/)(?:dist|build|out)/", name)
        if built and "package.json" in program.files:
            return (f"{name} is not built", there("npm install && npm run build"))
        near = program.like(name)
        advice = f"did you mean {' or '.join(map(repr, near))}?" if near else "correct the path, or add the file"
        return (f"there is no file {name}", advice)
    package = "/".join(name.split("/")[: 2 if name.startswith("@") else 1])
    message = f"Node finds no package {package}"
    if "package.json" in program.files:
        is_fresh = "node_modules" not in program.files
        return (message, there("npm install" if is_fresh else f"npm install {shlex.quote(package)}"))
    return (message, there(f"npm init -y && npm install {shlex.quote(package)}"))


def _es_module(_found: re.Match[str], program: ProgramFacts, _there: There) -> tuple[str, str]:
    name = program.script or "the script"
    return (
        "it uses import, and Node takes it for CommonJS",
        f'name {name} .mjs, or put "type": "module" in package.json',
    )


def _common_js(_found: re.Match[str], program: ProgramFacts, _there: There) -> tuple[str, str]:
    name = program.script or "the script"
    return ("it uses require, and Node takes it for an ES module", f"name {name} .cjs, or use import")


def _typescript(_found: re.Match[str], _program: ProgramFacts, _there: There) -> tuple[str, str]:
    return ("this Node does not run TypeScript", "take Node 22.18 or later, or compile it and run the .js")


def _ruby_file(found: re.Match[str], program: ProgramFacts, there: There) -> tuple[str, str]:
    command = "bundle install" if "Gemfile" in program.files else f"gem install {found['name'].partition('/')[0]}"
    return (f"Ruby finds no {found['name']}", there(command) if "Gemfile" in program.files else command)


def _command(found: re.Match[str], _program: ProgramFacts, _there: There) -> tuple[str, str]:
    name = found["name"].strip("'\"\u2018\u2019")
    if name.endswith(("\\r", "\r")):
        return ("a #! line ends with a carriage return", "give the script Unix line ends (LF)")
    return (f"it starts {name}, which is not here", f"install {name}, or correct its name")


def _denied(found: re.Match[str], _program: ProgramFacts, _there: There) -> tuple[str, str]:
    return (f"it may not run {found['name']}", f"chmod +x {shlex.quote(found['name'])}")


def _java_class(found: re.Match[str], program: ProgramFacts, there: There) -> tuple[str, str]:
    sources = sorted(name for name in program.files if name.endswith(".java"))
    command = f"javac {shlex.join(sources)}" if sources else ""
    return (f"Java finds no class {found['name']}", there(command) if command else "compile it, or correct -cp in args")


def _jar(found: re.Match[str], program: ProgramFacts, there: There) -> tuple[str, str]:
    build = next(
        (
            command
            for file, command in (("pom.xml", "mvn package"), ("gradlew", "./gradlew build"))
            if file in program.files
        ),
        "",
    )
    return (f"there is no {found['name']}", there(build) if build else "build it, or correct its path in args")


def _fixed(message: str, advice: str) -> Callable[[re.Match[str], ProgramFacts, There], tuple[str, str]]:
    return lambda found, _program, _there: (
        message.format(**found.groupdict()),
        advice.format(**found.groupdict()),
    )


def _in_folder(message: str, command: str) -> Callable[[re.Match[str], ProgramFacts, There], tuple[str, str]]:
    return lambda found, _program, there: (message.format(**found.groupdict()), there(command))


def _missing_variable(text: str, program: ProgramFacts) -> tuple[str, str] | None:
    """A program that reads a variable of the environment which it does not have."""
    if (found := _VARIABLE.search(text)) is None or "environ" not in text:
        return None
    name = found["name"]
    if name in program.withheld:
        return (
            f"{name} is withheld from extensions",
            f'write "env": ["{name}"] into extension.json, if it may have it',
        )
    return (f"{name} is not set", f"export {name} before zot is started")


_TABLE: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], ProgramFacts, There], tuple[str, str] | None]], ...] = (
    (re.compile(r"ModuleNotFoundError: No module named '(?P<name>[^']+)'"), _python_module),
    (re.compile(r"(?m)^\S*python\S*: No module named '?(?P<name>[\w.]+)'?"), _python_module),
    (
        re.compile(r"Missing parentheses in call to 'print'"),
        _fixed("it is written for Python 2", "make it Python 3: print(…)"),
    ),
    (re.compile(r"Cannot use import statement outside a module"), _es_module),
    (re.compile(r"require is not defined in ES module scope"), _common_js),
    (
        re.compile(r"zot cannot start this extension: (?P<what>Node \S+ or newer is needed; this is \S+)"),
        _fixed("{what}", "install a newer Node, and put it first on PATH"),
    ),
    (re.compile(r'Unknown file extension "\.ts"'), _typescript),
    (re.compile(r"Cannot find (?:module|package) '(?P<name>[^']+)'"), _node_module),
    (re.compile(r"cannot load such file -- (?P<name>\S+)"), _ruby_file),
    (re.compile(r"Could not find or load main class (?P<name>\S+)"), _java_class),
    (re.compile(r"Unable to access jarfile (?P<name>\S+)"), _jar),
    (
        re.compile(r"UnsupportedClassVersionError"),
        _fixed("it is compiled for a later Java", "install a later Java, or compile it with --release"),
    ),
    (
        re.compile(r"no required module provides package (?P<name>[^\s;:]+)"),
        _in_folder("its go.mod has no {name}", "go mod tidy"),
    ),
    (
        re.compile(r"go: cannot find main module|go\.mod file not found"),
        _in_folder("there is no go.mod", "go mod init extension && go mod tidy"),
    ),
    (
        re.compile(r"error while loading shared libraries: (?P<name>[^:\s]+)"),
        _fixed("the library {name} is not here", "install the package that has {name}, or build it here"),
    ),
    (
        re.compile(r"version `(?P<name>GLIBC(?:XX)?_[\d.]+)' not found"),
        _fixed("it was built on a later system ({name})", "build it here, or on an older system"),
    ),
    (
        re.compile(r"EADDRINUSE|Address already in use"),
        _fixed(
            "its port is taken",
            "let the system choose a port (0): several copies of an extension may run at the same time",
        ),
    ),
    (
        re.compile(r"ENOTFOUND|EAI_AGAIN|Could not resolve host|Temporary failure in name resolution"),
        _fixed("it needs the network to start", "install what it downloads beforehand"),
    ),
    (re.compile(r"ENOSPC|No space left on device"), _fixed("no space is left on its disk", "make room")),
    (
        re.compile(r"JavaScript heap out of memory|^MemoryError", re.MULTILINE),
        _fixed("it ran out of memory", "raise limits.rss_mb, or load less at the start"),
    ),
    (
        re.compile(r"env: (?P<name>\S+): No such file or directory"),
        _command,
    ),
    (
        re.compile(r"(?m)(?:^|: )(?P<name>[^\s:]+): (?:command not found|not found)$"),
        _command,
    ),
    (re.compile(r"(?m)(?:^|: )(?P<name>[^\s:]+): Permission denied$"), _denied),
)
