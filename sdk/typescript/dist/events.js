/** Events and questions of the host, as handlers and guards get them. */
/** The value that a handler gets for a frame. Missing fields are empty. */
export function toSubject(frame) {
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
function toolOf(frame) {
    return { toolId: frame.tool_id ?? '', toolName: frame.tool_name ?? '' };
}
