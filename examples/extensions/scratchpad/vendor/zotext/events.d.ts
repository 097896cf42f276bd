/** Events and questions of the host, as handlers and guards get them. */
import type { ContentBlock, EventFrame, EventInterceptFrame, Outcome } from './frames.js';
import type { JsonObject } from './json.js';
import type { Session } from './sessions.js';
/** A call of a tool by the model. */
export interface ToolCalled {
    toolId: string;
    toolName: string;
    args: JsonObject;
}
/** The result of a tool. */
export interface ToolAnswered {
    toolId: string;
    toolName: string;
    isError: boolean;
    content: ContentBlock[];
}
/** The model is about to get its first request. `systemPrompt` is whole, as earlier guards have left it. */
export interface AgentStart extends Session {
    /** Id of this round of questions, the same for all guards. */
    agentRunId: string;
    provider: string;
    model: string;
    systemPrompt: string;
}
interface Tool {
    toolId: string;
    toolName: string;
}
interface Origin {
    /** The extension that has called the tool; missing if the model has. */
    originExtension?: string;
}
interface Compaction {
    compactionId: string;
    messageCount: number;
    tokenEstimate: number;
}
interface Ended {
    status: Outcome;
    error?: string;
}
/** The events that `on` takes, and their fields. zot has no `user_prompt`, `error`, `idle`; this host no subagents. */
export interface Events {
    session_start: {};
    user_prompt: {
        text: string;
    };
    /** `step` is 1 for the first turn of a prompt. */
    turn_start: {
        step: number;
    };
    /** `text` is empty if the message has only tool calls. */
    assistant_message: {
        text: string;
    };
    tool_call: ToolCalled & Origin;
    /** Arguments that are not JSON are in `argsRaw`. `truncated`: the host has left out a part of the content. */
    tool_result: ToolAnswered & Origin & {
        args: JsonObject;
        argsRaw?: string;
        status: Outcome;
        executed: boolean;
        truncated: boolean;
    };
    turn_end: {
        stop: string;
        error?: string;
    };
    error: {
        error: string;
    };
    /** A prompt has ended, and no other one waits. */
    idle: {};
    /** `reason`: shutdown, session_switch or cwd_change. */
    session_end: {
        reason: string;
    };
    /** `queued`: another prompt runs first. */
    user_prompt_submit: {
        text: string;
        queued: boolean;
        imageCount: number;
    };
    tool_confirmation_requested: Tool & {
        preview: string;
    };
    /** `source`: user, remembered, policy or yolo. */
    permission_decision: Tool & Origin & {
        decision: 'approved' | 'denied' | 'cancelled';
        source: string;
        stage: 'pre_execution' | 'tool_execution';
        reason?: string;
    };
    pre_compact: Compaction;
    post_compact: Compaction & Ended;
    subagent_start: {
        agentId: string;
        agentRunId: string;
    };
    subagent_stop: {
        agentId: string;
        agentRunId: string;
    } & Ended;
}
/** `sequence` is the number of the event among all events of the host, also those without a handler. */
export type Event<Name extends keyof Events> = {
    event: Name;
    sequence: number;
} & Session & Events[Name];
/** The value that a handler of `on` gets. Missing fields are empty. */
export declare function toEvent(frame: EventFrame): object;
/** The value that a guard gets. Missing fields are empty. */
export declare function toSubject(frame: EventFrame | EventInterceptFrame): object;
export {};
