"""Extensions that do not start, each for one reason, and what the doctor has to find."""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from supervisor.harness.script_runner import found_in

if TYPE_CHECKING:
    from supervisor.discovery.found import Found

ROOT = Path(__file__).parents[4]
PY = sys.executable
SDK = "from zotext import Extension\next = Extension('x')\n"
HELLO = '{"type":"hello","name":"x"}'


def elf(machine: int, loader: str = "") -> bytes:
    """The head of a 64-bit ELF file, with one program header that names the loader."""
    order = "<" if sys.byteorder == "little" else ">"
    ident = b"\x7fELF" + bytes([2, 1 if order == "<" else 2, 1]) + bytes(9)
    head = struct.pack(f"{order}HHIQQQIHHHHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    path = loader.encode() + b"\0"
    table = struct.pack(f"{order}IIQQQQQQ", 3, 4, 120, 0, 0, len(path), len(path), 1)
    return ident + head + table + path


class Broken(NamedTuple):
    """A folder. `files` gives names and contents; one that begins with `#!` or that `exec` names can be executed."""

    name: str
    rule: str
    """The rule that must find it; empty if there must be no advice."""
    says: str
    """Part of the message or of the advice."""
    exec: str
    args: tuple[str, ...] = ()
    files: dict[str, str | bytes] = {}  # noqa: RUF012
    mode: int = 0o755
    sdk: bool = False
    """Whether the folder has the SDK."""
    needs: str = ""
    """A program without which it is not tried."""
    more: dict[str, Any] = {}  # noqa: RUF012


def sh(name: str, rule: str, says: str, script: str, **files: str) -> Broken:
    """A shell script that ends as another program would."""
    return Broken(name, rule, says, "sh", ("main.sh",), {"main.sh": script, **files})


def says(line: str, code: int = 1) -> str:
    return f"cat >&2 <<'END'\n{line}\nEND\nexit {code}\n"


OTHER_MACHINE = 243 if "riscv" not in os.uname().machine else 62

CASES = (
    # --- what it prints is not always why it ends
    sh("prints-and-crashes", "", '"fatal: port in use"', "echo starting\n" + says("fatal: port in use")),
    Broken("own-module", "stderr", "add it to the folder", "python3", ("-m", "zz_desk")),
    Broken(
        "part-of-own-module", "", "No module named 'zz_desk.sub'", "python3", ("main.py",),
        {"main.py": "import zz_desk.sub", "zz_desk.py": ""},
    ),
    # --- what exec leads to
    Broken("args-in-exec", "arguments_in_exec", '"exec": "python3", "args": ["main.py"]', "python3 main.py"),
    Broken("args-kept", "arguments_in_exec", '"args": ["-u", "main.py", "--x"]', "python3 -u main.py", ("--x",)),
    Broken("bare-name", "bare_name", '"exec": "./main.sh"', "main.sh", files={"main.sh": "#!/bin/sh\n"}),
    Broken("misspelled-program", "not_on_path", "'mkfifo'", "mkfif0"),
    Broken("unknown-program", "not_on_path", "install zz-no-such-program", "zz-no-such-program"),
    Broken("go-not-built", "not_built", "go build -o hello .", "./hello", files={"go.mod": "module x\n"}),
    Broken("go-without-mod", "not_built", "go mod init hello", "./hello", files={"main.go": "package main\n"}),
    Broken("rust-not-built", "not_built", "cargo build", "./target/release/x", files={"Cargo.toml": ""}),
    Broken("make-not-built", "not_built", "&& make", "./out", files={"Makefile": "out:\n"}),
    Broken("ts-not-built", "not_built", "npm run build", "./dist/x", files={"tsconfig.json": "{}"}),
    Broken("near-file", "no_such_file", "'./main.py'", "./mian.py", files={"main.py": ""}),
    Broken("no-file", "no_such_file", "correct exec", "./nothing-like-it"),
    Broken("a-folder", "is_folder", "is a folder", "./src", files={"src/main.py": ""}),
    Broken("not-executable", "not_executable", "chmod +x", "./x.sh", files={"x.sh": "#!/bin/sh\n"}, mode=0o644),
    Broken("plain-text", "not_executable", "#!/usr/bin/env python3", "./x.py", files={"x.py": "1\n"}, mode=0o644),
    Broken("no-shebang", "no_shebang", "#!/usr/bin/env python3", "./x.py", files={"x.py": "import os\n"}),
    Broken("empty-file", "empty_file", "go build -o x .", "./x", files={"x": "", "go.mod": ""}),
    Broken("crlf-shebang", "carriage_return", "CRLF", "./x.sh", files={"x.sh": b"#!/bin/sh\r\nexit 0\r\n"}),
    Broken("crlf-env", "carriage_return", "also in its #! line", "./x", files={"x": b"#!/usr/bin/env sh\r\n:\r\n"}),
    Broken("crlf-shell", "carriage_return", "tr -d '\\r'", "sh", ("x.sh",), {"x.sh": b"if true; then\r\n:\r\nfi\r\n"}),
    Broken("no-interpreter", "no_interpreter", "#!/usr/bin/env ruby", "./x", files={"x": "#!/nowhere/ruby\n"}),
    Broken("env-no-such", "stderr", "zz-nothing", "./x", files={"x": "#!/usr/bin/env zz-nothing\n"}),
    Broken("other-machine", "wrong_system", "it is", "./x", files={"x": elf(OTHER_MACHINE)}),
    Broken("a-windows-program", "wrong_system", "a Windows program", "./x.exe", files={"x.exe": b"MZ\0\0" * 20}),
    Broken("no-venv", "no_venv", "requirements.txt", "./.venv/bin/python", files={"requirements.txt": "a\n"}),
    # --- Python
    Broken("script-misspelled", "no_script", "'main.py'", PY, ("-I", "mian.py"), {"main.py": ""}),
    Broken("no-run", "forgot_run", "did you forget ext.run()", PY, ("main.py",), {"main.py": SDK}, sdk=True),
    Broken(
        "run-in-a-function", "forgot_run", "main(), which has the", PY, ("x.py",),
        {"x.py": f"{SDK}def main():\n    ext.run()\n"}, sdk=True,
    ),
    Broken("no-module", "stderr", "pip install PyYAML", PY, ("-I", "-S", "x.py"), {"x.py": "import yaml\n"}),
    Broken(
        "no-module-listed", "stderr", "pip install -r requirements.txt", PY, ("-I", "-S", "x.py"),
        {"x.py": "import zz_nothing.sub\n", "requirements.txt": "zz\n"},
    ),
    Broken("no-sdk", "stderr", "copy the folder zotext", PY, ("-I", "-S", "x.py"), {"x.py": "import zotext\n"}),
    Broken("no-module-main", "stderr", "finds no module zz_main", PY, ("-I", "-m", "zz_main")),
    Broken("python-2", "stderr", "Python 2", PY, ("-I", "-S", "x.py"), {"x.py": "print 'hello'\n"}),
    Broken(
        "withheld-variable", "stderr", '"env": ["ANTHROPIC_API_KEY"]', PY, ("-I", "-S", "x.py"),
        {"x.py": "import os\nos.environ['ANTHROPIC_API_KEY']\n"},
    ),
    Broken(
        "variable-not-set", "stderr", "export ZZ_NOT_SET", PY, ("-I", "-S", "x.py"),
        {"x.py": "import os\nos.environ['ZZ_NOT_SET']\n"},
    ),
    Broken("ends-at-once", "ended_early", "read stdin until it ends", PY, ("-I", "-S", "x.py"), {"x.py": "1\n"}),
    Broken(
        "not-flushed", "late_hello", "flush=True", PY, ("-I", "-S", "x.py"),
        {"x.py": f"import sys\nprint('{HELLO}')\nsys.stdin.read()\n"}, more={"timeouts": {"hello": 0.3}},
    ),
    Broken(
        "unknown-error", "", "ValueError: seven", PY, ("-I", "-S", "x.py"), {"x.py": "raise ValueError('seven')\n"}
    ),
    # --- what it says
    sh("prints-text", "prints", "Listening on port 3000", "echo Listening on port 3000\n"),
    sh("headers", "other_protocol", "Content-Length", "echo 'Content-Length: 5'\n"),
    sh("json-rpc", "other_protocol", "MCP", """echo '{"jsonrpc":"2.0","id":1,"method":"initialize"}'\n"""),
    sh("no-name", "wrong_hello", "zot ext schema hello", """echo '{"type":"hello"}'\n"""),
    sh("not-hello-first", "wrong_hello", "must be hello", """echo '{"type":"ready"}'; read x\n"""),
    Broken("silent", "silent", "without being asked", "sh", ("-c", "read x"), more={"timeouts": {"hello": 0.3}}),
    # --- other languages: their real last words
    sh("command-missing", "stderr", "zz-jq, which is not here", "set -e\nzz-jq .\n"),
    sh("permission", "stderr", "chmod +x ./tool", "./tool\n", tool="#!/bin/sh\n"),
    sh("port-taken", "stderr", "its port is taken", says("Error: listen EADDRINUSE: address already in use :::3000")),
    sh("library", "stderr", "libxml2.so.2", says("x: error while loading shared libraries: libxml2.so.2: cannot", 127)),
    sh("glibc", "stderr", "GLIBC_2.38", says("./x: /lib/libc.so.6: version `GLIBC_2.38' not found (required by x)")),
    sh("ruby", "stderr", "bundle install", says("x.rb:1:in `require': cannot load such file -- nokogiri (LoadError)"),
       Gemfile=""),
    sh("java", "stderr", "javac Main.java", says("Error: Could not find or load main class Main"), **{"Main.java": ""}),
    sh("jar", "stderr", "mvn package", says("Error: Unable to access jarfile x.jar"), **{"pom.xml": ""}),
    sh("go-package", "stderr", "go mod tidy", says("main.go:4:2: no required module provides package example.org/x;")),
    sh("offline", "stderr", "needs the network", says("npm error network request failed, getaddrinfo ENOTFOUND x.org")),
    sh("killed", "killed", "memory", "kill -9 $$\n"),
    sh("unknown-exit", "", "exit 7", "exit 7\n"),
    Broken("node-package", "stderr", "npm install", "node", ("x.mjs",),
           {"x.mjs": "import 'zz-nothing'\n", "package.json": "{}"}, needs="node"),
    Broken("node-file", "stderr", "'helper.js'", "node", ("x.cjs",),
           {"x.cjs": "require('./helpr.js')\n", "helper.js": ""}, needs="node"),
    Broken("node-module", "stderr", "CommonJS", "node", ("x.cjs",), {"x.cjs": "import fs from 'fs'\n"}, needs="node"),
    Broken("node-require", "stderr", "ES module", "node", ("x.mjs",), {"x.mjs": "require('fs')\n"}, needs="node"),
    Broken("node-not-built", "no_script", "run build", "node", ("dist/x.js",), {"package.json": "{}"}, needs="node"),
)  # fmt: skip


def make(case: Broken, parent: Path) -> Found:
    """Writes the folder of a case."""
    folder = parent / case.name
    folder.mkdir()
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(case.mode if f"./{name}" == case.exec or name == case.exec else 0o644)
    if case.sdk:
        (folder / "zotext").symlink_to(ROOT / "zotext")
    manifest = {"name": case.name, "exec": case.exec, "args": list(case.args), "timeouts": {"hello": 60}, **case.more}
    (folder / "extension.json").write_text(json.dumps(manifest))
    return found_in(folder)
