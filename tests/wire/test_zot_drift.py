"""The frames, fields and events of zot's documents, as read on 24 November 2026 at the commit 37c7945, with those that
are not known here, and those that only we have. Later documents are compared with these tables."""

from __future__ import annotations

import pytest

from wire import frames
from wire.dialects.base import EVENTS, HOOK_POINTS
from zotext import EVENTS as SDK_EVENTS
from zotext.tools import EXPOSURES

EXTENSION = {
    "hello": "name version capabilities",
    "register_command": "name description",
    "register_tool": "name description schema output_schema namespace namespace_description namespace_instructions"
    " exposure deferred interactive",
    "ready": "",
    "subscribe": "events intercept",
    "event_intercept_response": "id block reason modified_args replace_text system_prompt",
    "tool_result": "id content is_error activate_tools structured_content",
    "command_response": "id action prompt tool_name tool_args insert display open_panel error",
    "open_panel": "panel",
    "panel_render": "panel_id title lines footer",
    "panel_close": "panel_id",
    "notify": "level message",
    "clear_notes": "",
    "submit_slash": "text",
    "submit": "text",
    "call_tool": "id name args parent_id",
    "call_tool_cancel": "id",
    "shutdown_ack": "",
}
HOST = {
    "hello_ack": "protocol_version capabilities zot_version provider model cwd extension_dir data_dir",
    "command_invoked": "id name args",
    "tool_cancel": "id",
    "tool_call": "id name args",
    "tool_result": "id name content is_error truncated",
    "event": "session_id agent_run_id queued image_count cwd sequence status reason source decision stage result"
    " executed compaction_id message_count token_estimate agent_id origin_extension name event step stop error tool_id"
    " tool_name tool_args tool_preview tool_args_raw text",
    "event_intercept": "system_prompt origin_extension session_id agent_run_id cwd provider model id event tool_id"
    " tool_name tool_args step text",
    "panel_key": "panel_id key text",
    "panel_resize": "panel_id width height",
    "panel_close": "panel_id",
    "shutdown": "",
}
NOT_HERE = {
    ("event", "agent_id"): "no agent here has subagents",
    ("event", "name"): "no agent here has subagents",
    ("event", "tool_preview"): "nobody here is asked to confirm a call",
}
"""Fields that we do not have on purpose, and why."""
SHARED = "several runs share an extension, or one has it after another; zot has one session for each process"
RICHER = "a verdict says more than to block or to change, at more points than zot asks at"
CALLS = "calls end early, report, and are repeated by what a tool says of itself"
TOLD = "events that zot does not tell, and facts beside those that it tells"
TRACES = "a trace goes on in the processes that answer"
HEALTH = "a host asks whether it is still there, and keeps a log for it"
OURS = {
    "extension": {
        SHARED: "hello.features lease_ready tool_result.session_id command_response.session_id"
        " event_intercept_response.session_id notify.session_id clear_notes.session_id submit.session_id"
        " call_tool.session_id open_panel.session_id panel_render.session_id panel_close.session_id",
        RICHER: "event_intercept_response.additional_context event_intercept_response.ask"
        " event_intercept_response.error_handling event_intercept_response.modified_result"
        " event_intercept_response.notification event_intercept_response.retry_count"
        " event_intercept_response.session_summary",
        CALLS: "register_tool.idempotent register_tool.read_only register_tool.replay register_tool.retry"
        " register_tool.timeout_s unregister_tool tool_progress",
        HEALTH: "log pong",
    },
    "host": {
        SHARED: "command_invoked.session_id command_invoked.cwd tool_call.session_id tool_call.cwd"
        " lease_begin lease_end panel_key.session_id panel_close.session_id panel_resize.session_id",
        RICHER: "event_intercept.content event_intercept.error event_intercept.error_context event_intercept.files"
        " event_intercept.is_error event_intercept.reason event_intercept.recoverable event_intercept.sender"
        " event_intercept.source",
        CALLS: "cancel",
        TOLD: "event.content event.error_context event.files event.is_error event.model event.provider"
        " event.recoverable event.sender event.system_prompt event.tokens",
        TRACES: "tool_call.traceparent tool_call.tracestate",
        HEALTH: "hello_ack.features ping",
    },
}
"""Frames and fields that zot does not have, by their reason. zot ignores them, and an extension without them works."""
OBSERVED = {
    "session_start", "session_end", "user_prompt_submit", "turn_start", "turn_end", "tool_call", "tool_result",
    "assistant_message", "tool_confirmation_requested", "permission_decision", "pre_compact", "post_compact",
    "subagent_start", "subagent_stop",
}  # fmt: skip
GUARDED = {"before_agent_start", "tool_call", "turn_start", "assistant_message"}
KNOWN = {
    "extension": {cls.__struct_config__.tag: cls for cls in frames.FromExtension.__args__},
    "host": {cls.__struct_config__.tag: cls for cls in frames.FromHost.__args__},
}


@pytest.mark.parametrize(("side", "table"), [("extension", EXTENSION), ("host", HOST)], ids=str)
def test_each_frame_and_field_of_zot_is_known_or_left_out_for_a_reason(side: str, table: dict[str, str]):
    for kind, fields in table.items():
        missing = set(fields.split()) - set(KNOWN[side][kind].__struct_fields__)
        assert missing == {field for frame, field in NOT_HERE if frame == kind and side == "host"}, kind


@pytest.mark.parametrize(("side", "table"), [("extension", EXTENSION), ("host", HOST)], ids=str)
def test_each_frame_and_field_that_zot_does_not_have_is_there_for_a_reason(side: str, table: dict[str, str]):
    added = {kind for kind in KNOWN[side] if kind not in table}
    for kind, cls in KNOWN[side].items():
        if kind in table:
            added |= {f"{kind}.{field}" for field in cls.__struct_fields__ if field not in table[kind].split()}
    assert added == set(" ".join(OURS[side].values()).split())


def test_each_event_of_zot_can_be_observed_and_guarded_and_the_sdk_has_a_name_for_it():
    assert OBSERVED <= EVENTS
    assert set(SDK_EVENTS) >= OBSERVED
    assert GUARDED <= HOOK_POINTS


def test_the_ways_of_offering_a_tool_are_those_of_zot():
    assert EXPOSURES == ("direct", "deferred", "codemode", "model-only")
