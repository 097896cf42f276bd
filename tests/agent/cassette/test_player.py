"""A player's answers to requests, and the files that it refuses."""

from __future__ import annotations

import json

import pytest

from agent.cassette import CassetteError, CassetteMismatch, CassettePlayer, CassetteRecorder
from tests.support.cassette_exchanges import CWD, params, record, reply, tool_reply


def test_a_reply_comes_back_line_by_line_without_ids(tape) -> None:
    error = [{"type": "error", "kind": "server", "status": 500, "message": "anthropic: HTTP 500: x", "content": []}]
    record(tape, (params("a"), reply("Hel", "lo ", "{{cwd}} {{lit:home}} \u2028")), (params("b"), error))
    player = CassettePlayer.load(tape, cwd=CWD)
    assert player.remaining == 2
    assert player.next(params("a")) == reply("Hel", "lo ", "{{cwd}} {{lit:home}} \u2028")
    assert player.next(params("b")) == error
    assert player.remaining == 0


def test_a_cassette_plays_in_another_folder_on_another_day(tape, tmp_path) -> None:
    recorded = params(f"look at {CWD}/a.py")
    record(tape, (recorded, tool_reply('{"path": "/work/pro', 'ject/a.py"}')), home="/work")
    there = tmp_path / 'other "place"'
    there.mkdir()
    asked = params(f"look at {there}/a.py", cwd=str(there))
    asked["system"][0]["text"] = asked["system"][0]["text"].replace("2026-11-21", "2027-01-02")
    lines = CassettePlayer.load(tape, cwd=str(there), home="/elsewhere").next(asked)
    assert json.loads(lines[-1]["content"][0]["args"]) == {"path": f"{there}/a.py"}
    streamed = "".join(line["delta"] for line in lines if line["type"] == "tool_use_args")
    assert streamed == lines[-1]["content"][0]["args"]


def test_log_names_and_durations_of_bash_may_differ(tape) -> None:
    def asked(log: str, took: str) -> dict:
        text = f"$ make\n\n[exit 0] (full output: {log})  Took {took}"
        result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}]}
        return params("go", messages=[{"role": "user", "content": [result]}])

    record(
        tape, (asked("/tmp/zot-bash-0011aabbccdd.log", "1.2s"), tool_reply('{"path":"/tmp/zot-bash-0011aabbccdd.log"}'))
    )
    lines = CassettePlayer.load(tape, cwd=CWD).next(asked("/var/folders/x/zot-bash-ffeeddccbbaa.log", "2m13s"))
    assert json.loads(lines[-1]["content"][0]["args"]) == {"path": "/var/folders/x/zot-bash-ffeeddccbbaa.log"}


def test_cache_markers_may_differ_but_arguments_of_that_name_may_not(tape) -> None:
    def asked(marker: dict, argument: int) -> dict:
        call = {"type": "tool_use", "id": "t", "name": "http", "input": {"cache_control": argument}}
        return params(
            messages=[
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [{"type": "text", "text": "x", **marker}]},
            ],
            tools=[{"name": "http", "description": "", "input_schema": {}, **marker}],
        )

    record(tape, (asked({"cache_control": {"type": "ephemeral"}}, 1), reply("ok")))
    assert CassettePlayer.load(tape, cwd=CWD).next(asked({}, 1)) == reply("ok")
    with pytest.raises(CassetteMismatch, match=r"messages\[0\]\.content\[0\]\.input\.cache_control"):
        CassettePlayer.load(tape, cwd=CWD).next(asked({}, 2))


def test_a_recording_with_one_system_block_plays_where_the_date_and_the_folder_have_their_own(tape) -> None:
    """Earlier versions had the date before what extensions say, and named files of the project by whole paths."""
    ending, said = "Current date: 2026-11-21\nCurrent working directory: /work/project\n", "The extension a says: b\n"
    earlier = params("go", system=[{"type": "text", "text": f"S\n\n## {CWD}/AGENTS.md\n\nT\n\n{ending}\n{said}"}])
    record(tape, (earlier, reply("1")))

    def asked(stable: str) -> dict:
        marked = {"type": "text", "text": stable, "cache_control": {"type": "ephemeral"}}
        return params("go", system=[marked, {"type": "text", "text": f"\n\n{ending}"}])

    with pytest.raises(CassetteMismatch, match=r"system\[0\]\.text"):
        CassettePlayer.load(tape, cwd=CWD).next(asked(f"S\n\n## AGENTS.md\n\nOther\n\n{said}"))
    assert CassettePlayer.load(tape, cwd=CWD).next(asked(f"S\n\n## AGENTS.md\n\nT\n\n{said}")) == reply("1")


def test_requests_must_come_in_the_recorded_order(tape) -> None:
    record(tape, (params("a"), reply("1")), (params("b"), reply("2")))
    with pytest.raises(CassetteMismatch, match=":2 at request 1 of 2"):
        CassettePlayer.load(tape, cwd=CWD).next(params("b"))


def test_a_request_beyond_the_end_of_the_cassette_is_an_error(tape) -> None:
    record(tape, (params("a"), reply("1")))
    player = CassettePlayer.load(tape, cwd=CWD)
    player.next(params("a"))
    with pytest.raises(
        CassetteError, match=r"ends after 1 exchange, but the run continues; record it again with --record"
    ):
        player.next(params("a"))


HEADER = b'{"type":"cassette","version":1}\n'
FINAL = {"type": "final", "content": [], "stop_reason": "end_turn", "usage": {}}
EXCHANGE = json.dumps({"type": "exchange", "request": {}, "reply": [FINAL]}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", " is empty"),
        (b"hello\n", ":1: not JSON"),
        (b"\xff\xfe\n", ":1: not JSON"),
        (b'{"type":"session"}\n', ":1: not a cassette"),
        (b"[]\n", ":1: not a cassette"),
        (b'{"type":"cassette","version":2}\n', ":1: version 2; this program reads version 1"),
        (b'{"type":"cassette"}\n', ":1: version None"),
        (HEADER[:10], ":1: the line is cut off"),
        (HEADER + EXCHANGE + EXCHANGE[:20], ":3: the line is cut off, so the recording was interrupted"),
        (HEADER + b"{]\n" + EXCHANGE, ":2: not JSON"),
        (HEADER + b"\n" + EXCHANGE, ":2: not JSON"),
        (HEADER + b'{"type":"note"}\n', ":2: not an exchange"),
        (HEADER + b'{"type":"exchange","reply":[]}\n', ":2: the exchange has no `request` object"),
        (HEADER + b'{"type":"exchange","request":{}}\n', ":2: reply: expected array, got null"),
        (
            HEADER + b'{"type":"exchange","request":{},"reply":[{"type":"final","content":[{"args":{}}]}]}\n',
            ":2: reply[0].content[0].type is required",
        ),
        (HEADER + b'{"type":"exchange","request":{},"reply":[]}\n', ":2: the reply does not end"),
        (HEADER + b'{"type":"exchange","request":{"model":5},"reply":[]}\n', ":2: request.model must be text"),
        (
            HEADER + b'{"type":"exchange","request":{"messages":' + b"[" * 900 + b"]" * 900 + b'},"reply":[]}\n',
            ":2: the request is nested deeper than 254 levels",
        ),
        (
            HEADER + b'{"type":"exchange","request":{},"reply":[{"type":"message_start","usage":{}}]}\n',
            ":2: the reply does not end",
        ),
    ],
)
def test_a_bad_file_is_named_with_its_line(tape, data: bytes, message: str) -> None:
    tape.write_bytes(data)
    with pytest.raises(CassetteError) as caught:
        CassettePlayer.load(tape, cwd=CWD)
    assert str(caught.value).startswith(f"cassette {tape}{message}")


def test_a_last_line_without_newline_is_fine_when_it_is_whole(tape) -> None:
    tape.write_bytes((HEADER + EXCHANGE).rstrip())
    assert CassettePlayer.load(tape, cwd=CWD).next({}) == [FINAL]


def test_missing_files_and_directories_are_named(tmp_path) -> None:
    with pytest.raises(CassetteError, match=r"cannot read cassette .*/gone\.jsonl: No such file or directory"):
        CassettePlayer.load(tmp_path / "gone.jsonl", cwd=CWD)
    with pytest.raises(CassetteError, match=f"cannot read cassette {tmp_path}: Is a directory"):
        CassettePlayer.load(tmp_path, cwd=CWD)
    with pytest.raises(CassetteError, match=f"cannot write cassette {tmp_path}: it is a directory"):
        CassetteRecorder(tmp_path, cwd=CWD)
    with pytest.raises(CassetteError, match=r"cannot write cassette .*: No such file or directory"):
        CassetteRecorder(tmp_path / "no" / "such" / "folder.jsonl", cwd=CWD)
    with pytest.raises(CassetteError, match="not a regular file"):
        CassetteRecorder("/dev/null", cwd=CWD)
