"""Files that a prompt names: `@shot.png` sends the image with the prompt."""

from __future__ import annotations

import os
import re

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_NAMED = re.compile(r"(?:(?<=\s)|^)@(?:\"([^\"\n]+)\"|(\S+))")


def images_in(text: str, cwd: str) -> list[str]:
    """The paths of the images that the text names with `@`, each once. A name without a file stays a word."""
    found: dict[str, None] = {}
    for match in _NAMED.finditer(text):
        path = os.path.join(cwd, os.path.expanduser(match[1] or match[2]))
        if path.lower().endswith(IMAGES) and os.path.isfile(path):
            found[path] = None
    return list(found)


def paths_like(begun: str, cwd: str, limit: int = 200) -> list[str]:
    """The names of files and folders that begin with `begun`; folders end in a slash. Hidden ones only if a dot is
    typed."""
    head, tail = os.path.split(os.path.expanduser(begun))
    shown_head = begun[: len(begun) - len(tail)]
    found = []
    try:
        with os.scandir(os.path.join(cwd, head)) as entries:
            for entry in entries:
                if entry.name.startswith(tail) and (tail.startswith(".") or not entry.name.startswith(".")):
                    found.append(f"{shown_head}{entry.name}{'/' if entry.is_dir() else ''}")
                    if len(found) >= limit:
                        break
    except OSError:
        return []
    return sorted(found)
