"""The faults of `hostile.py`: what each does to its program, and which one is due when."""

import os
import signal
import time

FORKS = 20
FORK_LIFE_S = 20
LEAK_BYTES = 150 << 20
LEAK_STEP = 8 << 20
FLOOD = 1 << 20
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
    """Whether `tick` is called every 10 ms."""
    is_stubborn = False
    """Whether it ignores SIGTERM, `shutdown` and the end of its stdin."""

    def __init__(self, program):
        self.program = program
        self.began = self.last = time.monotonic()
        self.answered = 0

    def begin(self):
        """Called when the fault starts."""

    def tick(self, now):
        """Called every 10 ms if `ticks`."""

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


class LargestFrames(Fault):
    """Sends the largest frames of one kind that a host takes, as often as `FLOOD` allows. Subclasses have the kinds."""

    ticks = True
    head, tail, size = b"", b"", 0
    next_at = 0.0

    @classmethod
    def frame(cls):
        return cls.head + b"A" * (cls.size - len(cls.head + cls.tail)) + cls.tail

    def tick(self, now):
        if now >= self.next_at and self.program.is_greeted:
            self.next_at = now + self.size / FLOOD
            self.program.say(self.frame() + b"\n")


def largest(size, kind, before, after=b""):
    """A fault: frames of this kind with `size` bytes, of which most stand in a text between these members."""
    ends = {"head": b'{"type":"%b",%b"' % (kind.encode(), before), "tail": b'"%b}' % after, "size": size}
    return type(f"Largest {kind}", (LargestFrames,), ends)


MIB, SHORT = 1 << 20, 1 << 18
FLOODS = (
    largest(6 * MIB, "tool_result", b'"id":"0","content":[{"type":"image","mime_type":"image/png","data":', b"}]"),
    largest(SHORT, "log", b'"message":"m","fields":{"a":', b"}"),
    largest(6 * MIB, "event_intercept_response", b'"id":"0","replace_text":'),
    largest(SHORT, "notify", b'"message":'),
    largest(4 * MIB, "command_response", b'"id":"0","display":'),
    largest(SHORT, "panel_render", b'"panel_id":"p","lines":[', b"]"),
    largest(4 * MIB, "submit", b'"text":'),
    largest(MIB, "call_tool", b'"id":"0","name":'),
    largest(MIB, "register_tool", b'"name":"t","description":'),
    largest(SHORT, "no_such_kind", b'"text":'),
)
FAULTS = (
    Fault, Late, Silent, Junk, Drip, Half, NoteFlood, ErrorFlood, Exit, Killed, Mute, NoHello, Deaf, Stopped, Leak,
    Forks, TooLong, WrongTypes, Twice, WrongAnswer, Stubborn,
)  # fmt: skip
STRIDE = 11
"""Step from one fault to the next. It shares no factor with either number of faults, so every fault is reached."""
FLOODER = "flooder"
ANSWERS = {b"tool_call": b"tool_result", b"event_intercept": b"event_intercept_response"}


def fault_at(elapsed: float, name: str, seed: object, quiet_s: float, storm_s: float, fault_s: float) -> "type[Fault]":
    """The class of the fault at `elapsed` seconds of the run. Each extension begins at another fault. Extensions
    named flooders have `FLOODS` only."""
    cycle, within = divmod(elapsed, quiet_s + storm_s)
    if within < quiet_s:
        return Fault
    in_a_storm = max(1, round(storm_s / fault_s))
    turn = int(cycle) * in_a_storm + min(int((within - quiet_s) / fault_s), in_a_storm - 1)
    start = sum(position * byte for position, byte in enumerate(f"{name} {seed}".encode(), 1))
    faults: tuple[type[Fault], ...] = FLOODS if name.startswith(FLOODER) else FAULTS
    return faults[(start + STRIDE * turn) % len(faults)]
