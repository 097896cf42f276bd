"""Replaces the content of a file atomically: after a failure it has the old or the new content, never a mix.

zot truncates the file and writes into it; a full disk or a kill in between leaves half a file.
"""

from __future__ import annotations

import errno
import os
import stat

from agent.tools.files.place import FilePlace
from agent.tools.files.regular_file import require_regular
from agent.tools.outcome import os_failure

_NO_SIBLING = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV})
"""Errors for a writable file in a directory that is not writable, and for a file that is a mount point."""


def replace_file(file: FilePlace | str, data: bytes, *, mode: int = 0o644) -> None:
    """Make `data` the content of `file`, a place or a path; its directory must exist. Raises ToolError.

    A symbolic link stays and its target is written. Mode, owner, ACLs and other attributes of an existing
    file stay; a new file gets `mode` less the umask. A file that may not be written is refused even where its
    directory would allow replacing it.

    The content goes to a temporary file beside the target, which is synced and renamed over the target. The file is
    written in place, after room has been reserved, if renaming would change more than the content (hard links, an owner
    that cannot be kept) or is impossible (no right to write the directory, a file that is a mount point).
    """
    place = FilePlace(file, file) if isinstance(file, str) else file
    try:
        target = place.target or os.path.realpath(place.file)
        try:
            if place.is_missing:
                raise FileNotFoundError
            status = os.stat(place.file)
        except FileNotFoundError:
            _rename_over(target, data, None, mode)
            return
        if not stat.S_ISDIR(status.st_mode):  # open() itself refuses a directory, in zot's words
            require_regular(place.shown, status.st_mode)
        descriptor = os.open(place.file, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            status = os.fstat(descriptor)
            require_regular(place.shown, status.st_mode)
            if status.st_nlink > 1 or not _rename_over(target, data, status, like=place.file):
                _overwrite(descriptor, data, status.st_size)
        finally:
            os.close(descriptor)
    except OSError as error:
        verb = "write" if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO} else "open"
        raise os_failure(verb, place.shown, error) from None


def _rename_over(target: str, data: bytes, old: os.stat_result | None, mode: int = 0o644, *, like: str = "") -> bool:
    """Replace `target` by a new file like `old`, which is at `like`. False, with nothing changed, if that cannot be
    done."""
    temporary = os.path.join(os.path.dirname(target), f".zot-{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(temporary, flags, 0o600 if old else mode)
    except OSError as error:
        if old and error.errno in _NO_SIBLING:
            return False
        raise
    renamed = False
    try:
        try:
            if old:
                _copy_attributes(like, descriptor, old)
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
        renamed = True
    except OSError as error:
        if not old or error.errno not in _NO_SIBLING:
            raise
    finally:
        if not renamed:
            os.unlink(temporary)
    return renamed


def _copy_attributes(source: str, descriptor: int, old: os.stat_result) -> None:
    """Copies owner, mode and, where the system has them, extended attributes, such as ACLs."""
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
    for name in os.listxattr(source) if hasattr(os, "listxattr") else ():
        try:
            os.setxattr(descriptor, name, os.getxattr(source, name))
        except OSError:
            pass  # the system sets some attributes itself, also for the new file


def _overwrite(descriptor: int, data: bytes, old_size: int) -> None:
    """Write `data` in place. On a full disk it fails before the old content is touched."""
    if len(data) > old_size and hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, old_size, len(data) - old_size)
        except OSError as error:
            os.ftruncate(descriptor, old_size)
            if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP}:
                raise
    _write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
