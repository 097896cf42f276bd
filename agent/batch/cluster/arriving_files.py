"""The files that runs have written on their nodes, on their way into RUNDIR. A file has its name there once it is
whole."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from agent.batch.journal.errors import FolderError
from agent.batch.journal.rundir_files import IN_DIFFS, open_rundir_file
from supervisor.home.safe_files import sync, sync_folder, write_all
from wire.batch.node_frames import FrameError

if TYPE_CHECKING:
    from pathlib import Path

    from agent.batch.journal.folder import RunFolder
    from wire.batch.node_frames import File


class _Arriving:
    """The file of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.with_name(f".{path.name}.new")  # as `safe_files.replacement` names it
        self.fd = -1
        """Of the part; -1 without one."""

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class ArrivingFiles:
    """Each run may write one file, `diffs/NAME.diff` of its task. Others are refused: a node with a fault writes
    nowhere else."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._runs: dict[str, _Arriving] = {}

    def expect(self, run: str, task: str) -> None:
        """The run of this task begins."""
        self._runs[run] = _Arriving(self._folder.diff(task))

    def take(self, frame: File) -> None:
        """Writes a piece. Raises `FrameError` for one that is not of the run's file, `FolderError`, `OSError`; after
        the last two the pieces that follow are dropped."""
        arriving = self._runs.get(frame.run)
        if arriving is None:
            return
        if frame.name != f"{arriving.path.parent.name}/{arriving.path.name}":
            raise FrameError(f"a file {frame.name!r}, which is not the run's")
        if frame.is_first != (arriving.fd < 0):
            raise FrameError(f"a piece of {frame.name} out of its place")
        try:
            self._write(arriving, frame)
        except (FolderError, OSError):
            self.end(frame.run)
            raise

    @staticmethod
    def _write(arriving: _Arriving, frame: File) -> None:
        if frame.is_first:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            arriving.fd = open_rundir_file(arriving.part, flags, depth=IN_DIFFS)
        write_all(arriving.fd, frame.data)
        if frame.is_last:
            sync(arriving.fd)
            arriving.close()
            os.replace(arriving.part, arriving.path)
            sync_folder(arriving.path.parent)

    def end(self, run: str) -> None:
        """The run is over: a part of a file goes."""
        arriving = self._runs.pop(run, None)
        if arriving is not None and arriving.fd >= 0:
            arriving.close()
            with suppress(OSError):  # a folder that takes nothing any longer keeps it
                arriving.part.unlink()
