"""Extensions that fall leave black boxes beside the trace: bounded, without contents unless asked for."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.accounting.fall import Fall, FallKind
from supervisor.home.config import Config
from supervisor.traces import black_box_file
from supervisor.traces.black_box_file import _flags
from supervisor.traces.black_boxes import KEPT, Keeping, choose_keeping
from supervisor.traces.black_boxes import BlackBoxes as Boxes
from supervisor.traces.places import BLACK_BOX, extension_of
from tests.support.host import SOON

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host
    from tests.support.kept_boxes import Keeper
    from wire.traces.black_box import KeptBox

TOKEN = "sk-ant-api03-" + "A" * 30
MARKER = "marker-in-contents"
CRASHES = 'hello("a")\nsend(type="ready")\nfor frame in frames(): os.kill(os.getpid(), signal.SIGSEGV)'
HANGS = 'hello("a")\nsend(type="ready")\nfor frame in frames(): pass'
SAYS_MUCH = """
hello("a", intercept=["tool_call"], events=["turn_start"])
send(type="ready")
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, "marker-in-contents")
        send(type="notify", message="marker-in-contents")
        send(type="log", message="marker-in-contents")
        print("marker-in-contents", flush=True)
        send(type="marker-in-contents of a type", id="marker-in-contents of an id")
        print('{"type": "tool_result", "content": "marker-in-contents', flush=True)
    elif frame["type"] == "event_intercept":
        os._exit(3)
"""


def last_of(box: KeptBox) -> tuple[str, str] | None:
    call = box.header.last_call
    return None if call is None else (call.type, call.name)


def test_an_extension_that_crashes_leaves_its_last_frames_and_the_call(host: Host, keep: Keeper):
    kept = keep()
    host.write("falls", CRASHES)
    host.start()
    host.call("a", text=MARKER)
    box = kept.one()
    header = box.header
    assert (header.fall, header.cause, header.pending) == ("crashed", "signal SIGSEGV", 1)
    assert (header.extension, header.dialect, header.run, header.form) == ("falls", "zot", kept.trace.id, "types")
    assert last_of(box) == ("tool_call", "a")
    assert [(frame.side, frame.kind, frame.id, frame.name) for frame in box.frames[-1:]] == [
        ("host", "tool_call", "1", "a")
    ]
    assert {frame.kind for frame in box.frames} == {"hello", "hello_ack", "register_tool", "ready", "tool_call"}
    assert header.is_whole
    times = [frame.time for frame in box.frames]
    assert all(abs(at - header.time) < 60 for at in times)
    (path,) = kept.paths
    assert path.stat().st_mode & 0o777 == 0o600
    assert extension_of(path.name, BLACK_BOX) == "falls"
    assert path.name in kept.trace.path.read_text()


def test_a_killed_extension_names_the_call_that_was_pending(host: Host, keep: Keeper):
    kept = keep()
    host.write("slow", HANGS)
    host.start()
    host.begin_call("a", b"{}", lambda _answer: None)
    pid = host.extension("slow").pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    box = kept.one()
    assert (box.header.cause, last_of(box), box.header.pid) == ("signal SIGKILL", ("tool_call", "a"), pid)


def test_an_extension_that_hangs_leaves_one(host: Host, keep: Keeper):
    kept = keep()
    host.write("hangs", HANGS, timeouts={"tool_call": 0.1})
    host.start()
    for _ in range(3):
        host.call_of("hangs", "a")
    box = kept.one()
    assert (box.header.fall, last_of(box)) == ("hung", ("tool_call", "a"))


def test_a_guard_without_a_verdict_leaves_one_for_a_crash_and_not_two(host: Host, keep: Keeper):
    kept = keep()
    code = 'hello("a", intercept=["tool_call"])\nsend(type="ready")\nfor frame in frames(): os._exit(3)'
    host.write("guard", code, restart={"policy": "permanent", "backoff_s": [60, 60]})
    host.start()
    host.ask()
    box = kept.one()
    assert (box.header.fall, last_of(box)) == ("crashed", ("event_intercept", ""))
    assert box.frames[-1].name == "tool_call"


@pytest.mark.parametrize("form", ["types", "full"])
def test_words_that_the_extension_chooses_are_short_and_no_secrets(host: Host, keep: Keeper, form: str):
    kept = keep(black_box=form)
    code = f"""
send(type="hello", name="a", version={"9" * 50_000!r})
send(type="register_tool", name="a", description="", schema={{"type": "object"}})
send(type="ready")
send(type="{TOKEN}", id="{TOKEN}")
send(type="{"long" * 20}", id="{"9" * 65}")
for frame in frames(): os.kill(os.getpid(), signal.SIGSEGV)
"""
    host.write("a", code)
    host.start()
    host.call("a")
    box = kept.one()
    assert box.header.version == "…"
    assert [(frame.kind, frame.id) for frame in box.frames if frame.kind == "…"] == [("…", "…"), ("…", "…")]
    assert TOKEN not in "".join(f"{frame}" for frame in box.frames)


def test_a_bad_verdict_leaves_one(host: Host, keep: Keeper):
    kept = keep()
    code = """
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames(): send(type="event_intercept_response", id=frame["id"], block="perhaps")
"""
    host.write("guard", code)
    host.start()
    for _ in range(KEPT + 3):
        host.ask()
    assert [(box.header.fall, last_of(box)) for box in kept.boxes()] == [
        ("no_verdict", ("event_intercept", "")) for _ in range(KEPT)
    ]


def test_a_crash_loop_leaves_the_first_ones_and_the_last(host: Host, keep: Keeper):
    kept = keep()
    code = 'hello("a")\nsend(type="ready")\nos._exit(3)'
    host.write("loops", code, restart={"policy": "permanent", **SOON, "max": 5})
    host.launch()
    host.until(lambda: any(kind == "failed" for _name, kind, _message in host.notices))
    assert [box.header.fall for box in kept.boxes()] == ["crashed", "crashed", "given_up"]
    assert len(kept.paths) == KEPT
    assert kept.said == []


@pytest.mark.parametrize("form", ["types", "full"])
def test_contents_are_in_no_file_unless_asked_for(host: Host, keep: Keeper, form: str):
    kept = keep(black_box=form)
    host.write("talks", SAYS_MUCH)
    host.start()
    host.call("a", text=MARKER, more={MARKER: [MARKER]})
    host.ask(tool_args=b'{"path": "%b"}' % MARKER.encode())
    box = kept.one()
    texts = [path.read_text() for path in kept.home.rglob("*") if path.is_file()]
    assert any(MARKER in text for text in texts) is (form == "full")
    assert {frame.kind for frame in box.frames} >= {"tool_call", "tool_result", "notify", "log", "event_intercept"}
    if form == "full":
        call = next(frame for frame in box.frames if frame.kind == "tool_call")
        assert json.loads(call.text or "")["args"]["text"] == MARKER


def test_secrets_are_masked_in_contents(host: Host, keep: Keeper, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_PASSWORD", 'hunter2 "ä"')
    token = "ghp_" + "0aB" * 12
    kept = keep(black_box="full")
    host.write("falls", CRASHES)
    host.start()
    host.call("a", text=f'login hunter2 "ä" with {token}', more=json.dumps({"nested": 'hunter2 "ä"'}))
    box = kept.one()
    assert "hunter2" not in kept.paths[0].read_text()
    assert token not in kept.paths[0].read_text()
    assert box.header.masked == 1
    assert json.loads(box.frames[-1].text or "")["args"]["text"] == "login [masked] with [masked]"


def test_other_programs_leave_one_too(host: Host, keep: Keeper, tmp_path: Path):
    kept = keep()
    shell = """echo '{"type":"hello","name":"sh"}'
echo '{"type":"register_tool","name":"of_sh","schema":{"type":"object"}}'; echo '{"type":"ready"}'
while read -r line; do case $line in *'"tool_call"'*) exit 7 ;; *'"shutdown"'*) exit 0 ;; esac; done"""
    (tmp_path / "x.sh").write_text(shell)
    host._add("sh", ["sh", str(tmp_path / "x.sh")], {})
    causes = ["exit 7"]
    if node := shutil.which("node"):
        say = "const say = (frame) => console.log(JSON.stringify(frame))\n"
        hello = 'say({type: "hello", name: "js"})\n'
        tool = 'say({type: "register_tool", name: "of_js", schema: {type: "object"}}); say({type: "ready"})\n'
        rest = 'process.stdin.on("data", (data) => { if (String(data).includes("tool_call")) process.abort() })\n'
        (tmp_path / "x.js").write_text(say + hello + tool + rest)
        host._add("js", [node, str(tmp_path / "x.js")], {})
        causes.insert(0, "signal SIGABRT")
    host.start()
    for tool_name in sorted(host.tools()):
        host.call(tool_name)
    host.until(lambda: len(kept.paths) == len(causes))
    assert [box.header.cause for box in kept.boxes()] == causes


def test_runs_of_a_batch_do_not_write_to_one_file(host: Host, keep: Keeper):
    first = keep()
    other = Boxes(first.trace, Config(), "1.0", host.loop.clock)
    host.supervisor.on_fall.append(other.fell)
    host.write("falls", CRASHES)
    host.start()
    host.call("a")
    host.until(lambda: len(first.paths) == 2)
    assert [path.name.split(".")[-3] for path in first.paths] == ["1", "2"]


def test_a_full_disk_is_told_once_and_nothing_more_is_written(
    host: Host, keep: Keeper, monkeypatch: pytest.MonkeyPatch
):
    kept = keep()

    def fail(_fd: int, _text: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(black_box_file, "write_all", fail)
    host.write("falls", CRASHES)
    host.write("falls-too", CRASHES.replace('"a"', '"b"'))
    host.start()
    host.call("a")
    host.call("b")
    host.until(lambda: kept.said)
    assert kept.said == [f"no black box of falls: {kept.trace.path.parent}: No space left on device; the run goes on"]
    assert kept.paths == []


def test_an_end_in_good_order_leaves_none(host: Host, keep: Keeper):
    kept = keep()
    host.write("ends", 'hello("a")\nsend(type="ready")')
    host.launch()
    host.until(lambda: any(name == "ends" and kind != "started" for name, kind, _message in host.notices))
    assert kept.paths == []


@given(st.sampled_from(get_args(FallKind)), st.integers(0, 2))
def test_keeping(kind: Any, pending: int):
    fall = Fall(kind, "", pending=pending)
    assert choose_keeping(fall, kept=KEPT, is_empty=False) is not Keeping.NEW
    if kind == "leak" or (kind == "ended" and not pending):
        assert choose_keeping(fall, kept=0, is_empty=False) is Keeping.NONE
    else:
        assert choose_keeping(fall, kept=0, is_empty=False) is Keeping.NEW
        replaced = Keeping.NONE if kind == "no_verdict" else Keeping.REPLACE
        assert choose_keeping(fall, kept=KEPT, is_empty=False) is replaced


def test_what_one_run_writes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    now = [0.0]
    path = tmp_path / "20261128-191102-1.jsonl"
    trace = SimpleNamespace(id="x", path=path, is_lost=False, link=lambda *_: None, say=said.append)
    boxes = Boxes(trace, Config(), "1", lambda: now[0])  # type: ignore[arg-type]
    monkeypatch.setattr(black_box_file, "make_box", lambda *_, **__: b"x" * 2**20)

    def fall(number: int) -> None:
        requests = SimpleNamespace(black_box=[(float(number), True, b"{}")])
        worker = SimpleNamespace(requests=requests, started_at=0.0, channel=SimpleNamespace(frames_in=number))
        extension = SimpleNamespace(name=f"e{number}", found=None)
        boxes.fell(extension, worker, Fall("crashed", ""))  # type: ignore[arg-type]

    for number in range(100):
        fall(number)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 16 * 2**20
    assert said == ["no black boxes for some minutes: 16 MiB of them were written in an hour"]
    now[0] = 3600.0 / 16
    fall(200)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 17 * 2**20


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ([], []),
        (["--api-key", "x"], [("API_KEY", "x"), ("", "x")]),
        (["--api-key=x", "-v"], [("API_KEY", "x"), ("V", "")]),
    ],
)
def test_flags_of_a_command_are_read_as_variables(words: list[str], flags: list[tuple[str, str]]):
    """An extension without arguments has none: its fall must not end the host."""
    assert [*_flags(words)] == flags


def test_frames_that_a_defect_of_ours_cannot_read_end_no_host(
    host: Host, keep: Keeper, monkeypatch: pytest.MonkeyPatch
):
    kept = keep()
    monkeypatch.setattr(black_box_file, "read_head", lambda *_, **__: 1 / 0)
    host.write("crashes", CRASHES)
    host.start()
    host.ask()
    host.call("a")
    assert kept.paths == []
