"""Guards of the system prompt: who is asked when, what the model gets, and what their faults change: nothing."""

from __future__ import annotations

import itertools
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from agent.abort import Abort
from agent.run.turn.guarded_system_prompt import PASSES_LIMIT
from supervisor.calls.guard_chain import SYSTEM_PROMPT_LIMIT
from tests.support.faulty_run import PROMPT, SOON, program, short
from tests.support.scripted_engine import engine_of
from tests.support.scripted_model import fails, says
from wire import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent.engine.engine import Engine

HEAD = """
hello(intercept=["before_agent_start"])
send(type="ready")
"""
GUARD = (
    HEAD
    + f"LIMIT = {SYSTEM_PROMPT_LIMIT}"
    + """
def other_frame(frame):
    send(type="tool_result", id=frame["id"])
    return {}
for frame in frames():
    with open(sys.argv[1], "a") as seen:
        seen.write(json.dumps(frame) + "\\n")
    send(type="event_intercept_response", id=frame["id"], **{answer})
"""
)
OWN = "s\n\nCurrent date: 2026-11-24\n"


@pytest.fixture
def engine(tmp_path: Path) -> Callable[..., Any]:
    @contextmanager
    def make(*replies: Any, **options: Any) -> Iterator[Engine]:
        records: list[Any] = []
        given = {"system_end": OWN[1:], "discover": False, "keep_session": False, **options}
        with engine_of(*replies, cwd=tmp_path, home=tmp_path / "home", records=records, **given) as made:
            made.records = records
            yield made

    return make


@pytest.fixture
def guard(tmp_path: Path) -> Callable[..., str]:
    """A guard that answers with the members of a dict, an expression in Python, and notes each question."""

    def make(answer: str = "{}", name: str = "house", **manifest: Any) -> str:
        code = GUARD.replace("{answer}", answer)
        return str(program(tmp_path, name, code, tmp_path / f"{name}.seen", **{"timeouts": PROMPT, **manifest}))

    return make


def seen(place: Path, name: str = "house") -> list[dict[str, Any]]:
    file = place / f"{name}.seen"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def systems(made: Engine) -> list[list[str]]:
    """The blocks of the system prompt in each request."""
    return [[block["text"] for block in asked.get("system", [])] for asked in made._provided.provider.asked]


def told(made: Engine, name: str, *kinds: str) -> list[str]:
    return [
        each.message
        for each in made.records
        if isinstance(each, events.Extension) and each.extension == name and each.event in kinds
    ]


SAYS = '{"system_prompt": "You are a gardener."}'
ADDS = '{"system_prompt": frame["system_prompt"] + "!"}'


def test_the_question_has_the_whole_prompt_and_where_it_is_used(engine, guard, tmp_path):
    with engine(says("One."), extensions=(guard(),)) as made:
        made.prompt("go", Abort())
        session = made.session.id
    (asked,) = seen(tmp_path)
    assert asked.pop("id")
    assert len(asked.pop("agent_run_id")) == 16
    assert asked == {
        "type": "event_intercept", "event": "before_agent_start", "session_id": session, "cwd": str(tmp_path),
        "provider": "scripted", "model": "m", "system_prompt": OWN,
    }  # fmt: skip
    assert systems(made) == [["s", OWN[1:]]]
    assert told(made, "house", "system_prompt", "no_verdict", "warning") == []


@pytest.mark.parametrize(
    ("answer", "blocks", "line"),
    [
        (SAYS, ["You are a gardener."], f"replaced the system prompt (19 characters, {len(OWN)} before)"),
        ('{"system_prompt": " x\\n"}', [" x\n"], f"replaced the system prompt (3 characters, {len(OWN)} before)"),
        ('{"system_prompt": ""}', [], f"removed the system prompt ({len(OWN)} characters)"),
        ('{"system_prompt": None}', ["s", OWN[1:]], ""),
        ('{"system_prompt": frame["system_prompt"]}', [OWN], ""),
        (
            '{"system_prompt": "x" * 2000}',
            ["x" * 2000],
            f"replaced the system prompt (2,000 characters, {len(OWN)} before)",
        ),
    ],
)
def test_the_model_gets_exactly_what_the_guard_says_and_a_line_tells_it(engine, guard, answer, blocks, line):
    with engine(says("One."), extensions=(guard(answer),)) as made:
        result = made.prompt("go", Abort())
    assert (result.status.value, systems(made)) == ("ok", [blocks])
    assert told(made, "house", "system_prompt", "no_verdict", "warning") == ([line] if line else [])


@pytest.mark.parametrize("more", [{}, {"independent": True}])
def test_each_guard_sees_what_the_one_before_it_has_left(engine, guard, tmp_path, more):
    house, second = guard(SAYS, **more), guard(ADDS, "second", **more)
    with engine(says("One."), extensions=(house, second)) as made:
        made.prompt("go", Abort())
    (first,), (next_one,) = seen(tmp_path), seen(tmp_path, "second")
    assert next_one["system_prompt"] == "You are a gardener."
    assert next_one["agent_run_id"] == first["agent_run_id"]
    assert systems(made) == [["You are a gardener.!"]]
    assert told(made, "second", "system_prompt") == ["replaced the system prompt (20 characters, 19 before)"]


# Each is the answer of the guard, and the reason in the line about it.
BAD = [
    ('{"system_prompt": 5}', "Expected `str | null`, got `int`"),
    ('{"system_prompt": ["x"]}', "Expected `str | null`, got `array`"),
    ('{"system_prompt": "x" * (LIMIT - 1)}', f"system_prompt has more than {SYSTEM_PROMPT_LIMIT} b"),
    ('{"system_prompt": "\\n" * (LIMIT // 2)}', "system_prompt has more than"),
    ('{"system_prompt": "x" * (7 << 20)}', "is over the limit of"),
    ("other_frame(frame)", "it answered with tool_result"),
    ('{"block": True, "reason": "no"}', "a block has no effect here"),
    ('{"id": os._exit(3)}', "exit 3"),
]


@pytest.mark.parametrize("strictly", [{}, {"on_failure": "deny"}])
@pytest.mark.parametrize(("answer", "reason"), BAD, ids=range(len(BAD)))
def test_an_answer_of_no_use_keeps_the_prompt_and_is_told(engine, guard, tmp_path, answer, reason, strictly):
    """Nothing can be refused here, so `on_failure` changes nothing. The guards behind it are asked about the prompt as
    it was."""
    bad = guard(answer, **strictly, restart=SOON)
    with engine(says("One."), extensions=(bad, guard(ADDS, "second"))) as made:
        result = made.prompt("go", Abort())
    assert (result.status.value, result.text) == ("ok", "One.")
    (line,) = told(made, "house", "no_verdict")
    assert line.startswith("gave no verdict on before_agent_start: ")
    assert reason in line
    assert line.endswith("; the system prompt stays as it was")
    assert systems(made)[0] == [f"{OWN}!"]
    assert [each["system_prompt"] for each in seen(tmp_path, "second")] == [OWN]


def test_the_largest_prompt_is_taken(engine, guard):
    with engine(says("One."), extensions=(guard('{"system_prompt": "x" * (LIMIT - 2)}'),)) as made:
        made.prompt("go", Abort())
    assert systems(made) == [["x" * (SYSTEM_PROMPT_LIMIT - 2)]]


def test_no_answer_in_time_keeps_the_prompt(engine, tmp_path):
    mute = program(tmp_path, "mute", f"{HEAD}\nfor frame in frames(): pass\n", timeouts=short("intercept"))
    with engine(says("One."), extensions=(str(mute),)) as made:
        assert made.prompt("go", Abort()).text == "One."
    assert told(made, "mute", "no_verdict") == [
        "gave no verdict on before_agent_start: no answer within 0.4 s; the system prompt stays as it was"
    ]


@pytest.mark.parametrize("verdict", ['{"block": True, "reason": "never"}', '{"ask": True, "replace_text": "x"}'])
def test_it_cannot_be_blocked(engine, guard, verdict):
    with engine(says("One."), extensions=(guard(verdict),), strict_guards=True) as made:
        result = made.prompt("go", Abort())
    assert (result.status.value, systems(made)) == ("ok", [["s", OWN[1:]]])


def test_a_block_beside_it_does_not_keep_it_out(engine, guard):
    with engine(says("One."), extensions=(guard('{"block": True, "system_prompt": "x"}'),)) as made:
        made.prompt("go", Abort())
    assert systems(made) == [["x"]]


def test_it_is_asked_once_for_prompts_turns_and_retries(engine, guard, tmp_path):
    call = ("t1", "read", {"path": "a"})
    retries = program(
        tmp_path, "again", """
hello(intercept=["error"])
send(type="ready")
for frame in frames():
    send(type="event_intercept_response", id=frame["id"], error_handling="retry", retry_count=1)
""", timeouts=PROMPT)  # fmt: skip
    replies = says("", call), says("One."), fails("overloaded", status=529), says("Two.")
    with engine(*replies, extensions=(guard(ADDS), str(retries))) as made:
        made.prompt("go", Abort())
        assert made.prompt("again", Abort()).text == "Two."
    assert len(seen(tmp_path)) == 1
    assert systems(made) == [[f"{OWN}!"]] * 4


def test_a_crash_after_it_has_answered_keeps_its_prompt(engine, tmp_path):
    once = program(
        tmp_path, "house", HEAD.replace(")\nsend", ', events=["turn_end"])\nsend') + """
for frame in frames():
    if frame["type"] == "event":
        os._exit(3)
    send(type="event_intercept_response", id=frame["id"], system_prompt="mine")
""", timeouts=PROMPT, restart=SOON)  # fmt: skip
    with engine(says("One."), says("Two."), extensions=(str(once),)) as made:
        made.prompt("go", Abort())
        made.supervisor.loop.run_until(lambda: made.supervisor.find("house").account.restarts)
        made.prompt("again", Abort())
    assert systems(made) == [["mine"]] * 2
    assert len(told(made, "house", "system_prompt")) == 1


def test_a_change_of_the_model_the_session_or_the_version_asks_again_about_our_own_prompt(engine, guard, tmp_path):
    house = guard(ADDS)
    with engine(*[says("x")] * 5, extensions=(house,)) as made:
        made.prompt("go", Abort())
        made.set_model("m2")
        made.prompt("go", Abort())
        made.session.begin()
        made.prompt("go", Abort())
        done: list[Any] = []
        made.reloader.begin("house", done.append)
        made.supervisor.loop.run_until(lambda: done)
        made.prompt("go", Abort())
        made.prompt("go", Abort())
    asked = seen(tmp_path)
    assert [each["model"] for each in asked] == ["m", "m2", "m2", "m2"]
    assert {each["system_prompt"] for each in asked} == {OWN}
    assert len({each["agent_run_id"] for each in asked}) == 4
    assert systems(made) == [[f"{OWN}!"]] * 5


def test_a_change_while_the_question_waits_asks_again_and_the_first_answer_does_not_count(engine, tmp_path):
    code = """
hello(intercept=["before_agent_start"])
send(type="register_command", name="go")
send(type="ready")
for frame in frames():
    send(type="notify", message=frame["model"])
    if frame["model"] == "m":
        command = next(frames())
        send(type="command_response", id=command["id"], action="noop")
    send(type="event_intercept_response", id=frame["id"], system_prompt="for " + frame["model"])
"""
    slow = program(tmp_path, "house", code, timeouts=PROMPT)
    with engine(says("One."), extensions=(str(slow),)) as made:
        supervisor, noted = made.supervisor, []

        def on_note(_extension: Any, _level: str, message: str) -> None:
            noted.append(message)
            if len(noted) == 1:
                made.set_model("m2")
                owned = supervisor.registrations.find_command("go")
                supervisor.begin_command(owned, "", lambda _answer: None)

        supervisor._on_note = on_note
        made.prompt("go", Abort())
    assert noted == ["m", "m2"]
    assert systems(made) == [["for m2"]]
    assert made._provided.provider.asked[0]["model"] == "m2"


def test_an_abort_while_the_question_waits_ends_the_prompt_and_keeps_nothing(engine, tmp_path):
    mute = program(tmp_path, "mute", HEAD + 'for frame in frames(): send(type="notify", message="asked")\n')
    with engine(says("One."), extensions=(str(mute),)) as made:
        abort = Abort()
        made.supervisor._on_note = lambda *_: made.abort_prompt("enough")
        result = made.prompt("go", abort)
        assert (result.status.value, result.reason) == ("interrupted", "enough")
        assert systems(made) == []
        assert not made._hooks.system_prompt.is_replaced
    assert told(made, "mute", "no_verdict") == []


def test_what_extensions_say_about_their_tools_follows_the_new_prompt(engine, guard, tmp_path):
    with engine(says("One."), extensions=(guard(SAYS),)) as made:
        made.toolbox._registered.instructions = lambda: "\nuse echo with care"
        made.prompt("go", Abort())
    assert systems(made) == [["You are a gardener.\n\nuse echo with care"]]
    assert "echo" not in seen(tmp_path)[0]["system_prompt"]


def test_a_summary_has_its_own_prompt_and_asks_nobody(engine, guard, tmp_path):
    with engine(says("One."), says("Two."), says("Three."), says("Summary."), extensions=(guard(SAYS),)) as made:
        for _ in range(3):
            made.prompt("go", Abort())
        assert made.compact(Abort()).text == "Summary."
    assert len(seen(tmp_path)) == 1
    assert "gardener" not in systems(made)[3][0]


def test_a_guard_that_comes_later_is_asked_before_the_next_request(engine, tmp_path):
    late = program(
        tmp_path, "late", """
hello(events=["turn_end"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event":
        send(type="subscribe", intercept=["before_agent_start"])
        send(type="notify", message="now")
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], system_prompt="late")
""", timeouts=PROMPT)  # fmt: skip
    with engine(says("One."), says("Two."), extensions=(str(late),)) as made:
        made.prompt("go", Abort())
        made.supervisor.loop.run_until(lambda: made.supervisor.guards.of("before_agent_start"))
        made.prompt("go", Abort())
    assert systems(made) == [["s", OWN[1:]], ["late"]]


def test_without_a_guard_the_request_is_as_before_to_the_byte(engine, tmp_path):
    plain = program(tmp_path, "plain", "hello()\nsend(type='ready')\nfor _ in frames(): pass\n", timeouts=PROMPT)
    with engine(says("One."), says("One."), extensions=(str(plain),)) as made:
        made.prompt("go", Abort())
        first = made._provided.provider.asked[0]
    assert msgspec.json.encode(first["system"]) == msgspec.json.encode(
        [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": OWN[1:]}]
    )


def test_the_new_prompt_has_the_mark_of_the_cache(engine, guard):
    with engine(says("One."), extensions=(guard(SAYS),)) as made:
        made.prompt("go", Abort())
        (block,) = made._provided.provider.asked[0]["system"]
    assert block["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(("on_failure", "first"), [("deny", ["late"]), ("allow", ["s", OWN[1:]])])
def test_the_first_request_waits_only_for_a_guard_whose_failure_means_deny(
    engine, tmp_path, monkeypatch, on_failure, first
):
    for wait in ("LEAST_S", "SETTLE_S"):
        monkeypatch.setattr(f"agent.engine.extensions.{wait}", 0.0)
    code = """
while not os.path.exists(sys.argv[1]): select.select([], [], [], 0.01)
hello(intercept=["before_agent_start"])
send(type="ready")
for frame in frames():
    send(type="event_intercept_response", id=frame["id"], system_prompt="late")
"""
    begun = tmp_path / "begun"
    late = program(tmp_path, "late", code, begun, timeouts=PROMPT, on_failure=on_failure)

    def reply() -> Any:
        begun.touch()
        return says("One.")

    with engine(reply, says("Two."), extensions=(str(late),)) as made:
        loop = made.supervisor.loop
        if on_failure == "deny":
            loop.call_later(0, begun.touch)  # as the prompt begins
        made.prompt("go", Abort())
        loop.run_until(lambda: made.supervisor.guards.of("before_agent_start"))
        made.prompt("go", Abort())
    assert systems(made) == [first, ["late"]]


def test_a_model_that_changes_at_each_question_is_not_asked_about_without_end(engine, tmp_path):
    code = f"""{HEAD}
for frame in frames():
    send(type="notify", message=frame["model"])
    send(type="event_intercept_response", id=frame["id"], system_prompt="for " + frame["model"])
"""
    with engine(says("One."), extensions=(str(program(tmp_path, "house", code, timeouts=PROMPT)),)) as made:
        models = itertools.count()
        made.supervisor._on_note = lambda *_: made.set_model(f"m{next(models)}")
        made.prompt("go", Abort())
    questions = next(models)
    assert questions <= 2 * PASSES_LIMIT
    assert systems(made) == [[f"for m{questions - 2}"]]


def test_characters_that_are_no_text_reach_the_guard_as_marks(engine, guard, tmp_path):
    with engine(says("One."), extensions=(guard(ADDS),)) as made:
        made._options = msgspec.structs.replace(made._options, system="a\udcffb")
        assert made.prompt("go", Abort()).status.value == "ok"
    assert "a\ufffdb" in seen(tmp_path)[0]["system_prompt"]
