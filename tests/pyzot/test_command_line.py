"""The options of a runtime and the flags of a run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyzot import Runtime
from pyzot.connection.command_line import command, default_program, environment
from tests.support.zot_process import ROOT


def test_a_schema_is_a_path_or_the_schema_itself():
    assert command({"output_schema": Path("a.json"), "drain_timeout": None}, ["zot"])[2:] == ["--output-schema=a.json"]
    written = command({"output_schema": {"type": "integer"}, "drain_timeout": None}, ["zot"])
    assert written[2:] == ['--output-schema={"type": "integer"}']


def test_options_are_written_as_flags():
    given = {
        "model": "-x", "tools": ["read", "bash"], "ext": [Path("a"), "b"], "append_system_prompt": "one",
        "timeout": 1.5, "max_steps": 3, "no_ext": True, "watch": False, "stats": None,
        "cwd": Path("/x"), "api_key": "secret",
    }  # fmt: skip
    assert command(given, ["zot"]) == [
        "zot", "rpc", "--drain-timeout=0ms", "--model=-x", "--tools=read,bash", "--ext=a", "--ext=b",
        "--append-system-prompt=one", "--timeout=1500ms", "--max-steps=3", "--no-ext", "--cwd=/x",
    ]  # fmt: skip
    assert command({"ext": "one", "tools": "read,bash"}, ["zot"])[3:] == ["--ext=one", "--tools=read,bash"]
    assert command({})[: len(default_program()) + 1] == [*default_program(), "rpc"]


def test_the_key_is_in_the_environment_alone(monkeypatch):
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "of this process")
    found = environment({"api_key": "secret"}, {"EXTRA": "1"})
    assert (found["ANTHROPIC_API_KEY"], found["EXTRA"]) == ("secret", "1")
    assert "ZOTCORE_RPC_TOKEN" not in found
    assert "secret" not in " ".join(command({"api_key": "secret"}))


@pytest.mark.parametrize("option", ["-E", "-I", "-B"])
def test_what_python_was_told_to_ignore_is_not_given_to_the_engine(option):
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pyzot.connection.command_line import environment\n"
        "print(*(environment({}, env).get('PYTHONPATH') for env in (None, {'PYTHONPATH': '/given'})))"
    )
    env = {**os.environ, "PYTHONPATH": "/elsewhere"}
    done = subprocess.run([sys.executable, option, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == ("/elsewhere /given\n" if option == "-B" else "None /given\n")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("sys.executable", None, "sys.executable is .* give the command of an installed zot,"),
        ("sys.executable", "", "sys.executable is "),
        ("pyzot.connection.command_line.PACKAGE", f"{__file__}/pyzot", "not a file that Python could run: "),
    ],
)
def test_where_no_python_can_run_the_package_the_program_is_to_be_named(monkeypatch, name, value, said):
    monkeypatch.setattr(name, value)
    with pytest.raises(OSError, match=f"{said}.* as program="):
        Runtime()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", 5),
        ("model", b"x"),
        ("model", True),
        ("api_key", 5),
        ("api_key_file", 5),
        ("timeout", "5"),
        ("timeout", True),
        ("timeout", -1),
        ("timeout", float("nan")),
        ("timeout", float("inf")),
        ("max_steps", 1.5),
        ("max_steps", "1"),
        ("no_ext", 1),
        ("no_ext", "yes"),
        ("ext", 5),
        ("ext", [5]),
        ("tools", [None]),
        ("cwd", 5),
        ("system_prompt", "a\0b"),
        ("output_schema", ["type"]),
    ],
)
def test_a_value_of_another_type_is_refused_by_name(name, value):
    with pytest.raises(TypeError, match=f"^{name} "):
        command({name: value})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("modle", "did you mean 'model'?"),
        ("max_cost", "did you mean 'max_cost_usd'?"),
        ("function", "did you mean 'functions'?"),
        ("onEvent", "did you mean 'on_event'?"),
        ("qqq", "there are allow_asked, api_key, "),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_or_the_known(name, said):
    with pytest.raises(TypeError, match=f"^{re.escape(f'there is no option {name!r}; {said}')}"):
        Runtime(**{name: "x"})
