"""Situations of a prompt: the command line, the credential, the model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.support.messages_server import http_error, text_reply, tool_reply
from tests.support.replay_script import Script
from tests.support.situations.stage import situation, situations

if TYPE_CHECKING:
    from tests.support.situations.stage import Stage


@situation("zot: …/models.json:3:20: providers.ollama.models[0].contextWindow: …")
def a_faulty_model(stage: Stage) -> str:
    stage.zot.home.mkdir(exist_ok=True)
    file = stage.zot.home / "models.json"
    file.write_text(
        '{"providers": {"ollama": {"models": [\n {"id": "q",\n "name": "Houses", "contextWindow": "big"}\n]}}}'
    )
    said = stage.zot.run("-p", "hi").stderr
    file.unlink()
    return said


@situation("zot: the run differs from cassette …")
def another_prompt(stage: Stage) -> str:
    cassette = Script(stage.zot.cwd, prompt="another question").answer("Done.").write(stage.zot.folder / "c.jsonl")
    return stage.zot.run("-p", "--replay", cassette, "go").stderr


def refused(stage: Stage, needed: int) -> str:
    """The stderr of a run whose server answers with this status."""
    stage.server.add(*[http_error(needed)] * 5)
    return stage.asked().stderr


situations(
    refused,
    {
        "zot: anthropic: HTTP 401: …": 401,
        "zot: anthropic: HTTP 404: …": 404,
        "zot: anthropic: HTTP 413: …": 413,
    },
)


@situation("zot: anthropic: HTTP 529: …")
def overloaded(stage: Stage) -> str:
    stage.server.add(*[http_error(529, retry_after_ms=1)] * 3)
    return stage.asked().stderr


@situation("zot: timeout: …")
def takes_too_long(stage: Stage) -> str:
    cassette = Script(stage.zot.cwd).call(("bash", {"command": "sleep 600"})).answer("").write(stage.zot.folder / "c")
    return stage.zot.run("-p", "--replay", cassette, "--timeout", "1", "go").stderr


@situation("zot: max steps (…) exceeded")
def too_many_turns(stage: Stage) -> str:
    stage.server.add(*[tool_reply([("read", {"path": "x"})])] * 2)
    return stage.asked("--max-steps", "1").stderr


@situation("zot: budget: … of … (--max-cost-usd) is used; allow more, or ask for less")
def too_expensive(stage: Stage) -> str:
    stage.server.add(*[tool_reply([("read", {"path": "x"})])] * 2)
    return stage.asked("--max-cost-usd", "0.00001").stderr


@situation("zot: the answer does not fit --output-schema, also after one more turn: …")
def no_json(stage: Stage) -> str:
    schema = stage.file("schema.json", '{"type": "integer"}')
    stage.server.add(text_reply("Two."), text_reply("2.5"))
    return stage.asked("--output-schema", schema).stderr


@situation("zot: --output-schema …: not a JSON Schema: …")
def no_schema(stage: Stage) -> str:
    return stage.zot.run("-p", "--output-schema", stage.file("schema.json", '{"type": "int"}'), "hi").stderr


@situation("zot: anthropic: HTTP 429: …")
def too_many_requests(stage: Stage) -> str:
    stage.server.add(http_error(429, retry_after=300))
    return stage.asked().stderr


@situation("zot: ANTHROPIC_BASE_URL …: must start with http:// or https://")
def no_address(stage: Stage) -> str:
    return stage.zot.run("-p", "hi", env={"ANTHROPIC_BASE_URL": "gateway.example"}).stderr


@situation("zot: nothing came through the pipe on stdin within 3 s; the prompt is its words alone …")
def silent_pipe(stage: Stage) -> str:
    read_end, write_end = os.pipe()
    try:
        return stage.zot.run(*stage.replay(), "go", stdin=read_end).stderr
    finally:
        os.close(read_end)
        os.close(write_end)


@situation("zot: stdin is a file, which was not read; …")
def a_file_beside_words(stage: Stage) -> str:
    with stage.file("notes", "some notes").open("rb") as notes:
        return stage.zot.run(*stage.replay(), "go", stdin=notes).stderr


@situation("zot: …/config.json: envPolicy: no such field; did you mean 'env_policy'?")
def near_miss_in_the_config(stage: Stage) -> str:
    stage.zot.home.mkdir()
    (stage.zot.home / "config.json").write_text('{"envPolicy": "minimal"}')
    return stage.answered().stderr


@situation("zot: config.json: ignored provider …")
def provider_of_zot(stage: Stage) -> str:
    stage.zot.home.mkdir()
    (stage.zot.home / "config.json").write_text('{"provider": "openai", "model": "gpt-5"}')
    stage.server.add(text_reply("Done."))
    return stage.asked().stderr
