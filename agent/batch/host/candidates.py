"""Which extensions of a batch may be shared by its runs, as far as manifests and flags say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agent.request_checks import UsageError
from supervisor.discovery.discover import McpFiles, discover
from supervisor.home.config import ConfigError, load_config
from supervisor.sharing.offers import may_be_shared
from wire.batch.host_lines import HostOrder
from wire.suggestions import join_names, no_such

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.batch.batch_trace import BatchTrace
    from agent.batch.request import BatchRequest
    from wire.batch.host_lines import Serving

SHOWN = 10
"""Maximum number of names in a line."""


def host_order(request: BatchRequest, home: Path, version: str, trace: BatchTrace | None = None) -> HostOrder | None:
    """The order for the host of a batch. None if no extension may be shared, or the runs use another host. Reads
    manifests, and judges no trust: the host does. Raises `UsageError` for a name of `--share` that is not there."""
    run = request.run
    if run.host is not None:
        if request.share:
            raise UsageError("--share has no effect with --host: give it to the zot host")
        return None
    folder = Path(run.cwd or os.getcwd()).absolute()
    within = folder if run.discover else None
    found = discover(
        run.extensions, within, home if run.discover else None, None, McpFiles(folder, run.mcp_configs), home
    ).found
    for name in request.share:
        if all(name not in each.names for each in found):
            raise UsageError(f"--share: {no_such('extension', name, [each.manifest.name for each in found])}")
    try:
        settings = load_config(home)
    except ConfigError:
        return None  # each run says why it cannot start
    if not any(may_be_shared(each, (*request.share, *settings.share)) for each in found):
        return None
    return HostOrder(
        version=version, home=str(home), cwd=str(folder), extensions=run.extensions, mcp_configs=run.mcp_configs,
        discover=run.discover, trust_project=run.trust_project, trusted_content=run.trusted_content,
        strict_guards=run.strict_guards,
        allow_asked=run.allow_asked, profile_on_stall=run.profile_on_stall, share=request.share,
        trace="" if trace is None else trace.path, alerts="" if trace is None else trace.inbox,
    )  # fmt: skip


def shared_words(line: Serving) -> Iterator[str]:
    """Lines for the user about the extensions that are shared, and about those that turned out to be private."""
    if line.shared:
        each = "" if len(line.shared) == 1 else " each"
        yield f"one process{each} of {join_names(line.shared, SHOWN)} serves all runs"
    if line.leased:
        yield f"processes of {join_names(line.leased, SHOWN)} serve one run after another"
    for name, why in line.private.items():
        yield f"extension {name} is not shared: {why}"
