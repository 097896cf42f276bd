"""Plain command lines are read without typer: each as typer reads it, or not at all."""

from __future__ import annotations

import contextlib
import io
from typing import Any
from unittest import mock

import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st

from cli.app import app
from cli.run.plain import ScreenRun, read
from cli.run.plain_flags import COMMANDS, FLAGS
from cli.run.request import OutputForm

COMMAND = typer.main.get_command(app)
VALUES = [
    "1f3c5a9e",
    "x",
    "",
    "low",
    "hi",
    "0",
    "1",
    "30",
    "007",
    "5m",
    "1e3",
    "-1",
    "-",
    "--",
    "-x",
    "read",
    "bsh",
    "a b",
    "\udcff",
]
WORDS = [
    "go",
    "/x",
    "-",
    "--",
    "--nope",
    "-pe",
    "-mX",
    "--model=x",
    "--timeout=",
    "--resume=x",
    "1f3c5a9e",
    "-pr",
    "--mod",
    "-h",
    "-v",
    "ext",
    "Ext",
    " ",
]


def by_typer(arguments: list[str]) -> tuple[Any, ...] | None:
    """The request as typer reads it from the arguments; None if typer runs nothing."""
    seen: list[tuple[Any, ...]] = []

    def run(request, words, *, literal, output, no_stdin):
        seen.append((request, tuple(words), literal, output, no_stdin))
        return 0

    def serve(request, words, *, drain_s, no_stdin, listen):
        seen.append((request, tuple(words), drain_s, no_stdin, listen))
        return 0

    with (
        mock.patch("cli.run.headless.run", run),
        mock.patch("cli.run.rpc.serve", serve),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(SystemExit, typer.TyperException),
    ):
        COMMAND.main(arguments, prog_name="zot", standalone_mode=False)
    return seen[0] if seen else None


def by_us(arguments: list[str]) -> tuple[Any, ...] | None:
    plain = read(arguments)
    if isinstance(plain, ScreenRun):
        return None  # typer's command does not open a screen
    if plain and plain.output.form is OutputForm.RPC:
        return plain.request, plain.words, plain.drain_s, plain.no_stdin, plain.listen
    return plain and (plain.request, plain.words, plain.literal, plain.output, plain.no_stdin)


EXCLUDED = ("print", "rpc", "no_auto_compact", "no_session", "save_session")
"""Switches that exclude one that is given."""
flag_with_value = st.tuples(st.sampled_from(sorted(FLAGS)), st.sampled_from(VALUES))
part = st.one_of(
    flag_with_value.map(list),
    st.sampled_from(sorted(FLAGS)).map(lambda flag: [flag]),
    st.sampled_from(WORDS).map(lambda word: [word]),
)
lines = st.lists(part, max_size=6).map(lambda parts: [word for words in parts for word in words])


@given(
    lines.filter(lambda line: not line or line[0] not in COMMANDS), st.sampled_from([[], ["-p"], ["--json"], ["--rpc"]])
)
@example(["--ext", "a", "-e", "b", "x", "--", "-p", "--", "y"], ["-p"])
@example(["-r", "1f3c5a9e", "go", "-r", "fix", "--", "-r"], ["-p"])
@example(["--model", "-r", "1f3c5a9e"], ["-p"])
@example(["--resume"], ["--json"])
@example(["--session", "x", "go"], ["--rpc"])
@example(["-pr", "1f3c5a9e", "go"], [])
@example(["--save-session"], ["-p"])
@example(["--plain"], [])
@example(["--no-tools", "--tools", "bsh"], ["-p"])
@example(["--tools", " read ,edit", "--timeout", "5m", "--ext-wait", "0"], ["--json"])
def test_both_readers_agree(line, mode):
    arguments = [*line, *mode]
    plain = by_us(arguments)
    assert plain is None or plain == by_typer(arguments)


@pytest.mark.parametrize(
    "line",
    [
        ["-p", "go"],
        ["--json", "--replay", "c", "fix", "it"],
        ["go", "-p", "-m", "M", "-C", "d", "--max-steps", "3", "--reasoning", "low", "--tools", "read"],
        ["-p", "--", "/x", "-y"],
        ["-p", "-"],
        ["-p"],
        [f for f, (name, kind) in FLAGS.items() if kind == "switch" and name not in EXCLUDED] + ["go"],
        ["--rpc", "-C", "d"],
        ["rpc", "-C", "d", "--drain-timeout", "5s"],
        ["rpc", "--listen", "s"],
        ["-p", "-r", "1f3c5a9e", "go"],
        ["-p", "-r", "go"],
        ["rpc", "--save-session"],
        ["rpc", "word"],
    ],
)  # fmt: skip
def test_what_is_plain(line):
    assert by_us(line) is not None
    assert by_us(line) == by_typer(line)


@pytest.mark.parametrize(
    "line",
    [
        [], ["go"], ["demo"], ["ext", "list"], ["-p", "--json", "x"], ["-h"], ["-p", "-h"], ["-v", "-p"],
        ["-p", "--nope"], ["-p", "--timeout", "0", "x"], ["-p", "--max-steps", "0"], ["-p", "--tools", "bsh"],
        ["-p", "--model"], ["-p", "--model=M", "x"], ["-p", "--reasoning", "much", "x"], ["-p", "--show-completion"],
        ["-p", "--drain-timeout", "5s", "x"], ["-p", "--listen", "s", "x"], ["rpc", "-p"], ["rpc", "-h"],
        ["-p", "--save-session", "x"], ["rpc", "--save-session", "--no-session"],
    ],
)  # fmt: skip
def test_what_is_left_to_typer(line):
    assert read(line) is None


def test_completion_is_left_to_typer(monkeypatch):
    monkeypatch.setenv("_ZOT_COMPLETE", "complete_bash")
    assert read(["-p", "x"]) is None
