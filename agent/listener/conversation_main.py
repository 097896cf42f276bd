"""The process of one conversation: the server of `zot rpc` on a connection.

A fork of the template calls `main`; where there is no template, `python -P PATH/agent/listener/conversation_main.py
CLIENT LINK` starts it. Descriptor 0 gives the order (`agent.listener.order`), 2 takes lines for the operator, CLIENT (3
in a fork) is the connection, and LINK (4) the link to the listener: requests to the model and their replies, as
`wire.batch.link` describes them; `phase` once it has begun; and `abort` from the listener, after which the conversation
is drained as at the end of its input.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `agent`.
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    sys.path[:] = [root, *(entry for entry in sys.path if entry != here)]

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.batch.run.begin import decode_request
from agent.batch.run.leased_provider import LeasedProvider
from agent.batch.run.link import BatchLink
from agent.batch.run.run_main import prefer_as_oom_victim
from agent.configure import prepare
from agent.listener.order import Order, decode_order, refusal_line
from agent.request_checks import UsageError
from agent.rpc.server import RpcServer
from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.keeper import Keeper
from supervisor.monitoring.rotated_file import StatsFileError
from wire.batch.link import RunPhase
from wire.exit_codes import Status

if TYPE_CHECKING:
    from agent.model.access import Access
    from agent.model.provider import Provider, ProviderUnavailable
    from supervisor.loop.loop import Loop

CLIENT, LINK = 3, 4
"""Descriptors of a fork."""
READ_BYTES = 64 * 1024
STOPPING = "the server is stopping"
LISTENER_GONE = "the process that listens has gone"


def main(_argument: bytes = b"", client: int = CLIENT, link: int = LINK) -> int:
    """Returns the exit status."""
    prefer_as_oom_victim()
    try:
        order = decode_order(_read_order())
    except (OSError, msgspec.DecodeError) as error:
        print(f"zot rpc: the order of a conversation cannot be read: {error}", file=sys.stderr)  # noqa: T201
        return Status.ERROR.exit_code
    return converse(order, client, BatchLink(link))


def _read_order() -> bytes:
    pieces = []
    while piece := os.read(0, READ_BYTES):
        pieces.append(piece)
    return b"".join(pieces)


def converse(order: Order, client: int, link: BatchLink, *, stderr: int = 2, owns_process: bool = True) -> int:
    """Serves the client until the end of the conversation. Returns the exit status. `owns_process` as with
    `RpcServer`."""
    link.send(RunPhase("starting"))
    os.environ[TOKEN] = order.mark
    output = os.dup(client)  # the loop watches a descriptor for one object

    def lease(_loop: Loop, access: Access) -> Provider:
        return LeasedProvider(access, link, order.name)

    try:
        prepared = prepare(decode_request(order.request), lease)

        def make_provider(loop: Loop) -> Provider | ProviderUnavailable:
            link.attach(loop)
            return prepared.make_provider(loop)

        server = RpcServer(
            replace(prepared.options, keeper=Keeper(order.mark)),
            version=order.version,
            make_provider=make_provider,
            token=order.token,
            drain_s=order.drain_s,
            stdin=client,
            stdout=output,
            stderr=stderr,
            who=f"zot rpc: conversation {os.getpid()}",
            owns_process=owns_process,
        )
    except (UsageError, StatsFileError) as error:
        print(f"zot rpc: a client was not served: {error}", file=sys.stderr)  # noqa: T201
        os.write(client, refusal_line(str(error)))
        return Status.USAGE.exit_code

    def end() -> None:
        if link.is_lost:
            server.end_at_once(LISTENER_GONE)
        else:
            server.end_input(STOPPING)

    link.on_end = end
    if link.is_lost:  # so early that nothing is told of it
        end()
    try:
        return server.run()
    finally:
        link.close()
        os.close(output)


if __name__ == "__main__":
    sys.exit(main(client=int(sys.argv[1]), link=int(sys.argv[2])))
