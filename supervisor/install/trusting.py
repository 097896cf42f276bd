"""What installing a project's extension means for whether it is trusted: who installs it has decided that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.discovery.content_hash import ContentError
from supervisor.discovery.trust_store import TrustError, TrustStore

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.trust_store import Judged
    from supervisor.install.installed import Installed


def trust(one: Installed, home: Path) -> str:
    """Records that the user trusts a project's extension as it is now; why that cannot be done, "" if it is."""
    if one.manifest is None:
        return one.trouble
    try:
        TrustStore(home).trust(one.folder, one.manifest)
    except (TrustError, ContentError) as error:
        return str(error)
    return ""


def is_trusted(one: Installed, home: Path) -> bool:
    """Whether it would be started without a question."""
    return one.found is not None and TrustStore(home).judge(one.found).is_trusted


def standing(one: Installed, home: Path) -> Judged | None:
    """None for one that cannot be started at all."""
    return None if one.found is None else TrustStore(home).judge(one.found)
