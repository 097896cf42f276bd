"""A start is bounded and reported in one line, and other extensions are not held up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.host import AT_ONCE

if TYPE_CHECKING:
    from tests.support.host import Host


pytestmark = pytest.mark.usefixtures("healthy")


def only_line(host: Host, name: str) -> str:
    ((_, line),) = host.said_of(name)
    assert "\n" not in line
    return line


def test_a_first_frame_that_is_not_hello_ends_it(host: Host):
    host.add("first_frame_not_hello")
    host.start()
    assert only_line(host, "first_frame_not_hello").startswith(
        "its first frame must be hello, not register_tool (log: "
    )
    assert host.tools() == {"echo"}


@pytest.mark.parametrize(
    ("hello", "line"),
    [
        ('send(type="hello")', "bad hello frame: Object missing required field `name`"),
        ('send(type="hello", name=5)', "bad hello frame: Expected `str`, got `int` - at `$.name`"),
        ('send(type="hello", name="")', "its hello has no name"),
    ],
)
def test_a_hello_without_a_name_ends_it(host: Host, hello: str, line: str):
    host.write("bad", f"{hello}\nfor _ in frames(): pass")
    host.start()
    assert only_line(host, "bad").startswith(f"{line} (log: ")


def test_a_hello_by_another_name_is_noted_in_the_log(host: Host):
    host.write("known", 'send(type="hello", name="n" * 200_000)\nsend(type="ready")\nfor _ in frames(): pass')
    host.start()
    assert host.said_of("known") == []
    assert "calls itself 'nnn" in host.log("known")
    assert len(host.log("known")) < 1000


def test_a_hello_over_the_limit_ends_it_at_once(host: Host):
    host.write("long", 'send(type="hello", name="n" * 300_000)\nfor _ in frames(): pass', timeouts={"hello": 60})
    host.start()
    line = only_line(host, "long")
    assert line.startswith("a hello frame of 300029 bytes is over the limit of 262144 bytes; dropped (log: ")


@pytest.mark.parametrize(
    ("manifest", "line"),
    [
        ({"exec": "no-such-program"}, "cannot start no-such-program: no such program on PATH"),
        ({"exec": "/no/such/program"}, "cannot start /no/such/program: no such file"),
        ({"exec": "/etc/passwd"}, "cannot start /etc/passwd: not executable (chmod +x /etc/passwd)"),
        ({"exec": "a\x00b"}, "cannot start ab: embedded null byte"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_program_that_cannot_be_started_says_why(host: Host, manifest: dict, line: str):
    host.add("echo", name="broken", **manifest)
    host.start()
    assert only_line(host, "broken").startswith(line)
    assert host.extension("broken").child is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/no/such/interpreter\n", "its interpreter '/no/such/interpreter' (first line, after #!) does not exist"),
        ("echo hi\n", "not a program for this machine (a script needs a #! line)"),
    ],
)
def test_a_script_without_an_interpreter_says_so(host: Host, text: str, said: str):
    script = host.folder / "script"
    script.write_text(text)
    script.chmod(0o755)
    host.add("echo", name="broken", exec=str(script))
    host.start()
    assert said in only_line(host, "broken")


def test_without_ready_silence_counts_as_ready(host: Host):
    host.add("no_ready")
    _, seconds = host.timed(host.start)
    assert 0.25 <= seconds < AT_ONCE
    assert host.text("quiet_tool") == "quiet"
    assert host.said_of("no_ready") == []
    assert "taken as ready after 250 ms of silence" in host.log("no_ready")


def test_endless_chatter_does_not_put_off_ready(host: Host):
    for number in range(3):
        host.add("chatty_never_ready", name=f"chatty{number}", timeouts={"ready": 0.6})
    _, seconds = host.timed(host.start)
    assert 0.5 <= seconds < AT_ONCE
    assert "not ready within 0.6 s of its hello; continuing without it" in host.log("chatty0")


def test_slow_registrations_are_merged_late(host: Host):
    host.add("slow_register")
    host.start()
    assert host.tools() == {"echo"}
    host.until(lambda: "slow_tool" in host.tools())
    assert host.text("slow_tool") == "slow"
    assert host.said_of("slow_register") == []


def test_a_flood_on_stderr_at_the_start_is_kept_in_bounds(host: Host):
    host.add("stderr_flood")
    host.start()
    logs = [path.stat().st_size for path in (host.folder / "logs").glob("ext-stderr_flood.log*")]
    full = 1024 * 1024 - 64 * 1024  # a file is left when the next piece does not fit
    assert 4 * full < sum(logs) <= 5 * 1024 * 1024
    assert host.said_of("stderr_flood") == []


def test_bad_tools_are_left_out_one_line_each(host: Host):
    host.add("bad_tools")
    host.supervisor.registrations._reserved = frozenset({"read"})
    host.start()
    assert host.tools() == {"echo", "good_tool"}
    assert [line for _, line in host.said_of("bad_tools")] == [
        "tool 'null_schema': schema must be a JSON Schema object, not null; the tool is skipped",
        "tool 'string_schema': schema must be a JSON Schema object, not str; the tool is skipped",
        "tool 'invalid_schema': schema must have type \"object\", not 5; the tool is skipped",
        "tool name '' is not usable: 1 to 128 letters, digits, '_' or '-' are needed; the tool is skipped",
        "tool name 'has spaces' is not usable: 1 to 128 letters, digits, '_' or '-' are needed; the tool is skipped",
        "bad register_tool frame: Object missing required field `name`; ignored",
        "its tool 'read' is hidden: a built-in tool has that name",
    ]


def test_the_first_extension_has_a_tool_name_that_two_register(host: Host):
    host.add("junk_between", name="second")
    host.start()
    assert host.tools() == {"echo"}
    assert host.supervisor.registrations.tools()["echo"].owner.name == "healthy"
    host.tools()
    assert [line for _, line in host.said_of("second") if "hidden" in line] == [
        "its tool 'echo' is hidden: extension healthy has that name"
    ]
