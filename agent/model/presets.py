"""The providers for `--provider`: servers of the Messages API, each with its address and its key.

The own documentation of each describes `POST /v1/messages`; docs/models.md has the sources, and says which were tried.
A user adds others in `models.json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.model.catalogue import DEFAULT_MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping


class Preset(msgspec.Struct, frozen=True):
    """The facts about a provider that are known without its server."""

    name: str
    url: str
    """The address to which `/v1/messages` is added."""
    title: str
    """A description in a few words."""
    key_variable: str
    needs_key: bool
    """Whether every request to `url` needs a credential."""
    token_variable: str = ""
    url_variable: str = ""
    default_model: str | None = None
    is_users: bool = False
    """Whether only the user's `models.json` has it."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that may have its credential."""
        return tuple(filter(None, (self.key_variable, self.token_variable)))

    @property
    def login_command(self) -> str:
        return "zot login" if self.name == ANTHROPIC.name else f"zot login {self.name}"

    @property
    def how_to_give_a_credential(self) -> str:
        return f"run {self.login_command}, set {' or '.join(self.variables)}, or pass --api-key-file FILE"


ANTHROPIC = Preset(
    "anthropic",
    "https://api.anthropic.com",
    "Anthropic's own API",
    "ANTHROPIC_API_KEY",
    needs_key=True,
    token_variable="ANTHROPIC_AUTH_TOKEN",  # noqa: S106  the name of a variable
    url_variable="ANTHROPIC_BASE_URL",
    default_model=DEFAULT_MODEL,
)

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        ANTHROPIC,
        Preset("ollama", "http://localhost:11434", "Ollama on this machine", "OLLAMA_API_KEY", needs_key=False),
        Preset("lmstudio", "http://localhost:1234", "LM Studio on this machine", "LM_API_TOKEN", needs_key=False),
        Preset("llama.cpp", "http://localhost:8080", "llama-server on this machine", "LLAMA_API_KEY", needs_key=False),
        Preset("vllm", "http://localhost:8000", "vLLM on this machine", "VLLM_API_KEY", needs_key=False),
        Preset(
            "litellm",
            "http://localhost:4000",
            "a LiteLLM proxy",
            "LITELLM_API_KEY",
            needs_key=False,
            url_variable="LITELLM_PROXY_URL",
        ),
        Preset("openrouter", "https://openrouter.ai/api", "OpenRouter", "OPENROUTER_API_KEY", needs_key=True),
        Preset(
            "vercel-ai-gateway",
            "https://ai-gateway.vercel.sh",
            "Vercel AI Gateway",
            "AI_GATEWAY_API_KEY",
            needs_key=True,
        ),
    )
}
"""By name."""


def users_preset(name: str, url: str) -> Preset:
    """A provider of the user's own; its key is in a variable with its name, as in zot: `my-company` has
    `MY_COMPANY_API_KEY`. It may need none."""
    prefix = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name.upper()).strip("_")
    variable = f"{prefix or 'ZOT'}_API_KEY"
    if variable[0].isdigit():
        variable = f"_{variable}"
    return Preset(name, url, "from models.json", variable, needs_key=False, is_users=True)
