/** The frames of the extension protocol, version 1. A frame is one JSON object per line, with a `type`. */
import type { Json, JsonObject } from './json.js';
export interface TextBlock {
    type: 'text';
    text: string;
    /** A screen may show it as such; the model gets the text as it is. */
    format?: 'markdown';
}
export interface ImageBlock {
    type: 'image';
    mime_type: string;
    /** Base64. */
    data: string;
}
export type ContentBlock = TextBlock | ImageBlock;
export interface PanelFields {
    title?: string;
    lines?: string[];
    footer?: string;
}
/** Ways of offering a tool; `codemode` counts like `direct` here. */
export type Exposure = 'direct' | 'deferred' | 'codemode' | 'model-only';
/** Events that `on` takes. */
export type EventName = 'session_start' | 'user_prompt' | 'turn_start' | 'assistant_message' | 'tool_call' | 'tool_result' | 'turn_end' | 'error' | 'idle' | 'session_end' | 'user_prompt_submit' | 'tool_confirmation_requested' | 'permission_decision' | 'pre_compact' | 'post_compact' | 'subagent_start' | 'subagent_stop';
/** Points at which a guard can be asked. */
export type GuardedName = 'user_prompt' | 'turn_start' | 'assistant_message' | 'tool_call' | 'tool_result' | 'before_agent_start';
/** How a tool call, or the summary of a conversation, has ended. */
export type Outcome = 'completed' | 'failed' | 'blocked' | 'cancelled' | 'timed_out';
export type NoteLevel = 'info' | 'success' | 'warn' | 'error';
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
/** Keys of a panel. A typed character is a `rune`; `text` has it. */
export type KeyName = 'up' | 'down' | 'left' | 'right' | 'enter' | 'esc' | 'tab' | 'backspace' | 'delete' | 'home' | 'end' | 'pageup' | 'pagedown' | 'rune' | 'unknown';
interface EventFields extends OfSession {
    event: string;
    step?: number;
    stop?: string;
    error?: string;
    tool_id?: string;
    tool_name?: string;
    tool_args?: JsonObject;
    text?: string;
    is_error?: boolean;
    content?: ContentBlock[];
    source?: string;
    reason?: string;
    error_context?: 'model_call' | 'tool_execution' | 'system' | 'user_input';
    recoverable?: boolean;
    origin_extension?: string;
    agent_run_id?: string;
    provider?: string;
    model?: string;
    system_prompt?: string;
}
export interface HelloAckFrame {
    type: 'hello_ack';
    protocol_version: number;
    zot_version: string;
    provider: string;
    model: string;
    cwd: string;
    extension_dir?: string;
    data_dir?: string;
    capabilities?: string[];
    features?: string[];
}
/** The session of a run, and its folder, in a process that several runs share. */
interface OfSession {
    session_id?: string;
    cwd?: string;
}
export interface CommandInvokedFrame extends OfSession {
    type: 'command_invoked';
    id: string;
    name: string;
    args?: string;
}
export interface ToolCallFrame extends OfSession {
    type: 'tool_call';
    id: string;
    name: string;
    args: JsonObject;
}
export interface CancelFrame {
    type: 'cancel';
    id: string;
    reason?: string;
}
/** zot's own word for `cancel`. */
export interface ToolCancelFrame {
    type: 'tool_cancel';
    id: string;
}
/** The answer to a `call_tool`. */
export interface CalledToolResultFrame {
    type: 'tool_result';
    id: string;
    name: string;
    content?: ContentBlock[];
    is_error?: boolean;
    truncated?: boolean;
}
export interface EventFrame extends EventFields {
    type: 'event';
    sequence?: number;
    queued?: boolean;
    image_count?: number;
    tool_args_raw?: string;
    tool_preview?: string;
    status?: Outcome;
    executed?: boolean;
    result?: {
        content?: ContentBlock[];
        is_error?: boolean;
        truncated?: boolean;
    };
    decision?: 'approved' | 'denied' | 'cancelled';
    stage?: 'pre_execution' | 'tool_execution';
    compaction_id?: string;
    message_count?: number;
    token_estimate?: number;
    agent_id?: string;
}
export interface EventInterceptFrame extends EventFields {
    type: 'event_intercept';
    id: string;
}
export interface PanelKeyFrame extends OfSession {
    type: 'panel_key';
    panel_id: string;
    key: KeyName;
    text?: string;
}
export interface PanelResizeFrame extends OfSession {
    type: 'panel_resize';
    panel_id: string;
    width: number;
    height: number;
}
export interface PanelCloseFrame extends OfSession {
    type: 'panel_close';
    panel_id: string;
}
/** From now on the extension serves this session alone; answered by `lease_ready`. */
export interface LeaseBeginFrame extends OfSession {
    type: 'lease_begin';
    id: string;
    session_id: string;
}
export interface LeaseEndFrame extends OfSession {
    type: 'lease_end';
    id: string;
    session_id: string;
}
export interface ShutdownFrame {
    type: 'shutdown';
}
export interface PingFrame {
    type: 'ping';
    id: string;
}
/** Frames of a host. */
export type HostFrame = HelloAckFrame | CommandInvokedFrame | ToolCallFrame | CancelFrame | ToolCancelFrame | CalledToolResultFrame | EventFrame | EventInterceptFrame | PanelKeyFrame | PanelResizeFrame | PanelCloseFrame | LeaseBeginFrame | LeaseEndFrame | ShutdownFrame | PingFrame;
export interface ToolResultFrame {
    type: 'tool_result';
    id: string;
    content: ContentBlock[];
    is_error?: boolean;
    activate_tools?: string[];
    structured_content?: Json;
}
export interface CommandResponseFrame {
    type: 'command_response';
    id: string;
    action: 'prompt' | 'insert' | 'display' | 'noop' | 'open_panel';
    prompt?: string;
    insert?: string;
    display?: string;
    open_panel?: PanelFields & {
        id: string;
    };
    error?: string;
}
export interface VerdictFrame {
    type: 'event_intercept_response';
    id: string;
    block?: boolean;
    reason?: string;
    modified_args?: JsonObject;
    replace_text?: string;
    modified_result?: {
        content: ContentBlock[];
        is_error?: boolean;
    };
    ask?: boolean;
    additional_context?: string;
    error_handling?: 'retry' | 'skip' | 'abort';
    retry_count?: number;
    notification?: string;
    session_summary?: string;
    system_prompt?: string;
}
/** Frames of an extension. */
export type ExtensionFrame = {
    type: 'hello';
    name: string;
    version?: string;
    capabilities?: string[];
    features?: string[];
} | {
    type: 'register_command';
    name: string;
    description?: string;
} | {
    type: 'register_tool';
    name: string;
    description?: string;
    schema: JsonObject;
    timeout_s?: number;
    idempotent?: boolean;
    read_only?: boolean;
    deferred?: boolean;
    exposure?: Exposure;
    output_schema?: JsonObject;
    interactive?: boolean;
} | {
    type: 'unregister_tool';
    name: string;
} | {
    type: 'subscribe';
    events?: string[];
    intercept?: string[];
} | {
    type: 'ready';
} | ToolResultFrame | {
    type: 'tool_progress';
    id: string;
    text: string;
} | CommandResponseFrame | VerdictFrame | {
    type: 'notify';
    level: NoteLevel;
    message: string;
    session_id?: string;
} | {
    type: 'clear_notes';
    session_id?: string;
} | {
    type: 'log';
    message: string;
    level?: LogLevel;
    fields?: JsonObject;
} | {
    type: 'submit';
    text: string;
    session_id?: string;
} | {
    type: 'call_tool';
    id: string;
    name: string;
    args: JsonObject;
    parent_id?: string;
    session_id?: string;
} | {
    type: 'call_tool_cancel';
    id: string;
} | {
    type: 'open_panel';
    panel: PanelFields & {
        id: string;
    };
    session_id?: string;
} | ({
    type: 'panel_render';
    panel_id: string;
    session_id?: string;
} & PanelFields) | {
    type: 'panel_close';
    panel_id: string;
    session_id?: string;
} | {
    type: 'lease_ready';
    id: string;
} | {
    type: 'shutdown_ack';
} | {
    type: 'pong';
    id: string;
};
export {};
