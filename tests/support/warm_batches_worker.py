"""Workers of the Message Batches API as forks of one process that has the SDK in memory: its import takes more than a
second of a processor. Usage of the process: `warm_batches_worker.py SOCKET`.

`relay` is the program that takes the place of the worker's: it hands its standard streams to the process, which forks,
and ends with the fork. The fork ends with its input, as the worker does.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
RELAY = """
import socket, sys
with socket.socket(socket.AF_UNIX) as peer:
    peer.connect({path!r})
    socket.send_fds(peer, [b"."], [0, 1, 2])
    peer.recv(1)
"""


@contextmanager
def relay(folder: Path) -> Iterator[Path]:
    """The path of the program."""
    path = folder / "s"
    program = folder / "relay.py"
    program.write_text(RELAY.format(path=str(path)))
    command = [sys.executable, "-m", "tests.support.warm_batches_worker", str(path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], PATIENCE_S)[0]
        assert process.stdout.readline() == b"ready\n"
        try:
            yield program
        finally:
            process.kill()


def main() -> None:
    from agent.batch.message_batches.worker import worker_main

    worker_main.load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(sys.argv[1])
        server.listen()
        print("ready", flush=True)
        while True:
            peer, _ = server.accept()
            _, fds, _, _ = socket.recv_fds(peer, 1, 3)
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                server.close()
                for number, fd in enumerate(fds):
                    os.dup2(fd, number)
                    os.close(fd)
                worker_main.main(worker_main.BatchesWorker, lambda: "warm")
            for fd in fds:
                os.close(fd)
            peer.close()


if __name__ == "__main__":
    main()
