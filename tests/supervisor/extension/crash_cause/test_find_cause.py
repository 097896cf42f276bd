"""The cause of real crashes of real programs, in the languages in which extensions are written."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.crash_cause.find_cause import ERROR_LENGTH, FILE_LENGTH, find_cause
from supervisor.extension.crash_cause.last_words import LastWords
from tests.supervisor.extension.crash_cause.crash_file import LANGUAGES, Crash, read
from tests.supervisor.extension.crash_cause.record import stderr_of, version_of
from wire.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "/home/ada/desk"
ALL = [(language, crash) for language in LANGUAGES for crash in read(language)[1]]
EVERY = pytest.mark.parametrize(
    ("language", "crash"), ALL, ids=[f"{language}: {crash.title}" for language, crash in ALL]
)
CHATTER = """

added 12 packages in 3 s
npm notice
npm notice New major version of npm available! 9.2.0 -> 11.0.0
[worker] 3: closed 2 connections
2026-11-22 05:27:49 INFO desk: bye
see https://example.com:443 for more, or main.py: the usage
"""


def cause_of(stderr: str, *folders: str) -> tuple[str, str] | None:
    found = find_cause(stderr.split("\n"), *folders)
    return None if found is None else (found.error, found.place)


@EVERY
def test_the_cause_of_a_recorded_crash(language: str, crash: Crash) -> None:
    stderr = crash.stderr.replace("{folder}", FOLDER)
    assert cause_of(stderr, FOLDER) == crash.expected(FOLDER)
    assert cause_of(CHATTER + stderr + CHATTER, FOLDER) == crash.expected(FOLDER), "chatter does not win"
    assert cause_of(stderr, "/somewhere/else", FOLDER) == crash.expected(FOLDER), "a folder may have two names"


def test_ten_crashes_of_each_language() -> None:
    assert {language for language in LANGUAGES if len(read(language)[1]) < 10} == set()


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_cause_when_the_program_crashes_here(language: str, tmp_path: Path) -> None:
    if (program := shutil.which(LANGUAGES[language])) is None:
        pytest.skip(f"no {LANGUAGES[language]} here")
    recorded_with, crashes = read(language)
    is_same = version_of(program) in recorded_with
    for number, crash in enumerate(crashes):
        if any(shutil.which(needed) is None for needed in crash.needs):
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        stderr = stderr_of(crash, folder)
        found = cause_of(stderr, str(folder))
        expected = crash.expected(str(folder))
        if is_same:
            assert found == expected, stderr
        else:  # another version may word the error otherwise, or name the next line
            assert found is not None, stderr
            assert found[1].partition(":")[0] == expected[1].partition(":")[0], stderr


# --- what is no crash ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stderr",
    [
        "",
        CHATTER,
        "usage: desk [-h] PORT\ndesk: error: the following arguments are required: PORT",
        "Listening on port 3000\nhttp://127.0.0.1:3000",
        "main.go\nmain.py: 3 files\nerror: no desk",
        "Traceback (most recent call last):",
        'Traceback (most recent call last):\n  File "main.py", line 3, in <module>\n    open()',
        "    at the end of the day (12:30)\n  at home",
        "bash: warning: setlocale: LC_ALL: cannot change locale (xx)",
        "main.sh: line 1: warning: setlocale: LC_ALL: cannot change locale (xx)",
        "exit status 2\nNode.js v20.20.2",
    ],
)
def test_what_is_no_crash(stderr: str) -> None:
    assert find_cause(stderr.split("\n"), FOLDER) is None


# --- which of several ------------------------------------------------------------------------------------------

OWN = 'Traceback (most recent call last):\n  File "main.py", line 3, in <module>\nOSError: the desk is closed\n'
SHELL = "main.sh: line 9: stop: command not found\n"


def test_a_shell_that_complains_right_after_a_crash_is_not_the_cause() -> None:
    assert cause_of(OWN + SHELL, FOLDER) == ("OSError: the desk is closed", "main.py:3")
    assert cause_of(OWN + "working\n" * 20 + SHELL, FOLDER) == ("stop: command not found", "main.sh:9")


def test_the_last_error_counts() -> None:
    assert cause_of(OWN + OWN.replace("OSError", "KeyError"), FOLDER) == ("KeyError: the desk is closed", "main.py:3")


def test_the_code_of_the_extension_comes_before_libraries_in_its_folder_and_outside() -> None:
    inside, vendored, outside = "rules.py", "zotext/extension.py", "/usr/lib/python3.12/json/decoder.py"

    def place(*files: str) -> str:
        frames = "".join(f'  File "{file}", line {number}, in f\n' for number, file in enumerate(files, 1))
        found = cause_of(f"Traceback (most recent call last):\n{frames}ValueError: no\n", FOLDER)
        assert found is not None
        return found[1]

    assert place(f"{FOLDER}/{inside}", f"{FOLDER}/{vendored}", outside) == "rules.py:1"
    assert place(f"{FOLDER}/{vendored}", outside) == "zotext/extension.py:1"
    assert place(outside) == f"{outside}:1"
    assert place(f"{FOLDER}-2/{inside}") == f"{FOLDER}-2/{inside}:1", "another folder"


def test_frames_of_node_are_no_place() -> None:
    """Newer versions write `async` before a file without a function."""
    lines = [
        f"file://{FOLDER}/main.mjs:3", "import { x } from 'y';", "         ^", "SyntaxError: no such export",
        "    at ModuleJob.run (node:internal/modules/esm/module_job:561:5)",
        "    at async node:internal/modules/esm/loader:650:26",
    ]  # fmt: skip
    assert cause_of("\n".join(lines), FOLDER) == ("SyntaxError: no such export", "main.mjs:3")
    lines[-1] = f"    at async file://{FOLDER}/lib.mjs:7:1"
    assert cause_of("\n".join(lines), FOLDER) == ("SyntaxError: no such export", "lib.mjs:7")


def test_the_importer_of_what_is_missing_is_the_place() -> None:
    lines = [
        "node:internal/errors:3", "  throw it;", "  ^", "",
        f"Error: Cannot find package 'x' imported from {FOLDER}/node_modules/y/index.js",
        "    at resolve (file:///opt/a/launcher.mjs:20:12)",
    ]  # fmt: skip
    assert cause_of("\n".join(lines), FOLDER) == ("Error: Cannot find package 'x'", "node_modules/y/index.js")


def told(stderr: str) -> str:
    """What is told of a program that ended with status 1."""
    words = LastWords(FOLDER)
    words.tail.write(stderr.encode())
    words.ended(1)
    return str(words)


NODE = "    at open (/home/ada/desk/main.js:3:9)\n    at node:internal/main/run_main_module:28:49\n"


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        (f"{OWN}retrying\nfatal: no port\n", '"OSError: the desk is closed" at main.py:3; after that "fatal: no port"'),
        (f"{OWN}closing\nclosed 3 files\n", '"OSError: the desk is closed" at main.py:3'),
        (f"{OWN}npm error code 1\nexit status 1\n", '"OSError: the desk is closed" at main.py:3'),
        (f"{OWN}main.sh: line 9: python3: cannot run\n", '"OSError: the desk is closed" at main.py:3'),
        (f"fatal: TypeError: no desk\n{NODE}", '"TypeError: no desk" at main.js:3'),
        (f"caught DeskClosed: since noon\n{NODE}", '"DeskClosed: since noon" at main.js:3'),
        (f"(node:7) Warning: old desk\n{NODE}desk: no port\n", '"desk: no port"'),
        ("2026/11/22 07:12:02 no port\nexit status 1\n", '"2026/11/22 07:12:02 no port"'),
        (
            'npm error Missing script: "start"\nnpm error\nnpm error To see a list of scripts, run:\n'
            "npm error   npm run\nnpm error Did you mean this?\nnpm error   npm stars # favorites\n"
            "npm error A complete log of this run can be found in: /log\n",
            "\"npm error Missing script: \"start\"\"",
        ),
        ("main.sh: 2: ./lib/desk.sh: open: not found\n", '"open: not found" at lib/desk.sh:2'),
        ("main.sh: 3: ./lib.sh: Syntax error: \"then\" unexpected\n", '"Syntax error: "then" unexpected" at lib.sh:3'),
        ("main.sh: 3: ./lib.sh: not found\n", '"./lib.sh: not found" at main.sh:3'),
        (
            "node:assert:90\n  throw new AssertionError(obj);\n  ^\n\n"
            f"AssertionError [ERR_ASSERTION]: not equal:\n\n1 !== 2\n\n{NODE}\nNode.js v20.20.2\n",
            '"AssertionError [ERR_ASSERTION]: not equal: 1 !== 2" at main.js:3',
        ),
        (
            "node:internal/process/promises:391\n    triggerUncaughtException(err, true);\n    ^\n\n"
            f"[AggregateError: no desk] {{\n  [errors]: [\n    Error: one\n{NODE}    Error: two\n{NODE}  ]\n}}\n",
            '"AggregateError: no desk, the first: Error: one" at main.js:3',
        ),
    ],
)  # fmt: skip
def test_what_is_told(stderr: str, expected: str) -> None:
    assert told(stderr) == f": {expected}"


# --- what an extension may write -------------------------------------------------------------------------------


def test_what_is_shown_is_short_and_printable() -> None:
    found = find_cause([f"\x1b[31mpanic: {'x' * 5000}\x07", "", "goroutine 1 [running]:", "\t" + "y" * 900 + ":3"], "/")
    assert found is not None
    assert len(found.error) == ERROR_LENGTH
    assert len(found.file) <= FILE_LENGTH
    assert str(found).isprintable()


PIECES = st.sampled_from(
    [line for _, crash in ALL[::3] for line in crash.stderr.split("\n")[:12]] + ["", "  ", "{", "}", "(", ":", "\x1b["]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=30))
def test_any_lines_can_be_read(lines: list[str]) -> None:
    found = find_cause(lines, FOLDER)
    assert found is None or (found.error and one_line(str(found), 1000) == str(found))
