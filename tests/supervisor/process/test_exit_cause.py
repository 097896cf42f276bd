"""The table that says why a program has ended. `test_child.py` has the programs that cannot be started."""

from __future__ import annotations

import shutil
import subprocess
import sys
from time import perf_counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.process.exit_cause import ERROR_LENGTH, LastWords, find_error
from wire.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "/home/ada/desk"
PYTHON = """\
Traceback (most recent call last):
  File "/home/ada/desk/main.py", line 9, in <module>
    json.loads(text)
  File "/usr/lib/python3/json.py", line 355, in raw_decode
    raise JSONDecodeError("Expecting value", s, err.value) from None
json.JSONError: no
"""
PYTHON_SYNTAX = """\
  File "/home/ada/desk/main.py", line 2
    open(
        ^
SyntaxError: '(' was never closed
"""
NODE = """\
/home/ada/desk/node_modules/shop/index.js:2
  return order.lines.length;
                     ^

TypeError: Cannot read properties of undefined (reading 'length')
    at price (/home/ada/desk/node_modules/shop/index.js:2:22)
    at async file:///home/ada/desk/main.mjs:5:1
    at node:internal/main/run_main_module:28:49 {
  code: 'X'
}

Node.js v20.20.2
"""
NODE_MISSING = """\
node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module 'shop'
Require stack:
- /home/ada/desk/main.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Object.<anonymous> (/home/ada/desk/main.js:1:1)

Node.js v20.20.2
"""
NODE_SYNTAX = """\
file:///home/ada/desk/main.mjs:3
import { x } from "y";
         ^
SyntaxError: no such export
    at ModuleJob.run (node:internal/modules/esm/module_job:561:5)
"""
NODE_TEXT = (
    "/home/ada/desk/main.js:1\nthrow 'no desk'\n^\nno desk\n(Use `node --trace-uncaught ...`)\n\nNode.js v20.20.2\n"
)
NODE_PRINTED = "fatal: DeskError: closed\n    at open (/home/ada/desk/lib/desk.js:3:9)\n    at main.js:1:1\n"
GO = """\
panic: no orders today

goroutine 1 [running]:
main.price(...)
	/home/ada/desk/main.go:5
main.main()
	/home/ada/desk/main.go:11 +0x27
exit status 2
"""
GO_RUNTIME = """\
fatal error: all goroutines are asleep - deadlock!

goroutine 1 [chan receive]:
main.main()
	/home/ada/desk/main.go:4 +0x2a
"""


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        (PYTHON, '"json.JSONError: no" at main.py:9'),
        (PYTHON + "\nDuring handling:\n\n" + PYTHON.replace("json.JSON", "Desk"), '"DeskError: no" at main.py:9'),
        (f"starting\n{PYTHON}closing\n", '"json.JSONError: no" at main.py:9; after that "closing"'),
        (PYTHON.replace("/home/ada/desk", "/opt/b"), '"json.JSONError: no" at /usr/lib/python3/json.py:355'),
        (PYTHON.replace("/home/ada/desk/", "./"), '"json.JSONError: no" at main.py:9'),
        (PYTHON_SYNTAX, '"SyntaxError: \'(\' was never closed" at main.py:2'),
        (NODE, '"TypeError: Cannot read properties of undefined (reading \'length\')" at main.mjs:5'),
        (NODE_MISSING, '"Error: Cannot find module \'shop\'" at main.js:1'),
        (NODE_SYNTAX, '"SyntaxError: no such export" at main.mjs:3'),
        (NODE_TEXT, '"no desk" at main.js:1'),
        (NODE_PRINTED, '"fatal: DeskError: closed" at lib/desk.js:3'),
        (GO, '"panic: no orders today" at main.go:5'),
        (GO_RUNTIME, '"fatal error: all goroutines are asleep - deadlock!" at main.go:4'),
        ("", ""),
        ("Listening on http://127.0.0.1:3000\nerror: no desk\n", ""),
        ("Traceback (most recent call last):\n", ""),
        ("(node:7) Warning: an error\n    at open (/home/ada/desk/main.js:3:9)\n", ""),
        ('  File "main.py", line 3\nmain.sh: line 1: 77 Killed python3\n', ""),
    ],
)  # fmt: skip
def test_the_error_that_a_language_reports(stderr: str, told: str) -> None:
    assert find_error(stderr.split("\n"), FOLDER) == told
    assert find_error(stderr.split("\n"), "/other/name", FOLDER) == told, "a folder may have two names"


PROGRAMS = {
    "main.py": (sys.executable, "def price(order):\n    return order.lines\nprice(None)", "'lines'\" at main.py:2"),
    "main.mjs": ("node", "const a = null;\na.open();\n", "(reading 'open')\" at main.mjs:2"),
    "main.go": (
        "go run", 'package main\n\nfunc main() {\n\tpanic("no orders")\n}\n', '"panic: no orders" at main.go:4'
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param("main.go", marks=pytest.mark.slow), "main.py", "main.mjs"])
def test_the_error_of_a_program_that_crashes_here(name: str, tmp_path: Path) -> None:
    command, text, told = PROGRAMS[name]
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"no {command} here")
    (tmp_path / name).write_text(text)
    ran = subprocess.run([*command.split(), name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert find_error(ran.stderr.split("\n"), str(tmp_path)).endswith(told), ran.stderr


GROUPS = {
    "task group": (
        "import asyncio\nasync def work(): raise ConnectionError('down')\nasync def main():\n"
        "    async with asyncio.TaskGroup() as group: group.create_task(work())\nasyncio.run(main())\n",
        '"ConnectionError: down" at main.py:2',
    ),
    "group": (
        "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])\n",
        '"ExceptionGroup: two (2 sub-exceptions)" at main.py:1; after that "TypeError: 2"',
    ),
}


@pytest.mark.parametrize(("text", "told"), GROUPS.values(), ids=GROUPS)
def test_a_group_of_errors_is_told_without_its_frame(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(text)
    ran = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert find_error(ran.stderr.split("\n"), str(tmp_path)) == told


def last_words(stderr: str, code: int | None) -> str:
    words = LastWords(FOLDER)
    words.tail.write(stderr.encode())
    words.ended(code)
    return str(words)


@pytest.mark.parametrize(
    ("stderr", "code", "told"),
    [
        (PYTHON_SYNTAX, 1, ': "SyntaxError: \'(\' was never closed" at main.py:2'),
        (f"{PYTHON}working\n", -9, ': "json.JSONError: no", "working"'),
        ("one\ntwo\n\nthree\n", 3, ': "two", "three"'),
        ("three\n", None, ': "three"'),
        ("", 3, ""),
        ("env: 'ruby': No such file\n", 127, ": cannot find a program: \"env: 'ruby': No such file\""),
        ("sh: ./x: Permission denied\n", 126, ': cannot execute a program: "sh: ./x: Permission denied"'),
        ("", 127, ": cannot find a program"),
        (PYTHON_SYNTAX, 127, ': "SyntaxError: \'(\' was never closed" at main.py:2'),
    ],
)  # fmt: skip
def test_the_last_words_of_a_program(stderr: str, code: int | None, told: str) -> None:
    assert last_words(stderr, code) == told


# --- what an extension may write -------------------------------------------------------------------------------

PIECES = st.sampled_from([*PYTHON.split("\n"), *NODE.split("\n"), *GO.split("\n"), "", "  ", "\x1b[31mpanic: x\x07"])


@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=30))
def test_any_lines_can_be_read(lines: list[str]) -> None:
    told = find_error(lines, FOLDER)
    assert one_line(told, 3 * ERROR_LENGTH) == told


@pytest.mark.parametrize(
    "lines",
    [
        ['  File "x", line 1'] * 2000, ["Error Exception " * 60] * 64, ["/a:1", "x", "^", "", "y"] * 400,
        ["/a:1" * 250] * 64, ["x Error", "    at x"] * 1000, ["panic: x", "\t/a.go:1"] * 1000,
        ["panic: x", *["f()"] * 2000], [" " * 1000] * 64,
    ],
    ids=range(8),
)  # fmt: skip
def test_no_lines_take_long_to_read(lines: list[str]) -> None:
    began = perf_counter()
    find_error(lines, FOLDER)
    assert perf_counter() - began < 2
