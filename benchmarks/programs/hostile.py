"""An extension that has a different fault every few seconds. Its tool is `NAME_echo`; it guards the events of its argv.

argv: name, seed, when the run began on the monotonic clock, seconds of quiet, seconds of storm, seconds of a fault,
[event…]. In quiet it works; the storm after it has the faults. The fault depends on seed, name and time alone, so a
restarted process continues with the fault of the process before.

Bounded, whatever the host does: it ends `LIFE_S` after its start and soon after its stdin has ended, forks at most
`FORKS` times, keeps at most `LEAK_BYTES`, and floods with no more than `FLOOD` bytes a second.
"""

import os
import resource
import select
import signal
import sys
import time

LIFE_S = 240
ORPHAN_S = 4.0
"""How long a stubborn process goes on after the end of its stdin."""
FORKS = 20
FORK_LIFE_S = 20
LEAK_BYTES = 150 << 20
LEAK_STEP = 8 << 20
FLOOD = 1 << 20
TICK_S = 0.01
REST_S = 0.1
"""Between two looks at the clock, while the fault only reacts to frames."""
TOO_LONG = b"x" * (1 << 20)
NOTE = b'{"type":"notify","level":"info","message":"' + b"n" * 80 + b'"}\n'
ERROR_LINE = b"something is wrong, says " + b"e" * 100 + b"\n"
JUNK = (
    b"Loading model...\n",
    b'{"type":"tool_result"\n',
    b"\xff\xfe\x00\n",
    b"[1,2]\n",
    b"\x1b[31mred\x1b[0m\n",
    b"\n",
)


class Fault:
    """No fault. Each subclass overrides what it does differently."""

    reads = True
    ticks = False
    """Whether `tick` is called every `TICK_S`."""
    is_stubborn = False
    """Whether it ignores SIGTERM, `shutdown` and the end of its stdin."""

    def __init__(self, program):
        self.program = program
        self.began = self.last = time.monotonic()
        self.answered = 0

    def begin(self):
        """Called when the fault starts."""

    def tick(self, now):
        """Called every `TICK_S` if `ticks`."""

    def end(self):
        """Called when the fault ends."""

    def answer(self, frame):
        self.program.say(frame)

    def due(self, now, rate):
        """How many units to do now, at `rate` units a second."""
        elapsed, self.last = now - self.last, now
        return int(min(elapsed, 0.1) * rate)


class Late(Fault):
    """Answers after up to 0.6 s: some in time, some not."""

    ticks = True

    def begin(self):
        self.waiting = []

    def answer(self, frame):
        self.answered += 1
        self.waiting.append((time.monotonic() + 0.1 * (self.answered % 7), frame))

    def tick(self, now):
        ready = [frame for due, frame in self.waiting if due <= now]
        self.waiting = [(due, frame) for due, frame in self.waiting if due > now]
        for frame in ready:
            self.program.say(frame)

    def end(self):
        self.tick(float("inf"))


class Silent(Fault):
    def answer(self, _frame):
        pass


class Junk(Fault):
    def answer(self, frame):
        self.answered += 1
        self.program.say(JUNK[self.answered % len(JUNK)] + frame + JUNK[(self.answered + 1) % len(JUNK)])


class Drip(Fault):
    """Sends its answers byte by byte."""

    ticks = True

    def begin(self):
        self.left = b""

    def answer(self, frame):
        if len(self.left) < 10_000:
            self.left += frame

    def tick(self, _now):
        self.program.say(self.left[:1])
        self.left = self.left[1:]

    def end(self):
        self.program.say(self.left.partition(b"\n")[0] + b"\n")


class Half(Fault):
    """Sends the first half of each answer, without the LF."""

    def answer(self, frame):
        self.program.say(frame[: len(frame) // 2])

    def end(self):
        self.program.say(b"\n")


class NoteFlood(Fault):
    ticks = True

    def tick(self, now):
        self.program.say(NOTE * (self.due(now, FLOOD) // len(NOTE)))


class ErrorFlood(Fault):
    ticks = True

    def tick(self, now):
        os.write(2, ERROR_LINE * (self.due(now, FLOOD) // len(ERROR_LINE)))


class Exit(Fault):
    """Exits with 1 at its third request, or after 0.7 s."""

    ticks = True

    def answer(self, frame):
        self.answered += 1
        if self.answered == 3:
            self.leave()
        self.program.say(frame)

    def tick(self, now):
        if now - self.began > 0.7:
            self.leave()

    def leave(self):
        os.write(2, b"cannot go on: no such luck\n")
        os._exit(1)


class Killed(Exit):
    """Kills itself by SIGKILL within an answer."""

    def leave(self):
        os.write(1, b'{"type":"tool_result","id":"')
        os.kill(os.getpid(), signal.SIGKILL)


class Mute(Fault):
    """Closes its stdout and lives on. At the end of the fault it exits, to be restarted."""

    def begin(self):
        os.close(1)
        self.program.is_mute = True

    def end(self):
        os._exit(1)


class NoHello(Fault):
    """Exits; the restarted process does not say hello until the fault is over."""

    def begin(self):
        if self.program.is_greeted:
            os._exit(1)


class Deaf(Fault):
    """Does not read its stdin."""

    reads = False


class Stopped(Fault):
    """Stops itself by SIGSTOP at its first request. A child kills it later, as a stopped process cannot end itself."""

    def answer(self, frame):
        if self.program.forked < FORKS:
            self.program.fork(self.watch, os.getpid())
            os.kill(os.getpid(), signal.SIGSTOP)
        self.program.say(frame)

    @staticmethod
    def watch(parent):
        os.setsid()
        end = time.monotonic() + FORK_LIFE_S
        while os.getppid() == parent and time.monotonic() < end:
            time.sleep(0.1)
        if os.getppid() == parent:
            os.kill(parent, signal.SIGKILL)


class Leak(Fault):
    ticks = True

    def begin(self):
        self.kept = []

    def tick(self, now):
        if now - self.last > 0.05 and len(self.kept) * LEAK_STEP < LEAK_BYTES:
            self.last = now
            self.kept.append(b"\x01" * LEAK_STEP)

    def end(self):
        self.kept.clear()


class Forks(Fault):
    """Forks sleeping children: half in its session, half as daemons in sessions of their own."""

    def begin(self):
        while self.program.forked < FORKS:
            self.program.fork(self.daemon if self.program.forked % 2 else self.sleep, FORK_LIFE_S)

    @staticmethod
    def sleep(seconds):
        time.sleep(seconds)

    @staticmethod
    def daemon(seconds):
        os.setsid()
        if os.fork() == 0:
            signal.alarm(FORK_LIFE_S)
            time.sleep(seconds)


class TooLong(Fault):
    """Answers with a longer frame than `output_bytes` in its manifest allows."""

    def answer(self, frame):
        self.program.say(frame[:-4] + TOO_LONG + frame[-4:])


class WrongTypes(Fault):
    def answer(self, _frame):
        kind, number = self.program.request
        self.program.say(b'{"type":5}\n{"type":"notify","message":[]}\n{"type":"tool_result","id":7}\n')
        self.program.say(b'{"type":"%b","id":"%b","content":5,"block":"yes"}\n' % (ANSWERS[kind], number))


class Twice(Fault):
    """Sends each answer twice, and answers to requests that were not made yet."""

    def answer(self, frame):
        kind, number = self.program.request
        self.program.say(frame + frame + b'{"type":"%b","id":"%d"}\n' % (ANSWERS[kind], int(number) + 1000))


class WrongAnswer(Fault):
    """Answers every request with a `command_response`."""

    def answer(self, _frame):
        self.program.say(b'{"type":"command_response","id":"%b"}\n' % self.program.request[1])


class Stubborn(Fault):
    is_stubborn = True

    def begin(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def end(self):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


FAULTS = (
    Fault, Late, Silent, Junk, Drip, Half, NoteFlood, ErrorFlood, Exit, Killed, Mute, NoHello, Deaf, Stopped, Leak,
    Forks, TooLong, WrongTypes, Twice, WrongAnswer, Stubborn,
)  # fmt: skip
STRIDE = 5
"""Step from one fault to the next. It shares no factor with the number of faults, so every fault is reached."""
ANSWERS = {b"tool_call": b"tool_result", b"event_intercept": b"event_intercept_response"}


def fault_at(elapsed: float, name: str, seed: object, quiet_s: float, storm_s: float, fault_s: float) -> "type[Fault]":
    """The class of the fault at `elapsed` seconds of the run. Each extension begins at another fault."""
    cycle, within = divmod(elapsed, quiet_s + storm_s)
    if within < quiet_s:
        return Fault
    in_a_storm = max(1, round(storm_s / fault_s))
    turn = int(cycle) * in_a_storm + min(int((within - quiet_s) / fault_s), in_a_storm - 1)
    start = sum(position * byte for position, byte in enumerate(f"{name} {seed}".encode(), 1))
    return FAULTS[(start + STRIDE * turn) % len(FAULTS)]


class Program:
    def __init__(self, name, seed, began, *times):
        self.name, self.seed, self.began = name, seed, float(began)
        self.times = [float(time_s) for time_s in times]
        self.is_greeted = self.is_mute = False
        self.forked = 0
        self.request = (b"", b"")
        """Type and id of the request that is being answered."""
        self.received = b""
        self.stdin_ended = None
        self.fault = Fault(self)

    def run(self, guarded):
        poller = select.poll()
        poller.register(0, select.POLLIN)
        self.change(time.monotonic())
        while True:
            if not self.is_greeted and type(self.fault) is not NoHello:
                self.greet(guarded)
            poller.modify(0, select.POLLIN if self.fault.reads and self.stdin_ended is None else 0)
            events = poller.poll((TICK_S if self.fault.ticks else REST_S) * 1000)
            now = time.monotonic()
            for _, what in events:
                if what & select.POLLIN and self.fault.reads:
                    self.read()
                elif what & select.POLLHUP:
                    self.end_of_stdin(now)
            self.change(now)
            self.fault.tick(now)

    def change(self, now):
        wanted = fault_at(now - self.began, self.name, self.seed, *self.times)
        if wanted is not type(self.fault):
            self.fault.end()
            self.fault = wanted(self)
            self.fault.begin()

    def greet(self, guarded):
        self.is_greeted = True
        name = self.name.encode()
        self.say(b'{"type":"hello","name":"%b"}\n' % name)
        self.say(b'{"type":"register_tool","name":"%b_echo","description":"","schema":{"type":"object"}}\n' % name)
        if guarded:
            events = b",".join(b'"%b"' % event.encode() for event in guarded)
            self.say(b'{"type":"subscribe","intercept":[%b]}\n' % events)
        self.say(b'{"type":"ready"}\n')

    def read(self):
        data = os.read(0, 65536)
        if not data:
            self.end_of_stdin(time.monotonic())
            return
        *lines, self.received = (self.received + data).split(b"\n")
        for line in lines:
            self.handle(line)

    def end_of_stdin(self, now):
        self.stdin_ended = self.stdin_ended or now
        if not self.fault.is_stubborn or now - self.stdin_ended > ORPHAN_S:
            sys.exit(0)
        time.sleep(TICK_S)

    def handle(self, line):
        kind, number = self.request = between(line, b'"type":"'), between(line, b'"id":"')
        if kind == b"tool_call":
            content = b'[{"type":"text","text":"%b"}]' % between(line, b'"text":"')
            self.fault.answer(b'{"type":"tool_result","id":"%b","content":%b}\n' % (number, content))
        elif kind == b"event_intercept":
            self.fault.answer(b'{"type":"event_intercept_response","id":"%b"}\n' % number)
        elif kind == b"shutdown" and not self.fault.is_stubborn:
            self.say(b'{"type":"shutdown_ack"}\n')
            sys.exit(0)

    def say(self, data):
        if data and not self.is_mute:
            os.write(1, data)

    def fork(self, what, *args):
        """Runs `what` in a child that ends after `FORK_LIFE_S` at the latest."""
        self.forked += 1
        if os.fork() == 0:
            try:
                signal.alarm(FORK_LIFE_S + 2)
                what(*args)
            finally:
                os._exit(0)


def between(line, before):
    """The string between `before` and the next quotation mark."""
    return line.partition(before)[2].partition(b'"')[0]


def main():
    signal.alarm(LIFE_S)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    size = 2 * LEAK_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    name, seed, began, quiet_s, storm_s, fault_s, *guarded = sys.argv[1:]
    try:
        Program(name, seed, began, quiet_s, storm_s, fault_s).run(guarded)
    except (BrokenPipeError, MemoryError):
        sys.exit(1)


if __name__ == "__main__":
    main()
