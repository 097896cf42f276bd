"""The command line of a batch: the options of `Batch` as the flags of `zot batch`. Does no I/O."""

from __future__ import annotations

from ..connection.command_line import PARAMETERS, checked, no_such_option, written
from ..flags import BATCH, PLACE, TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..flags import BatchFlags, Place

    class BatchOptions(BatchFlags, total=False):
        """The options of a batch: the flags of `zot batch`, by their names, and two more."""

        cwd: Place
        """Where relative paths start. Default: the working directory of this process."""
        api_key: str
        """Goes to the batch in its environment: `ps` does not show it."""


UNWRITTEN = {"api_key": TEXT, "cwd": PLACE}
"""Options that are no flags: the key is in the environment, and the process starts in the folder."""


def command(
    options: Mapping[str, Any], folder: Place, program: Sequence[str], *, with_events: bool, is_quiet: bool
) -> list[str]:
    """The command of a batch whose tasks come on stdin: `program` with `batch` and the flags. An option that is None is
    not given. Raises `TypeError` for an option that does not exist, and for a value of another type."""
    given = dict(options)
    for name, kind in UNWRITTEN.items():
        if (value := given.pop(name, None)) is not None:
            checked(name, kind, value)
    found = [*program, "batch", "-", "--json", f"--output={checked('folder', PLACE, folder)}"]
    if not with_events:
        found.append("--no-events")
    if is_quiet:
        found.append("--quiet")
    for name, value in given.items():
        if name not in BATCH:
            raise no_such_option(name, {*BATCH, *UNWRITTEN, *PARAMETERS})
        if value is not None:
            found += written(name, BATCH[name], value)
    return found
