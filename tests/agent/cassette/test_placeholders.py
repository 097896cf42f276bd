"""Placeholders replace texts that differ with each run; words of the model come back unchanged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cassette.placeholders import PlaceholderNames, canonical

CWD, HOME = "/home/me/work", "/home/me"


def names(cwd: str = CWD, home: str | None = HOME, messages: object = ()) -> PlaceholderNames:
    return PlaceholderNames.of({"messages": messages}, cwd=cwd, home=home)


def encoded(text: str, **where) -> str:
    return canonical({"x": text}, **{"cwd": CWD, "home": HOME, **where})["x"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/me/work", "{{cwd}}"),
        ("in /home/me/work, yes", "in {{cwd}}, yes"),
        ("at /home/me/work.", "at {{cwd}}."),
        ("/home/me/work/a/b", "{{cwd}}/a/b"),
        ("/home/me/work-old /home/me/work.txt /home/me/works", "{{home}}/work-old {{home}}/work.txt {{home}}/works"),
        ("/var/home/me/work", "/var/home/me/work"),
        ("file:///home/me/work", "file://{{cwd}}"),
        ("--dir=/home/me/work", "--dir={{cwd}}"),
        ("/home/me/.bashrc", "{{home}}/.bashrc"),
        ("/home/melanie", "/home/melanie"),
        ("{{cwd}} {{log1}} {{lit:cwd}} {{other}}", "{{lit:cwd}} {{lit:log1}} {{lit:lit:cwd}} {{other}}"),
    ],
)
def test_directories_are_replaced_as_whole_components(text: str, expected: str) -> None:
    assert encoded(text) == expected


def test_the_real_path_counts_as_the_directory(tmp_path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert encoded(f"{link}/a {real}/b", cwd=str(link)) == "{{cwd}}/a {{cwd}}/b"


def test_the_root_directory_has_no_placeholder() -> None:
    assert encoded("/usr/bin", cwd="/", home="/") == "/usr/bin"


def test_a_trailing_slash_of_the_directory_does_not_matter() -> None:
    assert encoded("/home/me/work/a", cwd="/home/me/work/") == "{{cwd}}/a"


def test_only_the_system_prompt_has_a_date() -> None:
    dated = [{"type": "text", "text": "x\nCurrent date: 2026-11-21\ny"}]
    request = canonical({"system": dated, "messages": [{"role": "user", "content": dated}]}, cwd=CWD)
    assert request["system"][0]["text"] == "x\nCurrent date: {{date}}\ny"
    assert request["messages"][0]["content"] == dated


@pytest.mark.parametrize("took", ["0.0s", "59.9s", "1m0s", "12h3m", "7s"])
def test_only_tool_results_have_a_duration(took: str) -> None:
    part = {"type": "text", "text": f"[exit 1]  Took {took}"}
    content = [part, {"type": "tool_result", "tool_use_id": "t", "content": [part]}]
    request = canonical({"messages": [{"role": "user", "content": content}]}, cwd=CWD)
    said, result = request["messages"][0]["content"]
    assert said == part
    assert result["content"] == [{"type": "text", "text": "[exit 1]  Took {{time}}"}]


def test_logs_are_numbered_as_they_are_named_first() -> None:
    first, second = "/tmp/zot-bash-01.log", "/home/me/work/tmp/zot-result-ab.txt"
    messages = [{"role": "user", "content": [{"type": "text", "text": f"({second}) then {first} and {second}"}]}]
    request = canonical({"messages": messages}, cwd=CWD, home=HOME)
    assert request["messages"][0]["content"][0]["text"] == "({{log1}}) then {{log2}} and {{log1}}"


def test_names_of_logs_without_a_space_between_them_are_no_longer_than_their_text() -> None:
    text = "/zot-bash-0.log/tmp/zot-bash-1.log" * 5_000
    messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    request = canonical({"messages": messages}, cwd=CWD)
    assert request["messages"][0]["content"][0]["text"] == "{{log1}}{{log2}}" * 5_000


def test_any_number_of_logs_is_replaced_in_time_that_grows_with_the_text() -> None:
    long = "/" * 100_000
    text = " ".join(f"/tmp/zot-bash-{number:x}.log" for number in range(5_000)) + f" {long}/zot-bash-ff.log {long * 10}"
    messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    said = canonical({"messages": messages}, cwd=CWD)["messages"][0]["content"][0]["text"]
    assert said.startswith("{{log1}} {{log2}} ")
    assert " {{log5000}} /" in said
    assert said.endswith(long * 10)


def test_a_log_in_the_working_directory_is_a_log() -> None:
    log = f"{CWD}/tmp/zot-bash-01.log"
    given = [{"role": "user", "content": [{"type": "text", "text": f"{CWD} {log}"}]}]
    found = names(messages=given)
    lines = [{"type": "text_delta", "delta": f"{CWD}/x {{{{cwd}}}} file:{log}{log} {CWD}"}]
    assert [line["delta"] for line in found.recorded(lines)] == ["{{cwd}}/x {{lit:cwd}} file:{{log1}}{{log1}} {{cwd}}"]
    assert found.played(found.recorded(lines)) == lines


def test_the_request_itself_is_left_alone() -> None:
    params = {"messages": [{"role": "user", "content": [{"type": "text", "text": CWD, "cache_control": {}}]}]}
    before = json.dumps(params)
    canonical(params, cwd=CWD)
    assert json.dumps(params) == before


texts = st.lists(
    st.sampled_from(
        [
            CWD,
            HOME,
            "/",
            "/tmp/zot-bash-0a.log",
            "{{",
            "}}",
            "{{cwd}}",
            "{{log1}}",
            "lit:",
            "cwd",
            "-",
            ".",
            " ",
            "é",
            '"',
            "\\",
            "\n",
        ]
    )
    | st.text(max_size=4)
).map("".join)
PIECES = st.lists(texts, min_size=1, max_size=6)


def spoken(pieces: list[str]) -> list[dict]:
    pieces = [piece for piece in pieces if piece]
    args = [json.dumps({"p": "".join(pieces)}, ensure_ascii=False)[at : at + 3] for at in range(0, 400, 3)]
    args = [piece for piece in args if piece]
    content = [
        {"type": "text", "text": "".join(pieces)},
        {"type": "tool_call", "id": "t", "name": "n", "args": "".join(args)},
    ]
    return [
        *({"type": "text_delta", "delta": piece} for piece in pieces),
        *({"type": "tool_use_args", "call_id": "t", "delta": piece} for piece in args),
        {"type": "final", "content": content},
    ]


def joined(lines: list[dict], kind: str) -> str:
    return "".join(line["delta"] for line in lines if line["type"] == kind)


LOGS = [{"role": "user", "content": [{"type": "text", "text": "/tmp/zot-bash-0a.log"}]}]


@given(PIECES)
def test_what_the_model_said_comes_back_exactly(pieces: list[str]) -> None:
    here = names(messages=LOGS)
    lines = spoken(pieces)
    played = here.played(here.recorded(lines))
    assert played[-1] == lines[-1]
    assert joined(played, "text_delta") == joined(lines, "text_delta")
    assert joined(played, "tool_use_args") == joined(lines, "tool_use_args")


@given(PIECES)
def test_elsewhere_pieces_and_whole_still_agree(pieces: list[str]) -> None:
    there = names('/srv/a "quoted" \\ ünïcode', "/srv", [{"role": "user", "content": "/x/zot-bash-ff.log"}])
    played = there.played(names(messages=LOGS).recorded(spoken(pieces)))
    text, call = played[-1]["content"]
    assert joined(played, "text_delta") == text["text"]
    assert joined(played, "tool_use_args") == call["args"]


@given(texts)
def test_arguments_stay_json_elsewhere(text: str) -> None:
    there = names('/srv/a "quoted" \\ ünïcode', None)
    line = {
        "type": "final",
        "content": [{"type": "tool_call", "id": "t", "name": "n", "args": json.dumps({"p": text})}],
    }
    (played,) = there.played(names(messages=LOGS).recorded([line]))
    assert isinstance(json.loads(played["content"][0]["args"])["p"], str)


def test_pieces_keep_their_borders() -> None:
    lines = [{"type": "text_delta", "delta": piece} for piece in ("see /home/", "me/wo", "rk/a", " or", " b")]
    assert [line["delta"] for line in names().recorded(lines)] == ["see {{cwd}}", "/a", " or", " b"]
