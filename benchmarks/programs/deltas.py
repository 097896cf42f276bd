"""`zot rpc` with a model that is never slow: `python -m benchmarks.programs.deltas COUNT HOME`.

Each reply has COUNT pieces of text. A piece is made when it is taken: the memory of this process is the server's own.
"""

import sys
from pathlib import Path

from agent.model.provider import Provider, Stream
from agent.options import Options
from agent.rpc.server import RpcServer

PIECE = "word "
USAGE = {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}


class Pieces(Stream):
    """A reply that is always there."""

    def __init__(self, count):
        super().__init__([{"type": "message_start", "usage": USAGE}])
        self._count = self._left = count

    def has_line(self):
        return True

    def take(self):
        if self.waiting:
            return super().take()
        self._left -= 1
        if self._left >= 0:
            return {"type": "text_delta", "delta": PIECE}
        content = [{"type": "text", "text": PIECE * self._count}]
        return {"type": "final", "content": content, "stop_reason": "end_turn", "usage": USAGE}


class Model(Provider):
    name = "scripted"
    error = None
    is_ready = True

    def __init__(self, count):
        self._count = count

    def request(self, _params):
        return Pieces(self._count)

    def stoppables(self):
        return ()


def main():
    count, home = int(sys.argv[1]), Path(sys.argv[2])
    options = Options(
        cwd=str(home), home=home, model="m", reply_tokens=100, system="s", discover=False, keep_session=False
    )
    server = RpcServer(options, version="0", make_provider=lambda _loop: Model(count), drain_s=0.0)
    sys.exit(server.run())


if __name__ == "__main__":
    main()
