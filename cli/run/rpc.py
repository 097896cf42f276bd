"""`zot rpc`: a program drives the agent by stdin and stdout; with `--listen` many do, by a Unix socket."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.configure import prepare
from agent.request_checks import UsageError
from agent.rpc.server import RpcServer
from cli.run.prompt import STDIN
from cli.version import VERSION
from supervisor.monitoring.rotated_file import StatsFileError
from wire.exit_codes import Status

if TYPE_CHECKING:
    from agent.options import RunRequest

DRAIN_S = 30.0


def serve(
    request: RunRequest,
    words: tuple[str, ...],
    *,
    drain_s: float | None,
    no_stdin: bool = False,
    listen: str | None = None,
) -> int:
    """Returns the exit status. The token leaves the environment of this process, so that no child has it."""
    token = os.environ.pop("ZOTCORE_RPC_TOKEN", "")
    drain_s = DRAIN_S if drain_s is None else drain_s
    try:
        if words:
            raise UsageError(f"rpc takes no prompt: {words[0]!r}; prompts come as lines on {_source(listen)}")
        if listen is not None:
            return _listen(listen, request, token=token, drain_s=drain_s)
        if no_stdin or request.api_key_file == STDIN:
            raise UsageError("rpc reads requests from stdin: leave out --no-stdin and --api-key-file -")
        prepared = prepare(request)
        server = RpcServer(
            prepared.options,
            version=VERSION,
            make_provider=prepared.make_provider,
            session=prepared.session,
            token=token,
            drain_s=drain_s,
        )
    except (UsageError, StatsFileError) as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    return server.run()


def _source(listen: str | None) -> str:
    return "stdin" if listen is None else "the socket"


def _listen(path: str, request: RunRequest, *, token: str, drain_s: float) -> int:
    """Serves many clients at `path`. Returns the exit status: 0 after a stop, 130 if a second signal cut it short, 1 if
    another process listens there. Raises `UsageError`."""
    from agent.listener.listener import RpcListener
    from supervisor.control.named_socket import InUseError, UnusablePathError
    from supervisor.process import fd_limit

    _check_for_many(path, request)
    fd_limit.check_least()
    options = prepare(request).options  # each conversation does so again: wrong flags are to be known now
    listener = RpcListener(
        Path(os.path.abspath(path)), request, cwd=options.cwd, home=options.home, version=VERSION, token=token,
        drain_s=drain_s,
    )  # fmt: skip
    try:
        return Status.OK.exit_code if listener.run() else Status.INTERRUPTED.exit_code
    except InUseError as error:
        print(f"zot: --listen: {error}", file=sys.stderr)  # noqa: T201
        return Status.ERROR.exit_code
    except UnusablePathError as error:
        raise UsageError(f"--listen: {error}") from None


def _check_for_many(path: str, request: RunRequest) -> None:
    """Raises `UsageError` for flags that many conversations cannot share."""
    if not path or path.endswith("/"):
        raise UsageError(f"--listen: {path!r} is not the path of a socket")
    if request.api_key_file == STDIN:
        raise UsageError("--api-key-file - has no effect with --listen: each conversation reads the file; name one")
    if request.continue_last or request.fork or (request.resume, request.session) != (None, None):
        raise UsageError(
            "with --listen each client has a conversation of its own: leave out --continue, --resume, --session and"
            " --fork; a client goes on with a session by the request resume"
        )
    for flag, file in (("--record", request.record), ("--stats", request.stats), ("--metrics", request.metrics)):
        if file is not None:
            raise UsageError(f"{flag} names one file, and --listen serves many conversations: leave it out")
