"""Names of staging folders. They lie beside extensions: there new extensions are assembled, and old ones removed."""

from __future__ import annotations

import re

STAGING = re.compile(r"\..+\.[0-9a-f]{8}\.(?P<kind>new|old|gone)", re.DOTALL)


def is_staging(name: str) -> bool:
    """Whether this name is the name of a staging folder, and not of an extension."""
    return STAGING.fullmatch(name) is not None
