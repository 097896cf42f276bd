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
