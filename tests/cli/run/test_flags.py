"""A flag of a run is one row of the table, and all that reads or writes flags is made of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import typer

from agent.options import RunRequest
from agent.run_flags import FIELDS
from cli.app import app
from cli.run.flags import bytes_from
from cli.run.request import request_from
from tests.support.zot_process import ROOT
from wire.flags.batch import BATCH, RETRY
from wire.flags.host import HOST, SERVE
from wire.flags.run import RUN

WITH_A_ROW = """
import contextlib, io, json, os, runpy, sys, types
from pathlib import Path
from cli.run.plain_flags import COMMANDS
import wire.flags.run as table
from wire.flags.flag import Flag, Kind

table.RUN = (*table.RUN, Flag("--frobs", "Frobnicate so often.", Kind.COUNT, table.TOOLS))
from wire.flags import python_files

texts = {"agent.run_flags": python_files.run_flags(), "pyzot.flags": python_files.options(),
         "cli.run.plain_flags": python_files.plain_flags(COMMANDS)}
for name, text in texts.items():
    sys.modules[name] = module = types.ModuleType(name)
    exec(text, module.__dict__)

import typer
from cli.app import app
from cli.batch.arguments import arguments_from
from cli.run import headless, plain
from pyzot.batches.command_line import command as of_batch
from pyzot.connection.command_line import command as of_runtime

zot = typer.main.get_command(app)
batch = zot.commands["batch"]
asked = []
headless.run = lambda request, *_words, **_rest: asked.append(request) or 0


def out_of(words):
    with contextlib.redirect_stdout(io.StringIO()) as stdout, contextlib.suppress(SystemExit):
        zot.main(words, prog_name="zot", standalone_mode=False)
    return stdout.getvalue()


def offered(line):
    os.environ.update({"_ZOT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))})
    said = out_of([])
    del os.environ["_ZOT_COMPLETE"]
    return said.split()


found = {
    "help": out_of(["--help"]), "help of a batch": out_of(["batch", "--help"]),
    "completion": offered("zot --frob"), "completion of a batch": offered("zot batch --frob"),
    "plain": plain.read(["-p", "--frobs", "3", "go"]).request.frobs,
    "run": (out_of(["-p", "--frobs=3", "go"]), asked[0].frobs)[1],
    "batch": arguments_from(batch.make_context("batch", ["t", "-o", "r", "--frobs", "3"]).params).request.run.frobs,
    "runtime": of_runtime({"frobs": 3}, ["zot"]),
    "batch of a program": of_batch({"frobs": 3}, "r", ["zot"], with_events=True, is_quiet=False),
    "reference": runpy.run_path("docs/generate.py")["files"]()["docs/reference/cli.md"],
    "options": texts["pyzot.flags"],
}
print(json.dumps(found))
"""
"""Adds a row for `--frobs`, makes the generated modules anew, and prints what each reader and writer makes of it."""


@pytest.mark.slow
def test_a_row_is_all_that_a_new_flag_needs():
    done = subprocess.run([sys.executable, "-c", WITH_A_ROW], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["reference"].count("| `--frobs` N | Frobnicate so often. |") == 2
    for name in ("help", "help of a batch"):
        assert "--frobs N" in found[name], name
    assert found["completion"] == found["completion of a batch"] == ["--frobs"]
    assert (found["plain"], found["run"], found["batch"]) == (3, 3, 3)
    assert "--frobs=3" in found["runtime"]
    assert "--frobs=3" in found["batch of a program"]
    assert found["options"].count("frobs: int\n") == 2


def parameters() -> dict[str, object]:
    """The parameters of a run, as without any flag."""
    command = typer.main.get_command(app)
    return {parameter.name: parameter.default for parameter in command.params if parameter.expose_value}


def test_no_flag_makes_the_default_request():
    assert request_from(parameters()) == RunRequest()


def test_flags_become_the_fields_of_their_names():
    given = {"max_steps": 3, "ext": ("a", "b"), "reasoning": "low", "tools": "read, edit", "no_ext": True}
    wanted = RunRequest(
        max_steps=3, extensions=("a", "b"), reasoning="low", tools=frozenset({"read", "edit"}), discover=False
    )
    assert request_from(parameters() | given) == wanted
    assert request_from(parameters() | {"no_tools": True, "tools": "none"}).tools == frozenset()


def test_each_field_of_a_request_has_a_flag():
    by_hand = {
        "tools",
        "auto_compact",
        "keep_session",
        "is_host_of_batch",
        "trusted_content",
        "batch_trace",
        "batch_alerts",
    }  # of two or three flags each, or of none
    assert {*FIELDS.values()} | by_hand == {*RunRequest.__struct_fields__} - {"home"}


@pytest.mark.parametrize("flags", [RUN, BATCH, RETRY, HOST, SERVE])
def test_no_name_stands_for_two_flags(flags):
    words = [word for flag in flags for word in flag.words]
    assert len(words) == len({*words})
    assert len({flag.name for flag in flags}) == len(flags)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512MB", 512_000_000),
        ("512MiB", 512 << 20),
        ("512M", 512 << 20),
        ("1.5g", 3 << 29),
        ("1 KB", 1000),
        ("1048576", 1 << 20),
        ("10b", 10),
        (".5K", 512),
        ("2TiB", 2 << 40),
    ],
)
def test_a_size(text, size):
    assert bytes_from(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1M", "M", "1 2", "12XB", "1e3", "inf", "0.1", "\u0661M", "1MMB"])
def test_what_is_no_size_says_what_is(text):
    with pytest.raises(ValueError, match="is not a size above zero: write bytes"):
        bytes_from(text)
