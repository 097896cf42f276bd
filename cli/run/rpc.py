"""`zot rpc`: a program drives the agent by stdin and stdout."""

from __future__ import annotations

import os
import sys
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


def serve(request: RunRequest, words: tuple[str, ...], *, drain_s: float | None, no_stdin: bool = False) -> int:
    """Returns the exit status. The token leaves the environment of this process, so that no child has it."""
    token = os.environ.pop("ZOTCORE_RPC_TOKEN", "")
    try:
        if words:
            raise UsageError(f"rpc takes no prompt: {words[0]!r}; prompts come as lines on stdin")
        if no_stdin or request.api_key_file == STDIN:
            raise UsageError("rpc reads requests from stdin: leave out --no-stdin and --api-key-file -")
        prepared = prepare(request)
        server = RpcServer(
            prepared.options,
            version=VERSION,
            make_provider=prepared.make_provider,
            session=prepared.session,
            token=token,
            drain_s=DRAIN_S if drain_s is None else drain_s,
        )
    except (UsageError, StatsFileError) as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    return server.run()
