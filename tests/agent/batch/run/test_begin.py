"""The request for a run, from the flags of the batch and the task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.batch.run.begin import (
    FILE_LIMIT,
    attach_files,
    decode_request,
    encode_request,
    prompt_with_files,
    run_request,
    set_environment,
)
from agent.options import RunRequest
from agent.request_checks import UsageError
from tests.support.pictures import png
from wire.batch.task import Task

FLAGS = RunRequest(cwd="/work", model="a", provider="anthropic", api_key="k", extensions=("/x",), timeout=3.0)


FIELDS = {
    "cwd": st.text(),
    "extensions": st.lists(st.text()).map(tuple),
    "append_system_prompt": st.lists(st.text()).map(tuple),
    "tools": st.frozensets(st.text()),
    "home": st.just(Path("/home/é")),
    "max_steps": st.integers(1, 9),
    "skills": st.booleans(),
    "timeout": st.floats(0, 9),
}


@given(st.fixed_dictionaries({}, optional=FIELDS))
def test_a_request_survives_the_link(said: dict[str, Any]) -> None:
    assert decode_request(encode_request(RunRequest(**said))) == RunRequest(**said)


def test_what_the_task_says_takes_the_place_of_the_flags() -> None:
    task = Task(
        id="1", prompt="p", cwd="/own", model="b", ext=("/y",), tools=("read",), max_steps=2, max_cost_usd=0.5,
        system_prompt="", output_schema={"type": "object"},
    )  # fmt: skip
    made = run_request(FLAGS, task)
    assert (made.cwd, made.model, made.extensions, made.tools) == ("/own", "b", ("/y",), frozenset({"read"}))
    assert (made.max_steps, made.max_cost_usd, made.system_prompt) == (2, 0.5, "")
    assert made.output_schema == '{"type":"object"}'
    assert made.api_key == "k"


def test_what_the_task_leaves_out_stays_but_a_run_keeps_no_session_and_no_time() -> None:
    flags = replace(FLAGS, keep_session=True, resume="x", stats="s", record="r")
    made = run_request(flags, Task(id="1", prompt="p"))
    assert (made.cwd, made.model, made.extensions) == ("/work", "a", ("/x",))
    assert (made.keep_session, made.resume, made.stats, made.record, made.timeout) == (False, None, None, None, None)


def test_a_key_goes_to_its_own_provider_only() -> None:
    flags = replace(FLAGS, base_url="http://gateway", api_key_file="/key")
    made = run_request(flags, Task(id="1", prompt="p", provider="ollama"))
    assert (made.provider, made.api_key, made.api_key_file, made.base_url) == ("ollama", None, None, None)
    assert run_request(flags, Task(id="1", prompt="p", provider="anthropic")).api_key == "k"


def test_a_task_from_a_cassette_has_no_provider() -> None:
    made = run_request(FLAGS, Task(id="1", prompt="p", replay="/c.jsonl"))
    assert (made.provider, made.replay) == (None, "/c.jsonl")


def test_variables_of_the_task() -> None:
    environ = {"A": "1", "B": "2"}
    set_environment(environ, Task(id="1", prompt="p", env={"B": "3", "C": ""}))
    assert environ == {"A": "1", "B": "3", "C": ""}


@pytest.mark.parametrize(("name", "value"), [("", "x"), ("A=B", "x"), ("A", "x\0y"), ("A\0", "x")])
def test_a_variable_that_no_environment_can_have(name: str, value: str) -> None:
    with pytest.raises(UsageError, match="env: no environment can have the variable"):
        set_environment({}, Task(id="1", prompt="p", env={name: value}))


def test_files_of_text_go_in_front_and_images_beside(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.png").write_bytes(png(2, 2))
    (tmp_path / "c").write_text("two")
    files = tuple(str(tmp_path / name) for name in ("a.txt", "b.png", "c"))
    request, prompt = attach_files(RunRequest(images=("/flag.png",)), Task(id="1", prompt="What?", files=files))
    assert request.images == ("/flag.png", files[1])
    assert prompt == f'<file path="{files[0]}">\none\n</file>\n\n<file path="{files[2]}">\ntwo\n</file>\n\nWhat?'


def test_a_task_without_files_keeps_its_prompt() -> None:
    assert attach_files(FLAGS, Task(id="1", prompt="/name args")) == (FLAGS, "/name args")


def test_files_that_cannot_go_with_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\x00\xff\xfe")
    (tmp_path / "large").write_bytes(b"x" * (FILE_LIMIT + 1))
    wrong = {"missing": "No such file", "binary": "neither an image nor text", "large": "Larger than", ".": "directory"}
    for name, why in wrong.items():
        with pytest.raises(UsageError, match=why) as raised:
            attach_files(FLAGS, Task(id="1", prompt="p", files=(str(tmp_path / name),)))
        assert str(raised.value).startswith(f"files: {tmp_path / name}"), name


def test_files_that_are_too_long_together() -> None:
    with pytest.raises(UsageError, match="the files of text have 1,500,000 bytes together"):
        prompt_with_files([(str(number), "x" * 500_000) for number in range(3)], "p")
