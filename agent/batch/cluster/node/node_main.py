"""The node program: `python -P PATH/agent/batch/cluster/node/node_main.py`.

Descriptor 0 brings the frames of the driver and ends with it, 1 takes the frames for it, and 2 takes tracebacks and the
reason for an end that nobody has asked for: see `wire.batch.node_frames`. An argument is the number of a descriptor
that brings the archive of an uploaded folder, of which a copy becomes the working folder. The exit status is 0 at the
end of the input, else 1.
"""

from __future__ import annotations

import os
import runpy
import sys

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `agent`.
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(here))))
    sys.path[:] = [root, *(entry for entry in sys.path if entry != here)]

from contextlib import ExitStack
from pathlib import Path

from agent.batch.cluster.node.node import Node
from agent.batch.cluster.node.upload_copy import UnpackError, unpack
from supervisor.home.scratch import scratch_folder
from supervisor.loop.loop import Loop

PURPOSE = "upload"
"""Of the copy: one that a killed node program has left is removed by the next one."""
VERSION_FILE = Path(__file__).resolve().parents[4] / "cli" / "version.py"


def own_streams() -> tuple[int, int]:
    """Descriptors for the frames, in and out. Nothing that this process imports or starts has them: 0 becomes
    /dev/null, and 1 goes where 2 goes."""
    frames_in, frames_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return frames_in, frames_out


def take_upload(fd: int, exits: ExitStack) -> str:
    """Unpacks the archive into a new folder, which becomes the working folder and is deleted with `exits`. Returns why
    this cannot be done; empty if it is done."""
    try:
        copy = exits.enter_context(scratch_folder(PURPOSE))
        exits.callback(os.chdir, "/")
        unpack(fd, copy)
        os.chdir(copy)
    except (UnpackError, OSError) as error:
        return (
            f"the uploaded folder cannot be unpacked: {error}: is there room in its folder for temporary files, TMPDIR?"
        )
    return ""


def main() -> int:
    """Returns the exit status."""
    frames_in, frames_out = own_streams()
    version = runpy.run_path(str(VERSION_FILE))["VERSION"]
    with ExitStack() as exits:
        refusal = take_upload(int(sys.argv[1]), exits) if len(sys.argv) > 1 else ""
        node = Node(Loop(), frames_in, frames_out, version, refusal=refusal)
        node.run()
    if node.fault:
        print(f"zot: the node program ends: {node.fault}", file=sys.stderr)  # noqa: T201
    return 1 if node.fault else 0


if __name__ == "__main__":
    sys.exit(main())
