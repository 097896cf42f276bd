/** Decodes one line of the host. Pure. */
import { isObject } from './json.js';
const SESSION = { session_id: 'string?', cwd: 'string?' };
/** The fields that a handler relies on. `?` may be missing; null counts as missing. */
const FIELDS = {
    hello_ack: {
        protocol_version: 'number?', zot_version: 'string?', provider: 'string?', model: 'string?', cwd: 'string?',
        extension_dir: 'string?', data_dir: 'string?', features: 'array?', capabilities: 'array?',
    },
    command_invoked: { id: 'string', name: 'string', args: 'string?', ...SESSION },
    tool_call: { id: 'string', name: 'string', args: 'object?', ...SESSION },
    cancel: { id: 'string', reason: 'string?' },
    tool_cancel: { id: 'string' },
    tool_result: { id: 'string', name: 'string?', content: 'array?', is_error: 'boolean?', truncated: 'boolean?' },
    event: {
        event: 'string', step: 'number?', stop: 'string?', error: 'string?', tool_id: 'string?', tool_name: 'string?',
        text: 'string?', is_error: 'boolean?', content: 'array?', ...SESSION,
        sequence: 'number?', queued: 'boolean?', image_count: 'number?', tool_args_raw: 'string?', tool_preview: 'string?',
        status: 'string?', executed: 'boolean?', result: 'object?', decision: 'string?', source: 'string?',
        stage: 'string?', reason: 'string?', compaction_id: 'string?', message_count: 'number?', token_estimate: 'number?',
        origin_extension: 'string?', agent_id: 'string?', agent_run_id: 'string?',
    },
    event_intercept: {
        id: 'string', event: 'string', step: 'number?', tool_id: 'string?', tool_name: 'string?', text: 'string?',
        is_error: 'boolean?', content: 'array?', agent_run_id: 'string?', ...SESSION, provider: 'string?',
        model: 'string?', system_prompt: 'string?',
    },
    panel_key: { panel_id: 'string', key: 'string', text: 'string?', ...SESSION },
    panel_resize: { panel_id: 'string', width: 'number', height: 'number', ...SESSION },
    panel_close: { panel_id: 'string', ...SESSION },
    lease_begin: { id: 'string', session_id: 'string', cwd: 'string?' },
    lease_end: { id: 'string', session_id: 'string' },
    shutdown: {},
    ping: { id: 'string' },
};
const REQUESTS = new Set(['tool_call', 'command_invoked', 'event_intercept']);
export function read(line) {
    let value;
    try {
        value = JSON.parse(line);
    }
    catch (error) {
        return { problem: `not JSON: ${error.message}` };
    }
    if (!isObject(value))
        return { problem: 'not a JSON object' };
    const { type } = value;
    if (typeof type !== 'string')
        return { problem: 'the frame has no type' };
    if (!Object.hasOwn(FIELDS, type))
        return { unknown: type };
    for (const [name, rule] of Object.entries(FIELDS[type])) {
        if (value[name] === null)
            delete value[name];
        const [kind, optional] = [rule.replace('?', ''), rule.endsWith('?')];
        const found = kindOf(value[name]);
        if (found === kind || (optional && found === 'undefined'))
            continue;
        const problem = `bad ${type} frame: ${name} is ${found === 'undefined' ? 'missing' : `no ${kind}`}`;
        const isRequest = REQUESTS.has(type) && typeof value['id'] === 'string';
        return isRequest ? { problem, request: { type, id: value['id'] } } : { problem };
    }
    return value;
}
function kindOf(value) {
    return Array.isArray(value) ? 'array' : typeof value;
}
