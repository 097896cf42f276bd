/** Events and questions of the host, as handlers and guards get them. */
/** The value that a handler of `on` gets. Missing fields are empty. */
export function toEvent(frame) {
    return { ...toSubject(frame), ...more(frame), sequence: frame.sequence ?? 0 };
}
/** The fields that only events have, not questions. */
function more(frame) {
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
function optional(members) {
    return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
/** The value that a guard gets. Missing fields are empty. */
export function toSubject(frame) {
    const { session_id: sessionId = '', cwd = '' } = frame;
    return { ...subjectOf(frame), sessionId, cwd };
}
function subjectOf(frame) {
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
function toolOf(frame) {
    return { toolId: frame.tool_id ?? '', toolName: frame.tool_name ?? '' };
}
