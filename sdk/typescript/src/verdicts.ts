/** Verdicts of guards, and how several of them are put together. Pure. */

import { toResult, type ToolOutput } from './content.js';
import type { GuardedName, VerdictFrame } from './frames.js';
import { isObject, type JsonObject } from './json.js';

export interface Allow {
  readonly verdict: 'allow';
}
export interface Block {
  readonly verdict: 'block';
  readonly reason: string;
}
export interface Ask {
  readonly verdict: 'ask';
  readonly reason: string;
}
export interface AddContext {
  readonly verdict: 'context';
  readonly text: string;
}
export interface Rewrite<T> {
  readonly verdict: 'rewrite';
  readonly to: T;
}

/** The return value of a guard. undefined means allow. */
export type Verdict<T = never> = Allow | Block | Ask | AddContext | Rewrite<T> | undefined | void;

/** The event goes on, unchanged. */
export function allow(): Allow {
  return { verdict: 'allow' };
}

/** Refuses the event. The model or the user sees the reason. */
export function block(reason: string): Block {
  return { verdict: 'block', reason };
}

/** A person has to decide. If no person can be asked, the event is refused, unless the user lets such events pass. */
export function ask(reason: string): Ask {
  return { verdict: 'ask', reason };
}

/** The event goes on, and the model gets this text behind the prompt, or behind the tool's result. */
export function addContext(text: string): AddContext {
  return { verdict: 'context', text };
}

/** The event goes on, changed: with other arguments, another text or another result, by the point of the guard. */
export function rewrite<T>(to: T): Rewrite<T> {
  return { verdict: 'rewrite', to };
}

const EXPLAINABLE: readonly GuardedName[] = ['tool_call', 'tool_result', 'user_prompt'];

/** The points at which a guard gives a verdict. One of `before_agent_start` gives a text. */
export type JudgedName = Exclude<GuardedName, 'before_agent_start'>;
export type VerdictFields = Omit<VerdictFrame, 'type' | 'id'>;

/**
 * The fields of the answer for one verdict. Throws a TypeError for any other value, which then blocks: a guard that
 * returns `false` or a text may have meant to block.
 */
export function toFields(event: JudgedName, verdict: Verdict<unknown>): VerdictFields {
  if (verdict === undefined || verdict === null) return {};
  const said = isObject(verdict) ? verdict.verdict : undefined;
  if (said === 'allow') return {};
  if (said === 'block') return { block: true, reason: String((verdict as Block).reason ?? '') };
  if (said === 'ask') return { ask: true, reason: String((verdict as Ask).reason ?? '') };
  if (said === 'context') {
    if (!EXPLAINABLE.includes(event)) throw new TypeError(`no model would read the context of a guard of ${event}`);
    return { additional_context: String((verdict as AddContext).text) };
  }
  if (said !== 'rewrite') throw new TypeError('a guard must return allow(), block(reason), rewrite(...) or nothing');
  const { to } = verdict as Rewrite<unknown>;
  switch (event) {
    case 'tool_call':
      if (!isObject(to)) throw new TypeError('rewrite() of a tool call takes an object with the new arguments');
      return { modified_args: to as JsonObject };
    case 'tool_result': {
      const { content, isError } = toResult(to as ToolOutput);
      return { modified_result: { content, ...(isError === undefined ? {} : { is_error: isError }) } };
    }
    case 'assistant_message':
    case 'user_prompt':
      if (typeof to !== 'string') throw new TypeError(`rewrite() of ${event} takes the new text`);
      // On the wire an empty text means "unchanged": it would show what the guard removed.
      return to === '' ? { block: true, reason: 'nothing of the text was left' } : { replace_text: to };
    case 'turn_start':
      throw new TypeError('a turn can only be allowed or blocked');
  }
}

/** The answer of several guards: what they add is put together, the first question counts, and else the last one. */
export function together(before: VerdictFields, said: VerdictFields): VerdictFields {
  const contexts = [before.additional_context, said.additional_context].filter((text) => text);
  return {
    ...before,
    ...said,
    ...(before.ask && before.reason !== undefined ? { reason: before.reason } : {}),
    ...(contexts.length > 0 ? { additional_context: contexts.join('\n\n') } : {}),
  };
}

/** The event as the next guard sees it. */
export function asRewritten<T extends object>(subject: T, fields: VerdictFields): T {
  const { modified_args: args, replace_text: text, modified_result: result } = fields;
  return {
    ...subject,
    ...(args === undefined ? {} : { args }),
    ...(text === undefined ? {} : { text }),
    ...(result === undefined ? {} : { content: result.content }),
    ...(result?.is_error === undefined ? {} : { isError: result.is_error }),
  };
}
