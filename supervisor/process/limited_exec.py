"""A program: sets the limits of its own process, then becomes another program with the same environment.

It replaces the shell of `spawn_limits` if a variable has a name that shells drop. Arguments: maximum of open files,
maximum size of a file in bytes, the file by which to join a cgroup (each may be empty), `=` and the value of LC_CTYPE
(or an empty argument), then the program and its arguments. Imports nothing of zot, runs with `python -I -S`.
"""

from __future__ import annotations

import os
import resource
import signal
import sys


def main(open_files: str, file_bytes: str, join_file: str, lc_ctype: str, *argv: str) -> None:
    for kind, value, what, shown in (
        (resource.RLIMIT_CORE, "0", "core files", "0"),
        (resource.RLIMIT_NOFILE, open_files, "open files", open_files),
        (resource.RLIMIT_FSIZE, file_bytes, "file size", file_bytes),
    ):
        try:
            if value:
                resource.setrlimit(kind, (int(value), int(value)))
        except (OSError, ValueError, OverflowError):
            _warn(f"could not limit {what} to {shown}; continues without")
    if join_file:
        try:
            with open(join_file, "w") as file:
                file.write(f"{os.getpid()}\n")
        except OSError:
            _warn(f"could not join the cgroup {os.path.dirname(join_file)}; continues outside")
    # Python has changed these in its own process, and the program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.unsetenv("LC_CTYPE")
    if lc_ctype:
        os.putenv("LC_CTYPE", lc_ctype[1:])
    try:
        os.execv(argv[0], argv)  # noqa: S606  (a shell would drop variables)
    except OSError as error:
        _warn(f"{argv[0]}: {error.strerror}")
        os._exit(126)


def _warn(text: str) -> None:
    os.write(2, os.fsencode(f"zot: {text}\n"))


if __name__ == "__main__":
    main(*sys.argv[1:])
