"""What the children of a host find in their environment."""

from __future__ import annotations

import os

HOST_SECRETS = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_API_KEY",
        "KIMI_API_KEY",
        "MOONSHOT_API_KEY",
        "ZOTCORE_RPC_TOKEN",
    }
)
"""Not handed to extensions or shell commands; zot hands everything over."""
TOKEN = "ZOT_HOST_TOKEN"  # noqa: S105  (a name, and it opens nothing)
"""Names the host that a process belongs to, so that what outlives a killed host can be found."""
EXTENSION = "ZOT_EXTENSION"
"""Names the extension that a process belongs to."""


def child_environment() -> dict[str, str]:
    """The host's environment without what is nobody else's business: provider keys and the rpc token."""
    return {name: value for name, value in os.environ.items() if name not in HOST_SECRETS}
