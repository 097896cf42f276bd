/** Events and questions of the host, as handlers and guards get them. */
import type { ContentBlock, EventFrame, EventInterceptFrame } from './frames.js';
import type { JsonObject } from './json.js';
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
/** The events that `on` takes, and their fields. */
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
    tool_call: ToolCalled;
    tool_result: ToolAnswered;
    turn_end: {
        stop: string;
        error?: string;
    };
    error: {
        error: string;
    };
    /** A prompt has ended, and no other one waits. */
    idle: {};
    session_end: {};
}
export type Event<Name extends keyof Events> = {
    event: Name;
} & Events[Name];
/** The value that a handler gets for a frame. Missing fields are empty. */
export declare function toSubject(frame: EventFrame | EventInterceptFrame): object;
