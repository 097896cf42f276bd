"""`submit` of zot's protocol: a prompt of an extension in a headless run, and what is refused is told."""

from __future__ import annotations

from typing import Any

import pytest

from supervisor.extension.connection.open_calls import NO_AGENT
from tests.support.faulty_run import PROMPT, SOON, program
from tests.support.host import Host
from tests.support.scripted_model import says

HELLO = "hello()\n"
READY = '\nsend(type="ready")\n'
READS = f"{READY}for _ in frames(): pass\n"
"""All frames before it have arrived when the run begins."""
REFUSED = "a prompt that it sends is refused"
TEN = f"{REFUSED}: extensions have sent 10 prompts already, and no more are accepted"
ENDING = f"{REFUSED}: the run is ending: it takes no more prompts"
AS_IDLE = """
said_before = {before}
send(type="hello", name="x", capabilities={capabilities})
send(type="subscribe", events=["idle"])
if said_before:
    send(type="submit", text="early")
send(type="ready")
for frame in frames():
    if frame["type"] == "event" and not os.path.exists(sys.argv[1]):
        open(sys.argv[1], "w").close()
        send(type="submit", text="late")
"""


@pytest.fixture
def submits(run, tmp_path):
    """A run with an extension of zot's protocol with this source."""

    def go(code: str, *replies: Any, **options: Any) -> Any:
        folder = program(tmp_path, "house", code, *options.pop("args", ()), timeouts=PROMPT, **options.pop("more", {}))
        return run(*(replies or [says("x") for _ in range(12)]), programs={}, extensions=(str(folder),), **options)

    return go


def test_a_submitted_prompt_runs_after_the_users_with_its_line_and_its_record(submits):
    ran = submits(HELLO + 'send(type="submit", text="and now you")' + READS, says("One."), says("Two."))
    assert ran.users == [("", "go"), ("house", "and now you")]
    assert [(sent.extension, sent.status, sent.text) for sent in ran.result.sent] == [("house", "ok", "Two.")]
    assert "zot: extension house sends prompt 1 of 10: and now you\n" in ran.stderr


@pytest.mark.parametrize("text", ["", " \n\t", "\u2003"])
def test_blank_text_is_ignored_without_a_word(submits, text):
    ran = submits(HELLO + f'send(type="submit", text={text!r})' + READS)
    assert ran.users == [("", "go")]
    assert ran.warnings("house") == []


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        ('{"type":"submit"}', "bad submit frame: Object missing required field `text`; ignored"),
        ('{"type":"submit","text":null}', "bad submit frame: Expected `str`, got `null` - at `$.text`; ignored"),
        ('{"type":"submit","text":["x"]}', "bad submit frame: Expected `str`, got `array` - at `$.text`; ignored"),
        ('{"type":"submit","text":5,"id":"1"}', "bad submit frame: Expected `str`, got `int` - at `$.text`; ignored"),
        (
            '{"type":"submit_slash","text":"/quit"}',
            "its submit_slash is ignored: zot runs slash commands that a person or a client types",
        ),
        (
            '{"type":"submit_slash"}',
            "bad submit_slash frame: Object missing required field `text`; ignored",
        ),
    ],
)
def test_a_frame_of_no_use_is_told_once_and_what_follows_counts(submits, frame, line):
    code = HELLO + f"print({frame!r}, flush=True)\n" * 3 + 'send(type="submit", text="mine")' + READS
    ran = submits(code)
    assert ran.users == [("", "go"), ("house", "mine")]
    assert ran.warnings("house") == [line]
    assert len(line) <= 160


def test_a_prompt_of_a_mib_is_taken_and_one_over_the_limit_is_told(submits):
    code = HELLO + 'for size in (1 << 20, 4 << 20): send(type="submit", text="x" * size)' + READS
    ran = submits(code)
    assert [len(text) for _, text in ran.users] == [2, 1 << 20]
    (line,) = ran.warnings("house")
    assert line == f"a submit frame of {(4 << 20) + 30} bytes is over the limit of {4 << 20} bytes; dropped"


def test_of_ten_thousand_ten_are_taken_and_the_refusals_told_once_each(submits):
    code = HELLO + 'print("\\n".join([\'{"type":"submit","text":"x"}\'] * 10_000), flush=True)' + READS
    ran = submits(code)
    assert len(ran.result.sent) == 10
    warned = ran.warnings("house")
    assert TEN in warned
    assert len(warned) == len(set(warned)) <= 3


def test_what_a_process_submits_before_it_ends_runs(submits):
    code = HELLO + 'send(type="submit", text="last words")' + READY + "sys.exit(0)\n"
    ran = submits(code, may_end=True)
    assert ran.users == [("", "go"), ("house", "last words")]


def test_a_submit_before_the_hello_ends_the_start(submits):
    ran = submits('send(type="submit", text="x")\n' + HELLO + READS, may_end=True)
    assert ran.users == [("", "go")]
    (failed,) = [line for line in ran.stderr.splitlines() if line.startswith("zot: extension house: ")]
    assert "its first frame must be hello, not submit" in failed


@pytest.mark.parametrize(
    ("capabilities", "before", "expected"),
    [(["submit"], False, ["late"]), ([], True, ["early", "late"])],
)
def test_a_run_waits_for_those_who_send_prompts(submits, tmp_path, capabilities, before, expected):
    code = AS_IDLE.format(before=before, capabilities=capabilities)
    ran = submits(code, args=(tmp_path / "told",))
    assert [text for _, text in ran.users[1:]] == expected
    assert ran.warnings("house") == []


def test_a_run_waits_for_no_other_and_refuses_what_comes_too_late(submits, tmp_path):
    ran = submits(AS_IDLE.format(before=False, capabilities=[]), args=(tmp_path / "told",))
    assert ran.users == [("", "go")]
    assert f"zot: extension house: {ENDING}\n" in ran.stderr


def test_who_may_send_is_known_by_what_it_has_sent_also_after_a_restart(tmp_path):
    code = """
send(type="hello", name="x")
if not os.path.exists(sys.argv[0] + ".sent"):
    open(sys.argv[0] + ".sent", "w").close()
    send(type="submit", text="x")
    send(type="ready")
    sys.exit(3)
send(type="ready")
for _ in frames(): pass
"""
    with Host(tmp_path) as host:
        host.write("house", code, restart=SOON)
        host.write("plain", HELLO + READS)
        host.start()
        host.until(lambda: host.is_restarted("house"))
        assert host.extension("house").may_send
        assert not host.extension("plain").may_send


def test_a_host_without_an_agent_says_so_once(tmp_path):
    code = HELLO + 'for _ in range(90): send(type="submit", text="x")\nsend(type="notify", message="done")' + READS
    with Host(tmp_path) as host:
        host.write("house", code)
        host.write("other", HELLO + READS)
        host.start()
        host.until(lambda: host.notes)
        assert ("house", "warning", f"{REFUSED}: {NO_AGENT}") in host.notices
        assert len(host.said_of("house")) == 1
        assert host.said_of("other") == []
