"""The program of a listener's template: `python -P PATH/agent/listener/template_main.py FD`, as
`supervisor.template.client.Template` starts it.

Its forks are conversations and model workers. It imports and tries out what both need before it serves, as the template
of a batch does.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `agent`.
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    sys.path[:] = [root, *(entry for entry in sys.path if entry != here)]

import importlib
import pkgutil
import socket
from typing import NoReturn

import agent.rpc
from agent.batch.run import template_main
from agent.batch.run.begin import encode_request
from agent.batch.run.link import BatchLink
from agent.batch.run.rehearsal import TOKEN
from agent.listener import conversation_main
from agent.listener.order import Order
from agent.options import RunRequest
from supervisor.home.scratch import scratch_folder
from supervisor.preload import preload, preload_dialects
from supervisor.template.server import serve

LINES = b'{"type":"hello"}\n{"type":"get_state"}\n{"type":"ping"}\n'
"""The requests of a rehearsal."""


def prepare() -> None:
    for module in pkgutil.walk_packages(agent.rpc.__path__, "agent.rpc."):
        importlib.import_module(module.name)
    preload()
    preload_dialects()
    template_main.prepare()
    try:
        rehearse()
    except OSError:
        pass  # as with a full /tmp: conversations begin more slowly, and work as well


def rehearse() -> None:
    """Serves a client that says three lines and leaves. Raises `OSError`."""
    environ = dict(os.environ)
    with scratch_folder("rehearsal") as folder, open(os.devnull, "wb", buffering=0) as null:
        os.environ.pop("XDG_RUNTIME_DIR", None)  # no `zot ps` sees it
        request = RunRequest(
            home=folder / "home", cwd=str(folder), discover=False, keep_session=False, provider="anthropic",
            base_url="http://localhost:1",
        )  # fmt: skip
        ours, client = socket.socketpair()
        link, theirs = socket.socketpair()
        order = Order(encode_request(request), "", TOKEN, "0", "0", 0.0)
        try:
            with ours, client, link:
                client.sendall(LINES)
                client.shutdown(socket.SHUT_WR)
                conversation_main.converse(
                    order, ours.fileno(), BatchLink(theirs.detach()), stderr=null.fileno(), owns_process=False
                )
        finally:
            os.environ.clear()
            os.environ.update(environ)


def main() -> NoReturn:
    prepare()
    serve(
        int(sys.argv[1]),
        {"conversation": conversation_main.main, "model_worker": template_main.model_worker},
    )


if __name__ == "__main__":
    main()
