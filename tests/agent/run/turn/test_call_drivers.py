"""Both drivers of a guarded call against one table: that of a turn waits, the one for all other calls does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.abort import Abort
from agent.run.turn.tool_calls import ToolCalls
from agent.transcript import Text, ToolCall, ToolResult
from supervisor.calls.call_driver import CallDriver
from supervisor.calls.guard_chain import UNTOUCHED, Judgement, fold
from supervisor.calls.guarded_call import GuardedCall
from supervisor.loop.future import Failure
from supervisor.registry.plain_schema import unfit_reason
from wire import frames
from wire.dialects.verdict import GuardVerdict, VerdictKind
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable

ARGS = b'{"a":1}'
TWICE = b'{"a":1,"a":2}'
OK, DOWN, CRASH = ("hi", False), ("down", True), ("extension e failed: it exited with status 9", True)
NAMES = {"tool_call": "refused by", "tool_result": "the call has run, but its result is withheld by"}


def too_late(*, denies: bool) -> Judgement:
    """A guard has not answered in time."""
    none = GuardVerdict(VerdictKind.NO_VERDICT, "no answer within 5 s")
    return fold(UNTOUCHED, "g", none, deny_on_failure=denies)


def block(reason: str, **fields: Any) -> Judgement:
    return Judgement(blocked_by="g", reason=reason, **fields)


def changed(text: str, *, is_error: bool | None = None, **fields: Any) -> Judgement:
    return Judgement(result=frames.ModifiedResult([frames.ContentBlock("text", text=text)], is_error), **fields)


class Play:
    """Answers of guards and the tool, in this order; then they allow, and it succeeds. With `abort_in` the call is
    aborted while guards judge this event, or while the tool runs (`run`)."""

    def __init__(self, judged: dict[str, list[Judgement]], results: list[tuple[str, bool]], abort_in: str = "") -> None:
        self.judgements = {event: list(given) for event, given in judged.items()}
        self.results = list(results)
        self.abort_in = abort_in
        self.asked: list[frames.Event] = []
        self.ran: list[bytes] = []
        self.told: list[frames.Event] = []
        self.failure: Failure | None = None

    def answer(self, event: frames.Event) -> Judgement:
        self.asked.append(event)
        left = self.judgements.get(event.event)
        return left.pop(0) if left else UNTOUCHED

    def run(self, args: bytes) -> tuple[str, bool]:
        self.ran.append(args)
        return self.results.pop(0) if self.results else OK

    def tell(self, event: frames.Event) -> None:
        self.told.append(event)


class Turn:
    """Stands in for what `ToolCalls` talks to."""

    prompt_end, follower = "", None

    def __init__(self, play: Play, args: bytes) -> None:
        self.play, self.abort = play, Abort()
        calls = ToolCalls(self, self, self, self.abort)  # type: ignore[arg-type]
        call = ToolCall("t1", "echo", args)
        calls.announce(call)
        calls.run([call])
        self.ended = calls.ended

    def tell(self, event: frames.Event) -> None:
        self.play.tell(event)

    def may_guard(self, _event: str) -> bool:
        return True

    def intercept(self, event: frames.Event) -> Judgement:
        judgement = self.play.answer(event)
        if self.play.abort_in == event.event:
            self.abort.request(Status.INTERRUPTED, "enough")
            return Judgement(blocked_by="host", reason="enough")
        return judgement

    def run_beside(self, calls: Any, _wait: Any, _abort: Any) -> list[ToolResult]:
        ((_, args),) = calls
        text, is_error = self.play.run(args)
        if self.play.abort_in == "run":
            self.abort.request(Status.INTERRUPTED, "enough")
        return [ToolResult("t1", (Text(text),), is_error, self.play.failure)]

    def run(self, call: ToolCall, args: bytes, *how: Any) -> ToolResult:
        return self.run_beside([(call, args)], *how)[0]

    def fit_images(self, _call: Any, result: ToolResult, _wait: Any) -> ToolResult:
        return result

    def knows(self, _name: str) -> bool:
        return True

    def refusal(self, _call: Any) -> str:
        return ""

    is_read_only = extension_of = is_hidden = refusal

    def emit(self, _record: Any) -> None:
        pass

    def wait(self, _predicate: Any, _deadline: float) -> bool:
        return True


class Served:
    """Stands in for the source and the loop of a call that nobody waits for."""

    def __init__(self, play: Play, args: bytes) -> None:
        self.play = play
        self.later: list[Callable[[], None]] = []
        self.cancelled: list[str] = []
        self.results: list[frames.ToolResult] = []
        self.progress: list[str] = []
        self.report: Callable[[str], None] = lambda _text: None
        call = GuardedCall("t1", "echo", args, names_guard=True)
        self.call_ = CallDriver(self, call, self.results.append, self.progress.append)
        self.call_.begin()
        while self.later:
            self.later.pop(0)()

    def tell(self, event: frames.Event) -> None:
        self.play.tell(event)

    def judge(self, event: frames.Event, done: Callable[[Judgement], None]) -> Served:
        judgement = self.play.answer(event)
        self._soon(event.event, lambda: done(judgement))
        return self

    def call(self, call: GuardedCall, done: Any, on_progress: Callable[[str], None]) -> Served:
        text, is_error = self.play.run(call.args)
        call.failed = self.play.failure
        on_progress("half")
        self.report = on_progress
        self._soon("run", lambda: done(frames.ToolResult("x", [frames.ContentBlock("text", text=text)], is_error)))
        return self

    def _soon(self, what: str, answer: Callable[[], None]) -> None:
        if self.play.abort_in == what:
            self.later.append(lambda: self.call_.cancel("enough"))
        self.later.append(answer)  # also of what was cancelled: it may have been on its way

    def cancel(self, reason: str) -> None:
        self.cancelled.append(reason)


class Row(NamedTuple):
    judged: dict[str, list[Judgement]]
    texts: list[str]
    """Of the result that observers are told of."""
    is_error: bool = False
    ran: int = 1
    results: list[tuple[str, bool]] = [OK]  # noqa: RUF012
    asked: str = "tool_call tool_result"
    named: str = ""
    """The event whose guard `zot mcp serve` names before the reason: its clients get no records that do."""
    abort_in: str = ""
    args: bytes = ARGS
    ran_with: bytes = ARGS


RETRY = Judgement(error_handling="retry", retry_count=2, handled_by="g")
ALL = "tool_call error tool_result"
TABLE = {
    "all allow": Row({}, ["hi"]),
    "a block": Row({"tool_call": [block("no")]}, ["no"], True, 0, named="tool_call"),
    "a block of a result": Row({"tool_result": [block("a key")]}, ["a key"], True, named="tool_result"),
    "a block of a result has no context": Row(
        {"tool_call": [Judgement(contexts=("sun",))], "tool_result": [block("a key", contexts=("rain",))]}, ["a key"],
        True, named="tool_result",
    ),
    "replaced arguments": Row({"tool_call": [Judgement(args=b'{"a":2}')]}, ["hi"], ran_with=b'{"a":2}'),
    "replaced arguments that no tool can take": Row(
        {"tool_call": [Judgement(args=TWICE)]}, [f"rewritten by a guard: {unfit_reason(TWICE)}"], True, 0
    ),
    "arguments that readers understand differently": Row(
        {}, [unfit_reason(TWICE)], True, 0, asked="tool_result", args=TWICE
    ),
    "a replaced result": Row({"tool_result": [changed("***")]}, ["***"]),
    "a replaced result that is an error": Row({"tool_result": [changed("***", is_error=True)]}, ["***"], True),
    "a replaced error": Row(
        {"tool_result": [changed("***", is_error=False)]}, ["***"], results=[DOWN], asked=ALL
    ),
    "a replaced refusal": Row(
        {"tool_call": [block("no")], "tool_result": [changed("***")]}, ["***"], True, 0
    ),
    "contexts": Row(
        {"tool_call": [Judgement(contexts=("sun", "rain"))], "tool_result": [changed("HI", contexts=("loud",))]},
        ["HI", "sun\n\nrain", "loud"],
    ),
    "a guard that is too late": Row(
        {event: [too_late(denies=False)] for event in ("tool_call", "tool_result")}, ["hi"]
    ),
    "a guard that is too late and denies": Row(
        {"tool_call": [too_late(denies=True)]},
        ["guard g gave no verdict (no answer within 5 s), and its failure means deny"], True, 0, named="tool_call",
    ),
    "a guard of the result that is too late and denies": Row(
        {"tool_result": [too_late(denies=True)]},
        ["guard g gave no verdict (no answer within 5 s), and its failure means deny"], True, named="tool_result",
    ),
    "a crash of the tool": Row({}, [CRASH[0]], True, results=[CRASH], asked=ALL),
    "a retry that succeeds": Row(
        {"tool_call": [Judgement(contexts=("sun",))], "error": [RETRY]}, ["hi", "sun"], ran=2, results=[DOWN], asked=ALL
    ),
    "retries that fail": Row(
        {"error": [RETRY] * 3}, ["down"], True, 3, [DOWN] * 3, "tool_call error error error tool_result"
    ),
    "a guard of errors that skips": Row({"error": [Judgement(error_handling="skip")]}, ["down"], True, 1, [DOWN], ALL),
    "a guard of errors that aborts": Row(
        {"error": [Judgement(error_handling="abort", handled_by="g")]}, ["down"], True, 1, [DOWN], ALL
    ),
    "an abort while guards judge": Row({}, ["aborted: enough"], True, 0, asked="tool_call", abort_in="tool_call"),
    "an abort while the tool runs": Row({}, ["aborted: enough"], True, asked="tool_call", abort_in="run"),
    "an abort while guards of errors judge": Row(
        {"error": [RETRY]}, ["aborted: enough"], True, 1, [DOWN], "tool_call error", abort_in="error"
    ),
    "an abort while guards judge the result": Row({}, ["aborted: enough"], True, abort_in="tool_result"),
}  # fmt: skip


YES, NO = "approved yolo pre_execution", "denied policy pre_execution"
WITHHELD, ENDED = "denied policy tool_execution", "cancelled policy pre_execution"
OUTCOMES = {
    "a block": ("blocked", False, NO),
    "a block of a result": ("blocked", True, YES, WITHHELD),
    "a block of a result has no context": ("blocked", True, YES, WITHHELD),
    "replaced arguments that no tool can take": ("blocked", False, NO),
    "arguments that readers understand differently": ("failed", False),
    "a replaced result that is an error": ("failed", True, YES),
    "a replaced refusal": ("blocked", False, NO),
    "a guard that is too late and denies": ("blocked", False, NO),
    "a guard of the result that is too late and denies": ("blocked", True, YES, WITHHELD),
    "a crash of the tool": ("failed", True, YES),
    "retries that fail": ("failed", True, YES),
    "a guard of errors that skips": ("failed", True, YES),
    "a guard of errors that aborts": ("failed", True, YES),
    "an abort while guards judge": ("cancelled", False, ENDED),
    "an abort while the tool runs": ("cancelled", True, YES),
    "an abort while guards of errors judge": ("cancelled", True, YES),
    "an abort while guards judge the result": ("cancelled", True, YES),
}
"""The outcome of each row for observers: the status, whether the tool has begun, and each decision."""


def outcome(play: Play) -> tuple[Any, ...]:
    decisions = [event for event in play.told if event.event == "permission_decision"]
    last = play.told[-1]
    assert [event for event in play.told if event.event == "tool_result"] == [last]
    return last.status, last.executed, *(f"{each.decision} {each.source} {each.stage}" for each in decisions)


@pytest.mark.parametrize("driver", [Turn, Served])
@pytest.mark.parametrize("name", TABLE)
def test_observers_are_told_how_each_call_has_ended(name: str, driver: type):
    row = TABLE[name]
    play = Play(row.judged, row.results, row.abort_in)
    driver(play, row.args)
    assert outcome(play) == OUTCOMES.get(name, ("completed", True, YES))
    assert bytes(play.told[-1].tool_args) == (row.ran_with if row.ran else row.args)
    assert play.told[-1].tool_args_raw is None


@pytest.mark.parametrize("driver", [Turn, Served])
@pytest.mark.parametrize(
    ("args", "said", "raw"),
    [
        (b'{"a":', "", '{"a":'),
        (b"\xff{}", "", "\ufffd{}"),
        (b"[" * 5000, "", "[" * 5000),
        (b"null", "null", None),
        (b"[1,\n2]", "[1, 2]", None),
        (b'{"a":\n1}', '{"a": 1}', None),
    ],
)
def test_arguments_are_told_as_json_or_as_the_models_text(driver: type, args: bytes, said: str, raw: str | None):
    play = Play({}, [])
    driver(play, args)
    told = play.told[-1]
    assert told.tool_args_raw == raw
    assert told.tool_args is msgspec.UNSET if raw is not None else bytes(told.tool_args) == said.encode()
    assert told.status == ("completed" if args.startswith(b"{") and raw is None else "failed")
    assert frames.encode(told).count(b"\n") == 1


@pytest.mark.parametrize("driver", [Turn, Served])
def test_an_event_that_asked_for_a_person_and_passed_is_approved_by_a_rule(driver: type):
    asks = GuardVerdict(VerdictKind.ASK, "it writes")
    for passes, said in ((True, ("completed", True, "approved policy pre_execution")), (False, ("blocked", False, NO))):
        judged = fold(UNTOUCHED, "g", asks, deny_on_failure=False, let_asked_pass=passes)
        play = Play({"tool_call": [judged]}, [])
        driver(play, ARGS)
        assert outcome(play) == said
    assert play.told[-2].reason == "it writes (guard g wants a person to decide, and no user can be asked here)"


@pytest.mark.parametrize("driver", [Turn, Served])
@pytest.mark.parametrize(
    ("failure", "status", "executed"),
    [
        (Failure.TIMEOUT, "timed_out", True),
        (Failure.CANCELLED, "cancelled", True),
        (Failure.INVALID_ARGS, "failed", False),
        (Failure.DIED, "failed", True),
        (None, "failed", True),
    ],
)
def test_the_kind_of_a_failure_says_how_the_call_has_ended(
    driver: type, failure: Failure | None, status: str, executed: bool
):
    """Never its text."""
    play = Play({}, [("aborted: timeout", True)])
    play.failure = failure
    driver(play, ARGS)
    assert outcome(play) == (status, executed, YES)


@pytest.mark.parametrize("driver", [Turn, Served])
@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_both_drivers_keep_to_the_table(row: Row, driver: type):
    play = Play(row.judged, row.results, row.abort_in)
    done = driver(play, row.args)
    told = play.told[-1]
    named = f"{NAMES[row.named]} the guard g: " if row.named and driver is Served else ""
    assert told.event == "tool_result"
    assert [block.text for block in told.content or []] == [named + row.texts[0], *row.texts[1:]]
    assert bool(told.is_error) is row.is_error
    assert play.ran == [row.ran_with] * row.ran
    assert [event.event for event in play.asked] == row.asked.split()
    assert {event.tool_id for event in (*play.asked, *play.told)} == {"t1"}
    for event in play.asked:
        if event.event == "error":
            said = (event.error, event.error_context, event.recoverable, event.tool_name)
            assert said == ((row.results or [OK])[0][0], "tool_execution", True, "echo")
    if driver is Served:
        assert done.cancelled == (["enough"] if row.abort_in else [])
        assert len(done.results) == (0 if row.abort_in else 1)
        assert done.progress == ["half"] * row.ran
        done.report("late")
        done.call_.cancel("again")
        assert len(done.progress) == row.ran
        assert len(done.cancelled) == bool(row.abort_in)
    else:
        is_ended = any(each.error_handling == "abort" for each in row.judged.get("error", ()))
        assert done.ended == ("guard g ends the prompt after an error of echo: down" if is_ended else "")


def reasons(play: Play) -> list[str]:
    """The texts of the result, without the names of guards."""
    return [(block.text or "").rpartition(": ")[2] for block in play.told[-1].content or []]


@given(
    st.dictionaries(
        st.sampled_from(ALL.split()),
        st.lists(st.sampled_from([UNTOUCHED, block("no"), changed("new"), RETRY, Judgement(args=b"{}")]), max_size=3),
    ),
    st.lists(st.sampled_from([OK, DOWN]), max_size=4),
    st.sampled_from(["", "run", *ALL.split()]),
)
def test_both_drivers_do_the_same(judged: dict, results: list, abort_in: str):
    turn, served = (Play(judged, results, abort_in) for _ in range(2))
    Turn(turn, ARGS)
    Served(served, ARGS)
    assert turn.asked[0] == served.asked[0]
    assert [event.event for event in turn.asked] == [event.event for event in served.asked]
    assert turn.ran == served.ran
    assert turn.told[-1].is_error == served.told[-1].is_error
    assert outcome(turn) == outcome(served)
    reasons = [
        [(block.text or "").rpartition(": ")[2] for block in play.told[-1].content or []] for play in (turn, served)
    ]
    assert reasons[0] == reasons[1]


def test_a_block_by_the_host_is_named_so():
    play = Play({"tool_call": [Judgement(blocked_by="host", reason="it is stopping")]}, [])
    (block,) = Served(play, ARGS).results[0].content or ()
    assert block.text == "refused by the host: it is stopping"
