/** What a guard may say, and what several guards say together. Pure. */
import { toResult } from './content.js';
import { isObject } from './json.js';
/** Lets it pass unchanged. */
export function allow() {
    return { verdict: 'allow' };
}
/** Refuses it; the reason goes to the model or the user. */
export function block(reason) {
    return { verdict: 'block', reason };
}
/** Lets it pass changed: other arguments, another text, another result, according to what is judged. */
export function rewrite(to) {
    return { verdict: 'rewrite', to };
}
/**
 * The fields of the answer for one verdict. Throws a TypeError for what is none, so that a guard which returns `false`
 * or a bare text does not let pass what it may have meant to stop.
 */
export function toFields(event, verdict) {
    if (verdict === undefined || verdict === null)
        return {};
    const said = isObject(verdict) ? verdict.verdict : undefined;
    if (said === 'allow')
        return {};
    if (said === 'block')
        return { block: true, reason: String(verdict.reason ?? '') };
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
            // An empty text means "unchanged" on the wire, which would show what the guard took away.
            return to === '' ? { block: true, reason: 'nothing of the text was left' } : { replace_text: to };
        case 'turn_start':
            throw new TypeError('a turn can only be allowed or blocked');
    }
}
/** The same happening as the next guard is to see it. */
export function asRewritten(happening, fields) {
    const { modified_args: args, replace_text: text, modified_result: result } = fields;
    return {
        ...happening,
        ...(args === undefined ? {} : { args }),
        ...(text === undefined ? {} : { text }),
        ...(result === undefined ? {} : { content: result.content }),
        ...(result?.is_error === undefined ? {} : { isError: result.is_error }),
    };
}
