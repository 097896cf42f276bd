"""Faults of starts and of what is said. The fault of a child is the first line of its function, and sound otherwise.

They exit at shutdown, after they have acknowledged it, or at the end of their input. Functions that use nothing but
`Voice` speak every wire, the others zot's.
"""

import json
import os
import select
import sys
import time

from faults import ALL_POINTS, complain, echo, echo_tool, fault, pause
from voices import SCHEMA, STRANGE, Request, write

HUGE = 20 * 1024 * 1024

# --- starts ------------------------------------------------------------------------------------------------------


@fault
def silent(voice):
    """Never says a word, not even hello; leaves at EOF or shutdown."""
    for line in sys.stdin:
        if '"shutdown"' in line:
            break


@fault
def exits_before_hello(voice):
    """Complains on stderr and exits with 3 before its hello."""
    sys.exit(complain(voice, "cannot find my configuration", 3))


@fault
def exits_before_ready(voice):
    """Says hello, complains on stderr and exits with 4."""
    voice.hello("gone")
    sys.exit(complain(voice, "had enough", 4))


@fault
def first_frame_not_hello(voice):
    """Sends register_tool before its hello."""
    voice.send(type="register_tool", name="early", schema=SCHEMA)
    voice.greet()
    echo(voice)


@fault
def junk_first(voice):
    """Writes junk before its hello: text, ANSI colours, invalid UTF-8, an empty line. Works then: tool `echo`."""
    write(b"npm WARN deprecated\n\x1b[31mred\x1b[0m\n\xff\xfe\x80\n\n")
    echo_tool(voice)


@fault
def stderr_flood(voice):
    """Writes 5 MiB to stderr before its hello, then works: tool `echo`."""
    for number in range(5 * 1024):
        sys.stderr.write(f"{number:05} ".ljust(1023, "e") + "\n")
    echo_tool(voice)


@fault
def chatty_never_ready(voice):
    """Sends a notify every 50 ms for ever and never says ready."""
    voice.hello()
    received = b"."
    while received and b'"shutdown"' not in received:
        voice.send(type="notify", level="info", message="still busy")
        if select.select([0], [], [], 0.05)[0]:
            received = os.read(0, 65536)
    if received:
        voice.send(type="shutdown_ack")


@fault
def no_ready(voice):
    """Registers `quiet_tool` at once and never says ready."""
    voice.hello("quiet_tool")
    for request in voice.requests():
        voice.answer(request, "quiet")


@fault
def slow_register(voice):
    """Says hello, thinks for 0.6 s, then registers `slow_tool`; never says ready."""
    voice.hello()
    time.sleep(0.6)
    voice.send(type="register_tool", name="slow_tool", schema=SCHEMA)
    for request in voice.requests():
        voice.answer(request, "slow")


@fault
def late_tool(voice):
    """Ready at once without a tool; registers `late_tool` when it sees its first turn_start."""
    voice.hello(events=["turn_start"])
    voice.ready()
    registered = False
    for frame in voice.frames():
        if frame["type"] == "event" and not registered:
            voice.send(type="register_tool", name="late_tool", schema=SCHEMA)
            registered = True
        elif frame["type"] == "tool_call":
            voice.answer(Request(frame["id"], "late_tool", {}), "late")


@fault
def bad_tools(voice):
    """Registers seven tools that no model may see (bad schema or bad name) and one `good_tool`."""
    voice.hello()
    for name, schema in (("null_schema", None), ("string_schema", "object"), ("invalid_schema", {"type": 5})):
        voice.send(type="register_tool", name=name, schema=schema)
    for name in ("", "has spaces", "read"):
        voice.send(type="register_tool", name=name, schema=SCHEMA)
    voice.send(type="register_tool", schema=SCHEMA)
    voice.send(type="register_tool", name="good_tool", schema=SCHEMA)
    voice.ready()
    for request in voice.requests():
        voice.answer(request, request.tool)


@fault
def large_tools(voice):
    """Offers two tools whose definitions have 60,000 bytes each."""
    voice.hello()
    for name in ("first", "second"):
        voice.send(type="register_tool", name=name, description="d" * 60_000, schema=SCHEMA)
    voice.ready()
    echo(voice)


# --- answers -----------------------------------------------------------------------------------------------------


@fault
def answers_late(voice):
    """Tool `late`: holds a call back until the next one arrives, then answers both, the older first."""
    voice.greet("late")
    waiting = []
    for request in voice.requests():
        waiting.append(request)
        if len(waiting) == 2:
            for each in waiting:
                voice.answer(each, f"answer to {each.id}")
            waiting.clear()


@fault
def answers_twice(voice):
    """Tool `twice`: answers each call with `first`, then with `second`."""
    voice.greet("twice")
    for request in voice.requests():
        voice.answer(request, "first")
        voice.answer(request, "second")


@fault
def answers_others(voice):
    """Tool `echo`: before each answer come answers to requests that the host has not made."""
    voice.greet("echo")
    nobodys = [Request(number, "echo", {}) for number in ("99999", "-1", "x")]
    echo(voice, lambda: [voice.answer(request, "stolen") for request in nobodys])


@fault
def huge_line(voice):
    """Tool `huge`: answers the first call with one line of 20 MiB, later calls with `small`."""
    voice.greet("huge")
    text = "x" * HUGE
    for request in voice.requests():
        voice.answer(request, text)
        text = "small"


@fault
def junk_between(voice):
    """Writes junk before every frame but the first: text, half an object, an array, a number. Tool `echo`."""
    junk = b'Listening on port 3000\n{"type":"tool_res\n[1,2,3]\n42\n'
    voice.hello()
    write(junk)
    voice.send(type="register_tool", name="echo", schema=SCHEMA)
    write(junk)
    voice.ready()
    for request in voice.requests():
        write(junk)
        voice.answer(request, request.args.get("text", ""))
    write(junk)


@fault
def junk_in_calls(voice):
    """Tool `echo`: writes lines that are no messages before each answer."""
    voice.greet("echo")
    echo(voice, lambda: write(b"Listening on port 3000\nstarted in 30 ms\n"))


@fault
def unknown_messages(voice):
    """Tool `echo`: before each answer it sends a message that no host knows."""
    voice.greet("echo")
    echo(voice, lambda: voice.send(**STRANGE[type(voice)]))


@fault
def wrong_types(voice):
    """A good hello, then fields of the wrong type: a tool named 5, a notify of 5, verdicts with block "yes"."""
    voice.hello(intercept=ALL_POINTS)
    voice.send(type="register_tool", name=5, schema=SCHEMA)
    voice.send(type="notify", level="info", message=5)
    voice.ready()
    for request in voice.requests():
        voice.allow(request, block="yes")


@fault
def never_answers(voice):
    """Tool `hang` and all three intercepts: reads every request and answers none."""
    voice.hello("hang", intercept=ALL_POINTS)
    voice.ready()
    for _ in voice.requests():
        pass


@fault
def hangs(voice):
    """Tool `hang`, and guards calls: reads every request and answers none."""
    voice.greet("hang", guards=True)
    for _ in voice.requests():
        pass


@fault
def closes_stdout(voice):
    """Registers tool `echo`, says ready, closes its stdout and lives on without a voice until shutdown or EOF."""
    voice.greet("echo")
    os.close(1)
    for line in sys.stdin.buffer:
        if b'"shutdown"' in line:
            break


@fault
def closes_stdin(voice):
    """Registers tool `echo`, closes its stdin, says ready and lives on until it is signalled."""
    voice.hello("echo")
    voice.ready(before=lambda: os.close(0))
    pause()


@fault
def deaf(voice):
    """Tool `deaf`, guards calls; never reads stdin: neither shutdown nor EOF ends it, SIGTERM does."""
    voice.greet("deaf", guards=True)
    pause()


@fault
def floods_stdout(voice):
    """Tool `echo`: writes 4 MiB of lines that are no messages before each answer."""
    voice.greet("echo")
    echo(voice, lambda: write((b"y" * 63 + b"\n") * (1 << 16)))


@fault
def flood_notify(voice):
    """After hello and ready, floods notify frames in writes of 64 KiB until EOF; shutdown is ignored."""
    voice.greet()
    frame = json.dumps({"type": "notify", "level": "info", "message": ""})
    flood = (frame.replace('""', '"' + "f" * (127 - len(frame)) + '"').encode() + b"\n") * 512
    os.set_blocking(1, False)  # a blocked write would not see EOF
    position = 0
    while True:
        readable, writable, _ = select.select([0], [1], [])
        if readable and not os.read(0, 65536):
            break
        if writable:
            position = (position + os.write(1, flood[position:])) % len(flood)
