"""Names of staging folders, which lie beside extensions: new ones are assembled there, and old ones removed."""

from __future__ import annotations

import re

STAGING = re.compile(r"\..+\.[0-9a-f]{8}\.(?P<kind>new|old|gone)", re.DOTALL)


def is_staging(name: str) -> bool:
    """Whether this is the name of a staging folder and not of an extension."""
    return STAGING.fullmatch(name) is not None
