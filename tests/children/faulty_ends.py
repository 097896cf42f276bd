"""Faults of how children end, and of what they use: processor, memory, descriptors, processes."""

import os
import signal
import sys
import time

from faults import ALL_POINTS, complain, echo_tool, fault, pause
from voices import Request


@fault
def dies_in_call(voice):
    """Tool `die`: complains on stderr and exits with 7 instead of answering."""
    voice.greet("die")
    for _ in voice.requests():
        sys.exit(complain(voice, "something terrible happened", 7))


@fault
def killed_in_call(voice):
    """Tool `die`: kills itself with SIGKILL instead of answering."""
    voice.greet("die")
    for _ in voice.requests():
        os.kill(os.getpid(), signal.SIGKILL)


@fault
def dies_in_intercept(voice):
    """Intercepts everything and exits with 9 instead of giving a verdict."""
    voice.hello(intercept=ALL_POINTS)
    voice.ready()
    for _ in voice.requests():
        sys.exit(9)


@fault
def exits_after_answer(voice):
    """Tool `echo`: answers a call and exits with 0."""
    voice.greet("echo")
    for request in voice.requests():
        voice.answer(request, request.args.get("text", ""))
        sys.exit(0)


@fault
def ignores_shutdown(voice):
    """Tool `echo` works, but shutdown, EOF and SIGTERM change nothing: only SIGKILL ends it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    voice.obeys = False
    echo_tool(voice)
    pause()


@fault
def dumps_on_quit(voice):
    """Tool `hang` never returns; on SIGQUIT it writes to stderr where it is (`faulthandler`) and hangs on."""
    import faulthandler
    import threading

    def wait_for_nothing():
        threading.Event().wait()

    faulthandler.register(signal.SIGQUIT)
    print("dumps_on_quit: at your service", file=sys.stderr, flush=True)
    voice.greet("hang")
    for _ in voice.requests():
        wait_for_nothing()


@fault
def pinged(voice):
    """Answers pings until its tool `hush` is called; tool `echo` works on."""
    voice.hello("echo", "hush", capabilities=["ping"])
    voice.ready()
    hushed = False
    for frame in voice.frames():
        if frame["type"] == "tool_call":
            hushed = hushed or frame["name"] == "hush"
            voice.answer(Request(frame["id"], None, None), frame["args"].get("text", ""))
        elif frame["type"] == "ping" and not hushed:
            voice.send(type="pong", id=frame["id"])


# --- resources ---------------------------------------------------------------------------------------------------


@fault
def cpu_hog(voice):
    """Tool `burn`: answers, then computes without end and no longer hears anything."""
    voice.greet("burn")
    for request in voice.requests():
        voice.answer(request, "brr")
        while True:
            pass


@fault
def memory_hog(voice):
    """Tool `eat`: answers, then holds args.mb MiB more than before."""
    voice.greet("eat")
    held = []
    for request in voice.requests():
        voice.answer(request, "yum")
        held.append(b"m" * (request.args["mb"] << 20))


@fault
def fd_leak(voice):
    """Tool `open`: keeps args.count descriptors more open, half of them in a child of its own."""

    def leak(count):
        for _ in range(count):
            os.open(os.devnull, os.O_RDONLY)

    voice.greet("open")
    for request in voice.requests():
        half = request.args["count"] // 2
        done, finished = os.pipe()
        alive, ours = os.pipe()
        if os.fork() == 0:
            os.close(ours)
            leak(half)
            os.write(finished, b".")
            os.read(alive, 1)  # until its parent ends
            os._exit(0)
        os.read(done, 1)
        leak(half)
        voice.answer(request, "open")


@fault
def fork_bomb(voice):
    """Tool `fork`: all processes fork as fast as they can, half of them in sessions of their own; 50 forks in all."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    voice.greet("fork")
    for request in voice.requests():
        voice.answer(request, "boom")
        tokens, source = os.pipe()  # each fork takes a byte; it is never refilled, which bounds the bomb
        os.write(source, b"." * 50)
        os.close(source)
        generation = 0
        while os.read(tokens, 1):
            if os.fork() == 0:
                generation += 1
                if generation % 2:
                    os.setsid()
        pause()


@fault
def grandchild(voice, pid_file):
    """Leaves a sleeping grandchild in its session, holding stdout and stderr. Tool `echo`. argv: pid file."""
    null = os.open(os.devnull, os.O_RDWR)
    spawned = os.posix_spawnp("sleep", ["sleep", "600"], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 0)])
    with open(pid_file, "w") as file:
        file.write(str(spawned))
    echo_tool(voice)


@fault
def daemon_grandchild(voice, pid_file):
    """Leaves a daemon behind: double fork, its own session, none of our pipes. Tool `echo`. argv: pid file."""
    start_daemon(pid_file)
    echo_tool(voice)


def start_daemon(pid_file):
    read, write_end = os.pipe()
    if middle := os.fork():
        os.waitpid(middle, 0)
        wait_for_sleep(int(os.read(read, 20)))
        return
    os.setsid()
    if daemon := os.fork():
        with open(pid_file, "w") as file:
            file.write(str(daemon))
        os.write(write_end, b"%d" % daemon)
        os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.execvp("sleep", ["sleep", "600"])


def wait_for_sleep(pid):
    """While a process becomes another program, it shows no environment, by which the host knows whose it is."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as command:
                if command.read().startswith(b"sleep"):
                    return
        except FileNotFoundError:
            return
        time.sleep(0.001)
