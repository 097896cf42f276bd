/** One conversation with a host: gives frames to their handlers, and answers. Does no I/O itself: the link does it. */
import { misfit } from './arguments.js';
import { Call, Calls, CancelledError } from './calls.js';
import { toResult } from './content.js';
import { currentSession } from './current_session.js';
import { brief, full } from './errors.js';
import { toEvent, toSubject } from './events.js';
import { toHostInfo } from './host_info.js';
import { encode } from './json.js';
import { Leases } from './leases.js';
import { read } from './reading.js';
import { fail, toResponse } from './responses.js';
import { Sequences } from './sequences.js';
import { current, GUARD, ToolCalls } from './tool_calls.js';
import { asRewritten, together, toFields } from './verdicts.js';
export const PATIENCE = { finish: 900, abort: 300, hooks: 500 };
const STOPPING = 'the extension is stopping';
const CAPABILITIES = ['commands', 'tools', 'events', 'panels', 'cancel', 'tool_cancel', 'call_tool', 'ping'];
export class Conversation {
    #registry;
    #link;
    #patience;
    #calls = new Calls();
    #toolCalls = new ToolCalls();
    #sequences;
    #leases;
    #onHost;
    #judging = new Set();
    #host;
    #stopped;
    #wasAsked = false;
    #end = () => { };
    /** Resolves once the conversation is over. */
    over = new Promise((resolve) => (this.#end = resolve));
    constructor(registry, link, onHost, patience = PATIENCE) {
        this.#registry = registry;
        this.#link = link;
        this.#onHost = onHost;
        this.#patience = patience;
        this.#sequences = new Sequences((message) => link.report(message));
        this.#leases = new Leases(registry, (frame) => this.send(frame), (message) => link.report(message));
    }
    get host() {
        return this.#host;
    }
    /** Sends `hello`, all registrations and `ready`. Does not wait for the host's `hello_ack`. */
    start(name, version, capabilities = []) {
        const { begin, end } = this.#registry.leaseHandlers;
        const features = begin.length + end.length > 0 ? { features: ['leases'] } : {};
        void this.send({ type: 'hello', name, version, capabilities: [...CAPABILITIES, ...capabilities], ...features });
        for (const frame of this.#registry.frames())
            void this.send(frame);
        void this.send({ type: 'ready' });
    }
    /** Throws a TypeError if JSON cannot hold the frame. */
    send(frame) {
        return this.#link.write(encode(frame));
    }
    /** Has the host call a tool. */
    callTool(host, name, args) {
        return this.#toolCalls.begin(async (frame) => this.send(frame), host, name, args);
    }
    /** Handles one line of the host. Never throws, never waits. */
    receiveLine(line) {
        if (line.trim() !== '')
            this.receive(read(line));
    }
    receive(frame) {
        if ('problem' in frame)
            return this.#refuse(frame);
        if ('unknown' in frame)
            return;
        currentSession.run(this.#registry.sessions.complete(frame), () => this.#take(frame));
    }
    #take(frame) {
        switch (frame.type) {
            case 'hello_ack':
                this.#host = toHostInfo(frame);
                this.#registry.sessions.greeted(this.#host.cwd);
                return this.#onHost(this.#host);
            case 'tool_call':
                return this.#begin(frame, (call) => this.#runTool(frame, call));
            case 'command_invoked':
                return this.#begin(frame, (call) => this.#runCommand(frame, call));
            case 'cancel':
                return this.#calls.cancel(frame.id, frame.reason ?? 'cancelled');
            case 'tool_cancel':
                return this.#calls.cancel(frame.id, 'cancelled');
            case 'tool_result':
                return this.#toolCalls.take(frame);
            case 'event': {
                const subject = toEvent(frame);
                for (const handler of this.#registry.events.get(frame.event) ?? []) {
                    this.#handle('events', `handler of ${frame.event}`, () => handler(subject));
                }
                const ended = frame.event === 'session_end' ? frame.session_id : undefined;
                if (ended !== undefined)
                    this.#handle('events', 'session_end', () => this.#registry.sessions.forget(ended));
                return;
            }
            case 'event_intercept': {
                const asking = frame.event === 'before_agent_start' ? this.#changePrompt(frame) : this.#judge(frame);
                const judging = asking.finally(() => this.#judging.delete(judging));
                this.#judging.add(judging);
                return;
            }
            case 'panel_key': {
                const { panel_id: id, key, text = '', session_id: session = '' } = frame;
                return this.#handlePanel(id, 'onPanelKey', () => this.#registry.panels.get(id)?.key?.(key, text, session));
            }
            case 'panel_resize': {
                const { panel_id: id, width, height, session_id: session = '' } = frame;
                const resize = () => this.#registry.panels.get(id)?.resize?.(width, height, session);
                return this.#handlePanel(id, 'onPanelResize', resize);
            }
            case 'panel_close': {
                const { panel_id: id, session_id: session = '' } = frame;
                return this.#handlePanel(id, 'onPanelClose', () => this.#registry.panels.get(id)?.close?.(session));
            }
            case 'lease_begin':
                return this.#leases.begin(frame);
            case 'lease_end':
                this.#calls.cancelAll('the lease has ended');
                return this.#leases.end(frame, this.#served());
            case 'ping':
                return void this.send({ type: 'pong', id: frame.id });
            case 'shutdown':
                this.#wasAsked = true;
                return void this.stop();
        }
    }
    /** Resolves when the handlers of all events, panel and lease frames received so far are done. */
    async handled() {
        await Promise.all([this.#sequences.settled(), this.#leases.settled()]);
    }
    /** Resolves when all handlers but those of leases have ended. */
    #served() {
        return Promise.all([this.#calls.settled(), this.#sequences.settled(), ...this.#judging]);
    }
    /** Lets calls finish within `Patience`, runs the shutdown hooks and sends `shutdown_ack`. May be called again. */
    stop() {
        this.#stopped ??= this.#windDown().finally(this.#end);
        return this.#stopped;
    }
    async #windDown() {
        const { finish, abort, hooks } = this.#patience;
        const work = Promise.all([this.#served(), this.#leases.settled()]);
        if (!this.#wasAsked)
            this.#toolCalls.end(STOPPING); // the host may be gone
        if (!(await within(work, finish))) {
            this.#calls.cancelAll(STOPPING);
            this.#toolCalls.end(STOPPING);
            await within(work, abort);
            this.#calls.refuseAll(STOPPING);
        }
        this.#toolCalls.end(STOPPING);
        await within(this.#runHooks(), hooks);
        if (this.#wasAsked)
            void this.send({ type: 'shutdown_ack' }); // never awaited: the host may not read
    }
    async #runHooks() {
        for (const hook of this.#registry.shutdownHooks)
            await this.#guarded('onShutdown hook', hook);
    }
    /** Starts a call, unless its id is in use or the extension stops. */
    #begin(frame, work) {
        const { id } = frame;
        if (this.#calls.has(id))
            return this.#link.report(`${frame.type} ${id} left out: its id is in use`);
        const refused = (message) => refusal(frame.type, id, message);
        const call = new Call(id, refused, (answer) => void this.send(answer));
        if (this.#stopped)
            return call.refuse(STOPPING);
        this.#calls.run(call, async () => {
            try {
                await work(call);
            }
            catch (error) {
                if (!call.signal.aborted)
                    this.#link.report(`${frame.name} failed: ${full(error)}`);
                call.refuse(error instanceof CancelledError ? `cancelled: ${error.message}` : brief(error));
            }
        });
    }
    async #runTool({ id, name, args, session_id: sessionId = '', cwd = '' }, call) {
        const tool = this.#registry.tools.get(name);
        if (!tool)
            throw new Error(`there is no tool named ${name}`);
        const wrong = tool.isTyped ? misfit(tool.schema, args ?? {}) : undefined;
        if (wrong !== undefined)
            return call.refuse(`invalid arguments: ${wrong}`);
        const progress = async (text) => {
            const isHeard = this.#host?.features.has('tool_progress') && !call.isAnswered;
            if (isHeard)
                await this.send({ type: 'tool_progress', id, text: String(text) });
        };
        const handle = () => tool.handler((args ?? {}), { id, name, sessionId, cwd, signal: call.signal, progress });
        const output = await current.run({ call, isTool: true }, handle);
        const { content, isError, activate, structured } = toResult(output, tool.options.outputSchema !== undefined);
        call.answer({
            type: 'tool_result', id, content, ...(isError === undefined ? {} : { is_error: isError }),
            ...(activate === undefined ? {} : { activate_tools: activate }),
            ...(structured === undefined ? {} : { structured_content: structured }),
        });
    }
    async #runCommand({ id, name, args, session_id: sessionId = '', cwd = '' }, call) {
        const command = this.#registry.commands.get(name);
        if (!command)
            throw new Error(`there is no command named ${name}`);
        const handle = () => command.handler(args ?? '', { id, name, sessionId, cwd, signal: call.signal });
        const output = await current.run({ call, isTool: false }, handle);
        call.answer({ type: 'command_response', id, ...toResponse(output) });
    }
    /** Asks the guards in the order of their registration. The first block wins; a guard that fails blocks. */
    async #judge(frame) {
        const { id, event } = frame;
        let fields = {};
        try {
            let subject = toSubject(frame);
            for (const guard of this.#registry.guards.get(event) ?? []) {
                const said = toFields(event, await current.run(GUARD, () => guard(subject)));
                if (said.block) {
                    fields = said;
                    break;
                }
                if (said.ask && !this.#host?.features.has('ask')) {
                    // The host would take the question for an allow.
                    fields = { block: true, reason: said.reason || 'a person has to decide, and this host cannot ask one' };
                    break;
                }
                subject = asRewritten(subject, said);
                fields = together(fields, said);
            }
            await this.send({ type: 'event_intercept_response', id, ...fields });
        }
        catch (error) {
            this.#link.report(`guard of ${event} failed: ${full(error)}`);
            const reason = `the guard of ${event} failed: ${brief(error)}`;
            await this.send({ type: 'event_intercept_response', id, block: true, reason });
        }
    }
    /** Asks the guards of the system prompt. One that fails changes nothing; the answer names it. */
    async #changePrompt(frame) {
        const fields = {};
        for (const guard of this.#registry.guards.get('before_agent_start') ?? []) {
            try {
                const subject = toSubject({ ...frame, ...fields });
                const said = await current.run(GUARD, () => guard(subject));
                if (said === undefined || said === null)
                    continue;
                if (typeof said !== 'string')
                    throw new TypeError('it must return the whole new system prompt, or nothing');
                fields.system_prompt = said;
            }
            catch (error) {
                this.#link.report(`guard of before_agent_start failed: ${full(error)}`);
                fields.reason = `the guard of before_agent_start failed: ${brief(error)}`;
            }
        }
        await this.send({ type: 'event_intercept_response', id: frame.id, ...fields });
    }
    #handlePanel(id, what, handler) {
        this.#handle(`panel ${id}`, `${what} of ${id}`, handler);
    }
    #handle(sequence, what, handler) {
        this.#sequences.add(sequence, () => this.#guarded(what, handler));
    }
    async #guarded(what, handler) {
        try {
            await handler();
        }
        catch (error) {
            this.#link.report(`${what} failed: ${full(error)}`);
        }
    }
    #refuse({ problem, request }) {
        this.#link.report(`skipped a line of the host: ${problem}`);
        if (!request)
            return;
        const { type, id } = request;
        if (type !== 'event_intercept')
            return void this.send(refusal(type, id, problem));
        void this.send({ type: 'event_intercept_response', id, block: true, reason: problem });
    }
}
function refusal(type, id, message) {
    if (type === 'command_invoked')
        return { type: 'command_response', id, ...fail(message) };
    return { type: 'tool_result', id, content: [{ type: 'text', text: message }], is_error: true };
}
/** Whether the work settled within this time in milliseconds. */
async function within(work, milliseconds) {
    let timer;
    const late = new Promise((resolve) => {
        timer = setTimeout(() => resolve(false), milliseconds);
    });
    const done = work.then(() => true, () => true);
    return Promise.race([done, late]).finally(() => clearTimeout(timer));
}
