"""The parts of the anthropic SDK that the model worker leaves out, and why each can be left out. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LEFT_OUT: Mapping[str, str] = {
    "anthropic.types": "a request is a plain dict, and the worker reads the raw events of a reply; 2,500 modules",
    "anthropic.resources.beta": "only /v1/messages is requested",
    "anthropic.resources.completions": "only /v1/messages is requested",
    "anthropic.resources.files": "only /v1/messages is requested",
    "anthropic.resources.models": "only /v1/messages is requested",
    "anthropic.resources.organization": "only /v1/messages is requested",
    "anthropic.resources.skills": "only /v1/messages is requested",
    "anthropic.resources.user_profiles": "only /v1/messages is requested",
    "anthropic.resources.messages.batches": "each request is sent at once",
    "anthropic.lib.aws": "another provider's client",
    "anthropic.lib.bedrock": "another provider's client",
    "anthropic.lib.foundry": "another provider's client",
    "anthropic.lib.google_cloud": "another provider's client",
    "anthropic.lib.vertex": "another provider's client",
    "anthropic.lib.environments": "nothing is run in an environment of the provider",
    "anthropic.lib.middleware": "no middleware is used",
    "anthropic.lib.sessions": "no session of the provider is used",
    "anthropic.lib.threads": "no thread of the provider is used",
    "anthropic.lib.tools": "the host runs the tools",
    "anthropic.lib.streaming": "the worker builds the reply itself, from the raw events",
}
"""The reason by package or module; what lies inside a package is left out with it. A name that a version of the SDK
does not have does no harm."""


def is_left_out(module: str) -> bool:
    """Whether this module, by its full name, is left out."""
    while module:
        if module in LEFT_OUT:
            return True
        module = module.rpartition(".")[0]
    return False
