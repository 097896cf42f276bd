/** Verdicts of guards, and how several of them are put together. Pure. */
import { toResult } from './content.js';
import { isObject } from './json.js';
/** The event goes on, unchanged. */
export function allow() {
    return { verdict: 'allow' };
}
/** Refuses the event. The model or the user sees the reason. */
export function block(reason) {
    return { verdict: 'block', reason };
}
/** A person has to decide. If no person can be asked, the event is refused, unless the user lets such events pass. */
export function ask(reason) {
    return { verdict: 'ask', reason };
}
/** The event goes on, and the model gets this text behind the prompt, or behind the tool's result. */
export function addContext(text) {
    return { verdict: 'context', text };
}
/** The event goes on, changed: with other arguments, another text or another result, by the point of the guard. */
export function rewrite(to) {
    return { verdict: 'rewrite', to };
}
const EXPLAINABLE = ['tool_call', 'tool_result', 'user_prompt'];
/**
 * The fields of the answer for one verdict. Throws a TypeError for any other value, which then blocks: a guard that
 * returns `false` or a text may have meant to block.
 */
export function toFields(event, verdict) {
    if (verdict === undefined || verdict === null)
        return {};
    const said = isObject(verdict) ? verdict.verdict : undefined;
    if (said === 'allow')
        return {};
    if (said === 'block')
        return { block: true, reason: String(verdict.reason ?? '') };
    if (said === 'ask')
        return { ask: true, reason: String(verdict.reason ?? '') };
    if (said === 'context') {
        if (!EXPLAINABLE.includes(event))
            throw new TypeError(`no model would read the context of a guard of ${event}`);
        return { additional_context: String(verdict.text) };
    }
    if (said !== 'rewrite')
        throw new TypeError('a guard must return allow(), block(reason), rewrite(...) or nothing');
    const { to } = verdict;
    switch (event) {
        case 'tool_call':
            if (!isObject(to))
                throw new TypeError('rewrite() of a tool call takes an object with the new arguments');
            return { modified_args: to };
        case 'tool_result': {
            const { content, isError } = toResult(to);
            return { modified_result: { content, ...(isError === undefined ? {} : { is_error: isError }) } };
        }
        case 'assistant_message':
        case 'user_prompt':
            if (typeof to !== 'string')
                throw new TypeError(`rewrite() of ${event} takes the new text`);
            // On the wire an empty text means "unchanged": it would show what the guard removed.
            return to === '' ? { block: true, reason: 'nothing of the text was left' } : { replace_text: to };
        case 'turn_start':
            throw new TypeError('a turn can only be allowed or blocked');
    }
}
/** The answer of several guards: what they add is put together, the first question counts, and else the last one. */
export function together(before, said) {
    const contexts = [before.additional_context, said.additional_context].filter((text) => text);
    return {
        ...before,
        ...said,
        ...(before.ask && before.reason !== undefined ? { reason: before.reason } : {}),
        ...(contexts.length > 0 ? { additional_context: contexts.join('\n\n') } : {}),
    };
}
/** The event as the next guard sees it. */
export function asRewritten(subject, fields) {
    const { modified_args: args, replace_text: text, modified_result: result } = fields;
    return {
        ...subject,
        ...(args === undefined ? {} : { args }),
        ...(text === undefined ? {} : { text }),
        ...(result === undefined ? {} : { content: result.content }),
        ...(result?.is_error === undefined ? {} : { isError: result.is_error }),
    };
}
