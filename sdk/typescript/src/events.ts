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
  user_prompt: { text: string };
  /** `step` is 1 for the first turn of a prompt. */
  turn_start: { step: number };
  /** `text` is empty if the message has only tool calls. */
  assistant_message: { text: string };
  tool_call: ToolCalled & Origin;
  /** Arguments that are not JSON are in `argsRaw`. `truncated`: the host has left out a part of the content. */
  tool_result: ToolAnswered & Origin & {
    args: JsonObject; argsRaw?: string; status: Outcome; executed: boolean; truncated: boolean;
  };
  turn_end: { stop: string; error?: string };
  error: { error: string };
  /** A prompt has ended, and no other one waits. */
  idle: {};
  /** `reason`: shutdown, session_switch or cwd_change. */
  session_end: { reason: string };
  /** `queued`: another prompt runs first. */
  user_prompt_submit: { text: string; queued: boolean; imageCount: number };
  tool_confirmation_requested: Tool & { preview: string };
  /** `source`: user, remembered, policy or yolo. */
  permission_decision: Tool & Origin & {
    decision: 'approved' | 'denied' | 'cancelled'; source: string; stage: 'pre_execution' | 'tool_execution';
    reason?: string;
  };
  pre_compact: Compaction;
  post_compact: Compaction & Ended;
  subagent_start: { agentId: string; agentRunId: string };
  subagent_stop: { agentId: string; agentRunId: string } & Ended;
}

/** `sequence` is the number of the event among all events of the host, also those without a handler. */
export type Event<Name extends keyof Events> =
  { event: Name; sequence: number } & Session & Events[Name];

/** The value that a handler of `on` gets. Missing fields are empty. */
export function toEvent(frame: EventFrame): object {
  return { ...toSubject(frame), ...more(frame), sequence: frame.sequence ?? 0 };
}

/** The fields that only events have, not questions. */
function more(frame: EventFrame): object {
  const origin = optional({ originExtension: frame.origin_extension });
  const compaction = {
    compactionId: frame.compaction_id ?? '', messageCount: frame.message_count ?? 0,
    tokenEstimate: frame.token_estimate ?? 0,
  };
  const agent = { agentId: frame.agent_id ?? '', agentRunId: frame.agent_run_id ?? '' };
  const ended = { status: frame.status ?? '', ...optional({ error: frame.error }) };
  switch (frame.event) {
    case 'session_end':
      return { reason: frame.reason ?? '' };
    case 'user_prompt_submit':
      return { text: frame.text ?? '', queued: frame.queued ?? false, imageCount: frame.image_count ?? 0 };
    case 'tool_call':
      return origin;
    case 'tool_confirmation_requested':
      return { ...toolOf(frame), preview: frame.tool_preview ?? '' };
    case 'permission_decision': {
      const { decision = '', source = '', stage = '', reason } = frame;
      return { ...toolOf(frame), decision, source, stage, ...optional({ reason }), ...origin };
    }
    case 'tool_result': {
      const told = frame.content === undefined ? (frame.result ?? {}) : frame; // zot tells only the result that is cut
      return {
        content: Array.isArray(told.content) ? told.content : [], isError: told.is_error ?? false,
        truncated: 'truncated' in told && told.truncated === true, args: frame.tool_args ?? {},
        ...optional({ argsRaw: frame.tool_args_raw }), status: frame.status ?? '', executed: frame.executed ?? false,
        ...origin,
      };
    }
    case 'pre_compact':
      return compaction;
    case 'post_compact':
      return { ...compaction, ...ended };
    case 'subagent_start':
      return agent;
    case 'subagent_stop':
      return { ...agent, ...ended };
    default:
      return {};
  }
}

/** The members that are not undefined. */
function optional<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** The value that a guard gets. Missing fields are empty. */
export function toSubject(frame: EventFrame | EventInterceptFrame): object {
  const { session_id: sessionId = '', cwd = '' } = frame;
  return { ...subjectOf(frame), sessionId, cwd };
}

function subjectOf(frame: EventFrame | EventInterceptFrame): object {
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
    case 'before_agent_start':
      return {
        event, agentRunId: frame.agent_run_id ?? '', provider: frame.provider ?? '', model: frame.model ?? '',
        systemPrompt: frame.system_prompt ?? '',
      };
    default:
      return { event };
  }
}

function toolOf(frame: EventFrame | EventInterceptFrame): Tool {
  return { toolId: frame.tool_id ?? '', toolName: frame.tool_name ?? '' };
}
