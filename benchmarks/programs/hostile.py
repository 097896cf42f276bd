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

if __name__ == "__main__":
    # -I leaves the project off the path. It goes last, so that nothing there can hide the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from benchmarks.programs.faults import FORK_LIFE_S, LEAK_BYTES, Fault, NoHello, fault_at

LIFE_S = 240
ORPHAN_S = 4.0
"""How long a stubborn process goes on after the end of its stdin."""
TICK_S = 0.01
REST_S = 0.1
"""Between two looks at the clock, while the fault only reacts to frames."""


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
