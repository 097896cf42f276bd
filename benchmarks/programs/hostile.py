"""An extension that has a different fault every few seconds: tool `NAME_echo`, guards what it is told to.

argv: name, seed, when the run began on the monotonic clock, seconds of quiet, seconds of storm, seconds of a fault,
[event…]. Each stretch of quiet, in which it does as it should, is followed by one of storm. What fault it has then
depends on seed, name and time alone: a process that takes the place of another goes on with the same.

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
"""How long the most stubborn one goes on after its stdin has ended."""
FORKS = 20
FORK_LIFE_S = 20
LEAK_BYTES = 150 << 20
LEAK_STEP = 8 << 20
FLOOD = 1 << 20
TICK_S = 0.01
REST_S = 0.1
"""Between two looks at the clock, for a fault that waits to be spoken to."""
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
    """None at all. The faults override what they do differently."""

    reads = True
    ticks = False
    """It does something by itself, every `TICK_S`."""
    is_stubborn = False
    """Takes no notice of SIGTERM, `shutdown` and the end of its stdin."""

    def __init__(self, program):
        self.program = program
        self.began = self.last = time.monotonic()
        self.answered = 0

    def begin(self):
        """It takes hold of the program."""

    def tick(self, now):
        """Does what is due."""

    def end(self):
        """The next one is due."""

    def answer(self, frame):
        self.program.say(frame)

    def due(self, now, rate):
        """How much of something may be done now, at so much a second."""
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
        self.waiting = [one for one in self.waiting if one[0] > now]
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
    """A byte at a time, one answer after another."""

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
    """The first half of each answer, without an end."""

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
    """Ends with 1 on its third request, or after a while."""

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
    """By SIGKILL, within an answer."""

    def leave(self):
        os.write(1, b'{"type":"tool_result","id":"')
        os.kill(os.getpid(), signal.SIGKILL)


class Mute(Fault):
    """Closes its stdout and lives on. When it should do well again it has to start anew."""

    def begin(self):
        os.close(1)
        self.program.is_mute = True

    def end(self):
        os._exit(1)


class NoHello(Fault):
    """Ends, and what takes its place does not say hello until the fault is over."""

    def begin(self):
        if self.program.is_greeted:
            os._exit(1)


class Deaf(Fault):
    """Does not read its stdin."""

    reads = False


class Stopped(Fault):
    """By SIGSTOP, at its first request. A process stopped that way cannot end itself: a child of it sees to that."""

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
    """Children in its session and, as many, daemons: with parents that have ended, in sessions of their own."""

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
    """Answers with more than its manifest's `output_bytes`."""

    def answer(self, frame):
        self.program.say(frame[:-4] + TOO_LONG + frame[-4:])


class WrongTypes(Fault):
    def answer(self, _frame):
        kind, number = self.program.request
        self.program.say(b'{"type":5}\n{"type":"notify","message":[]}\n{"type":"tool_result","id":7}\n')
        self.program.say(b'{"type":"%b","id":"%b","content":5,"block":"yes"}\n' % (ANSWERS[kind], number))


class Twice(Fault):
    """Each answer twice, and answers to what nobody has asked yet."""

    def answer(self, frame):
        kind, number = self.program.request
        self.program.say(frame + frame + b'{"type":"%b","id":"%d"}\n' % (ANSWERS[kind], int(number) + 1000))


class WrongAnswer(Fault):
    """A command's response to whatever was asked."""

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
"""From one fault to the next; it shares no factor with their number, so that each has its turn."""
ANSWERS = {b"tool_call": b"tool_result", b"event_intercept": b"event_intercept_response"}


def fault_at(elapsed, name, seed, quiet_s, storm_s, fault_s):
    """The class of the fault so many seconds into the run: one after another, from a start of its own for each."""
    cycle, within = divmod(elapsed, quiet_s + storm_s)
    if within < quiet_s:
        return Fault
    in_a_storm = max(1, round(storm_s / fault_s))
    turn = int(cycle) * in_a_storm + min(int((within - quiet_s) / fault_s), in_a_storm - 1)
    start = sum(place * byte for place, byte in enumerate(f"{name} {seed}".encode(), 1))
    return FAULTS[(start + STRIDE * turn) % len(FAULTS)]


class Program:
    def __init__(self, name, seed, began, *times):
        self.name, self.seed, self.began = name, seed, float(began)
        self.times = [float(one) for one in times]
        self.is_greeted = self.is_mute = False
        self.forked = 0
        self.request = (b"", b"")
        """Type and id of what is being answered."""
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
            events = b",".join(b'"%b"' % one.encode() for one in guarded)
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
        """A child for one thing, with an end of its own."""
        self.forked += 1
        if os.fork() == 0:
            try:
                signal.alarm(FORK_LIFE_S + 2)
                what(*args)
            finally:
                os._exit(0)


def between(line, before):
    """The string after these bytes."""
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
