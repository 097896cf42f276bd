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
  user_prompt: { text: string };
  /** `step` is 1 for the first turn of a prompt. */
  turn_start: { step: number };
  /** `text` is empty if the message has only tool calls. */
  assistant_message: { text: string };
  tool_call: ToolCalled;
  tool_result: ToolAnswered;
  turn_end: { stop: string; error?: string };
  error: { error: string };
  /** A prompt has ended, and no other one waits. */
  idle: {};
  session_end: {};
}

export type Event<Name extends keyof Events> = { event: Name } & Events[Name];

/** The value that a handler gets for a frame. Missing fields are empty. */
export function toSubject(frame: EventFrame | EventInterceptFrame): object {
  const { event } = frame;
  switch (event) {
    case 'user_prompt':
    case 'assistant_message':
      return { event, text: frame.text ?? '' };
    case 'turn_start':
      return { event, step: frame.step ?? 0 };
    case 'tool_call':
      return { event, ...toolOf(frame), args: frame.tool_args ?? {} };
    case 'tool_result':
      return { event, ...toolOf(frame), isError: frame.is_error ?? false, content: frame.content ?? [] };
    case 'turn_end':
      return { event, stop: frame.stop ?? '', ...(frame.error ? { error: frame.error } : {}) };
    case 'error':
      return { event, error: frame.error ?? '' };
    default:
      return { event };
  }
}

function toolOf(frame: EventFrame | EventInterceptFrame): { toolId: string; toolName: string } {
  return { toolId: frame.tool_id ?? '', toolName: frame.tool_name ?? '' };
}
