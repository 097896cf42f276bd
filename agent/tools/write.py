"""The `write` tool: writes a whole file, and makes its parent directories."""

from __future__ import annotations

import os
import stat

from agent.tools import arguments
from agent.tools.files.place import find_place
from agent.tools.files.user_file import replace_file
from agent.tools.outcome import ToolOutput, os_failure


def run(args: arguments.Arguments, cwd: str, root: str = "") -> ToolOutput:
    """Write all of `content` to `path`, or nothing; missing is empty. With a `root` only beneath it. The result is the
    content. Raises ToolError."""
    _, path = arguments.path(args, cwd)
    content = arguments.text(args, "content")
    if not root:
        _make_directories(os.path.dirname(path))
    with find_place(path, root, makes_folders=True) as place:
        replace_file(place, content.encode())
    return ToolOutput.of_text(content)


def _make_directories(directory: str) -> None:
    """Create `directory` and its missing parents, all 0755 less the umask.

    Unlike an error of os.makedirs, the ToolError names the part of the path that is not a directory.
    """
    missing = []
    while True:
        try:
            mode = os.stat(directory).st_mode
            break
        except (FileNotFoundError, NotADirectoryError):
            missing.append(directory)
            directory = os.path.dirname(directory)
        except OSError as error:
            raise os_failure("mkdir", directory, error) from None
    if not stat.S_ISDIR(mode):
        raise os_failure("mkdir", directory, NotADirectoryError(0, "not a directory"))
    for path in reversed(missing):
        try:
            os.mkdir(path, 0o755)
        except FileExistsError:
            pass  # another process was quicker; if that is no directory, writing the file fails
        except OSError as error:
            raise os_failure("mkdir", path, error) from None
