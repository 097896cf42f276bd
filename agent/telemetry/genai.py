"""The names of OpenTelemetry's conventions for generative AI, version 0.1.0, which builds on version 1.45.0 of the
general ones, and the words of zot for the same things. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.telemetry.error_types import CANCELLED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from wire.events import Totals
    from wire.traces.span import Value

AGENT = "zot"
"""The name of the agent."""

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_VERSION = "gen_ai.agent.version"
CONVERSATION = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
MAX_TOKENS = "gen_ai.request.max_tokens"
STREAM = "gen_ai.request.stream"
REASONING_LEVEL = "gen_ai.request.reasoning.level"
RESPONSE_ID = "gen_ai.response.id"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK_S = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_write.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
SERVER_ADDRESS, SERVER_PORT = "server.address", "server.port"
HTTP_STATUS = "http.response.status_code"

COST_USD = "zot.cost_usd"
STATUS, EXIT_CODE, STEPS = "zot.status", "zot.exit_code", "zot.steps"
EXTENSION = "zot.extension.name"
ORIGIN = "zot.tool.origin"
"""The extension that makes a call, or `client`; missing for calls of the model."""
CONTENT_CUT = "zot.content_cut"
"""Whether a content is longer than may be sent, and a part of it is left out."""

FINISHES: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""The conventions' words for the stop reasons of the Messages API; any other stop reason keeps its own."""
OUTCOMES: Mapping[str, str] = {"blocked": "blocked", "cancelled": CANCELLED, "timed_out": "timeout"}
"""The `error.type` of other calls, by their outcome."""


def usage(used: Totals) -> dict[str, Value | None]:
    """The attributes for these tokens. The conventions count cached tokens as input, too; the Messages API does not."""
    return {
        INPUT_TOKENS: used.input + used.cache_read + used.cache_write,
        OUTPUT_TOKENS: used.output,
        CACHE_READ_TOKENS: used.cache_read or None,
        CACHE_WRITE_TOKENS: used.cache_write or None,
        REASONING_TOKENS: used.reasoning,
        COST_USD: used.cost_usd,
    }


def request(params: Mapping[str, Any]) -> dict[str, Value | None]:
    """The attributes of a request with these parameters of the Messages API."""
    return {
        OPERATION: "chat",
        REQUEST_MODEL: str(params["model"]),
        MAX_TOKENS: params.get("max_tokens"),
        STREAM: True,
        REASONING_LEVEL: params.get("output_config", {}).get("effort"),
    }


def server(url: str) -> dict[str, Value | None]:
    """The attributes of a server with this address, which has no user name and no password; none for an empty one."""
    scheme, _, rest = url.partition("://")
    host, _, port = rest.partition("/")[0].rpartition(":")
    if not host or not port.isdecimal():
        host, port = rest.partition("/")[0], "443" if scheme == "https" else "80"
    return {SERVER_ADDRESS: host.strip("[]"), SERVER_PORT: int(port)} if host else {}
