/** The host's side of a conversation, for tests: sends frames, keeps those of the extension, waits with deadlines. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorResult, toResult } from './content.js';
import { brief } from './errors.js';
const FEATURES = [
    'additional_context', 'ask', 'cancel', 'error_event', 'error_intercept', 'idle_event', 'log', 'panels', 'ping',
    'session_end_event', 'session_end_intercept', 'session_start_intercept', 'tool_flags', 'tool_progress',
    'tool_result_event',
    'tool_result_intercept', 'tool_timeout', 'unregister_tool', 'user_prompt_event', 'user_prompt_intercept',
];
export class TestHost {
    /** All frames of the extension, in order. */
    frames = [];
    /** Lines on its stdout that are not frames. */
    junk = [];
    deadlineMs;
    /** The extension's folder for state: that of the options, else a new one, which is removed at the end. */
    dataDir;
    #greeting;
    #hostTools;
    #waiters = new Set();
    #session = new AsyncLocalStorage();
    #ids = 0;
    #removeFolder = () => { };
    #ended;
    constructor({ deadlineMs = 5000, host = {}, hostTools }) {
        this.deadlineMs = deadlineMs;
        this.#hostTools = hostTools;
        const { zotVersion = '0.0.0-test', provider = 'test', model = 'test', cwd = process.cwd() } = host;
        const { extensionDir = process.cwd(), features = FEATURES } = host;
        const { dataDir = this.#newFolder() } = host;
        this.dataDir = dataDir;
        this.#greeting = {
            type: 'hello_ack', protocol_version: 1, zot_version: zotVersion, provider, model, cwd,
            extension_dir: extensionDir, data_dir: dataDir, features, capabilities: hostTools ? ['call_tool'] : [],
        };
    }
    // --- reading ----------------------------------------------------------------------------------------------
    /** The registered tools, by name. */
    get tools() {
        const tools = new Map();
        for (const frame of this.frames) {
            if (frame.type === 'register_tool')
                tools.set(frame.name, frame);
            else if (frame.type === 'unregister_tool')
                tools.delete(frame.name);
        }
        return tools;
    }
    /** The commands and their descriptions. */
    get commands() {
        return new Map(this.said('register_command').map(({ name, description }) => [name, description ?? '']));
    }
    /** The notes that a user would see now. */
    get notes() {
        const shown = this.frames.filter((frame) => this.#isShown(frame));
        const cleared = shown.findLastIndex((frame) => frame.type === 'clear_notes');
        return shown.slice(cleared + 1).flatMap((frame) => (frame.type === 'notify' ? [pick(frame)] : []));
    }
    /** The prompts that it has submitted. */
    get prompts() {
        return this.said('submit').filter((frame) => this.#isShown(frame)).map(({ text }) => text);
    }
    get logs() {
        return this.said('log').map(({ type: _, ...line }) => ({ level: 'info', ...line }));
    }
    /** The content that `panel_render` frames have drawn in the panel; undefined before the first. */
    panel(id) {
        const drawn = this.said('panel_render').filter((frame) => frame.panel_id === id && this.#isShown(frame));
        const fields = drawn.map(({ type: _, panel_id: __, session_id: ___, ...changed }) => changed);
        return fields.length === 0 ? undefined : Object.assign({}, ...fields);
    }
    /** All frames of that type so far. */
    said(type) {
        return this.frames.filter((frame) => frame.type === type);
    }
    // --- sessions -----------------------------------------------------------------------------------------------
    /**
     * Sends the frames of `work` as those of one of several runs that share the extension; in it, `notes`, `prompts` and
     * `panel` leave out those of other sessions.
     */
    inSession({ sessionId, cwd = '' }, work) {
        return this.#session.run({ session_id: sessionId, cwd }, work);
    }
    /** Leases it to one run for `work`, in a session: waits for its `lease_ready` before, and ends both after it. */
    async lease({ sessionId, cwd = '' }, work) {
        const id = this.#ask((id) => ({ type: 'lease_begin', id, session_id: sessionId, cwd }));
        await this.#answer('lease_ready', id, 'lease_begin');
        return this.inSession({ sessionId, cwd }, async () => {
            try {
                await this.event('session_start');
                return await work();
            }
            finally {
                await this.event('session_end', { reason: 'shutdown' });
                this.send({ type: 'lease_end', id, session_id: sessionId });
                await this.handled();
            }
        });
    }
    // --- requests -----------------------------------------------------------------------------------------------
    async callTool(name, args = {}) {
        return this.beginTool(name, args).outcome;
    }
    /** Starts a call and does not wait, so that the test can watch and cancel it. */
    beginTool(name, args = {}) {
        const id = this.#ask((id) => ({ type: 'tool_call', id, name, args, ...this.#session.getStore() }));
        const outcome = this.#answer('tool_result', id, `tool ${name}`).then((frame) => ({
            text: frame.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n'),
            content: frame.content,
            isError: frame.is_error ?? false,
            progress: this.said('tool_progress').filter((frame) => frame.id === id).map(({ text }) => text),
            ...(frame.activate_tools === undefined ? {} : { activate: frame.activate_tools }),
            ...(frame.structured_content === undefined ? {} : { structured: frame.structured_content }),
        }));
        return { id, outcome, cancel: (reason) => this.#cancel(id, reason) };
    }
    async runCommand(name, args = '') {
        return this.beginCommand(name, args).outcome;
    }
    beginCommand(name, args = '') {
        const id = this.#ask((id) => ({ type: 'command_invoked', id, name, args, ...this.#session.getStore() }));
        const answer = this.#answer('command_response', id, `command ${name}`);
        const outcome = answer.then(({ type: _, id: __, ...said }) => said);
        return { id, outcome, cancel: (reason) => this.#cancel(id, reason) };
    }
    /** Asks the guards. The fields are those of the wire: `tool_name`, `tool_args`, `step`, `text`, `content`. */
    async intercept(event, fields = {}) {
        const id = this.#ask((id) => ({ type: 'event_intercept', id, event, ...this.#session.getStore(), ...fields }));
        const said = await this.#answer('event_intercept_response', id, `guard of ${event}`);
        const { block = false, reason, modified_args: args, replace_text: text, modified_result: result } = said;
        const isError = result?.is_error;
        return {
            blocked: block,
            ...(said.ask ? { asks: true } : {}),
            ...(said.additional_context === undefined ? {} : { context: said.additional_context }),
            ...(reason === undefined ? {} : { reason }),
            ...(args === undefined ? {} : { args }),
            ...(text === undefined ? {} : { text }),
            ...(said.system_prompt === undefined ? {} : { systemPrompt: said.system_prompt }),
            ...(result && { result: { content: result.content, ...(isError === undefined ? {} : { isError }) } }),
        };
    }
    /** Sends an event. In-process it resolves when the handlers are done; for a process, when it is sent. */
    async event(event, fields = {}) {
        this.send({ type: 'event', event, ...this.#session.getStore(), ...fields });
        await this.handled();
    }
    async pressKey(panelId, key, text) {
        const typed = text === undefined ? {} : { text };
        this.send({ type: 'panel_key', panel_id: panelId, key, ...typed, ...this.#session.getStore() });
        await this.handled();
    }
    async resizePanel(panelId, width, height) {
        this.send({ type: 'panel_resize', panel_id: panelId, width, height, ...this.#session.getStore() });
        await this.handled();
    }
    async closePanel(panelId) {
        this.send({ type: 'panel_close', panel_id: panelId, ...this.#session.getStore() });
        await this.handled();
    }
    /** Resolves when it has answered a ping: then it has read all earlier frames. */
    async ping() {
        const id = this.#ask((id) => ({ type: 'ping', id }));
        await this.#answer('pong', id, 'ping');
    }
    waitFor(what, matches) {
        return new Promise((resolve, reject) => {
            let seen = 0;
            const done = () => {
                clearTimeout(timer);
                this.#waiters.delete(waiter);
            };
            const waiter = {
                look: () => {
                    for (; seen < this.frames.length; seen += 1) {
                        const frame = this.frames[seen];
                        if (!matches(frame))
                            continue;
                        done();
                        resolve(frame);
                        return true;
                    }
                    return false;
                },
                fail: (error) => {
                    done();
                    reject(new Error(`waited for ${what}: ${error.message}${this.evidence()}`));
                },
            };
            const timer = setTimeout(() => waiter.fail(new Error(`not within ${this.deadlineMs} ms`)), this.deadlineMs);
            if (waiter.look())
                return;
            this.#waiters.add(waiter);
            if (this.#ended)
                waiter.fail(this.#ended);
        });
    }
    /** Waits for `ready`: then all first registrations are known. */
    async ready() {
        await this.waitFor('ready', (frame) => frame.type === 'ready');
        return this;
    }
    // --- for the links ----------------------------------------------------------------------------------------
    async handled() { }
    /** Handles one line of the extension. */
    heard(line) {
        let frame;
        try {
            frame = JSON.parse(line);
            if (typeof frame?.type !== 'string')
                throw new TypeError('no frame');
        }
        catch {
            this.junk.push(line);
            return;
        }
        this.frames.push(frame);
        if (frame.type === 'hello')
            this.send(this.#greeting);
        if (frame.type === 'call_tool')
            void this.#answerCall(frame);
        for (const waiter of [...this.#waiters])
            waiter.look();
    }
    /** No more frames will come: every wait fails. */
    ended(why) {
        this.#ended = new Error(why);
        for (const waiter of [...this.#waiters])
            waiter.fail(this.#ended);
        this.#removeFolder();
    }
    #newFolder() {
        const folder = mkdtempSync(join(tmpdir(), 'zotext-data-'));
        const remove = () => rmSync(folder, { recursive: true, force: true });
        process.once('exit', remove);
        this.#removeFolder = () => {
            process.removeListener('exit', remove);
            remove();
        };
        return folder;
    }
    async #answerCall({ id, name, args }) {
        const tool = this.#hostTools?.[name];
        if (tool === null)
            return;
        const work = async () => toResult(tool ? await tool(args) : errorResult(`there is no tool ${name}`));
        const { content, isError } = await work().catch((error) => errorResult(brief(error)));
        this.send({ type: 'tool_result', id, name, content, ...(isError === undefined ? {} : { is_error: isError }) });
    }
    #ask(frame) {
        this.#ids += 1;
        const id = String(this.#ids);
        this.send(frame(id));
        return id;
    }
    #cancel(id, reason) {
        this.send({ type: 'cancel', id, ...(reason === undefined ? {} : { reason }) });
    }
    /** Whether a frame is not about another session than that of the work under way. */
    #isShown(frame) {
        const here = this.#session.getStore()?.session_id;
        return here === undefined || !('session_id' in frame) || frame.session_id === here;
    }
    async #answer(type, id, what) {
        const matches = (frame) => frame.type === type && 'id' in frame && frame.id === id;
        return this.waitFor(`the answer of ${what}`, matches);
    }
}
function pick({ level, message }) {
    return { level, message };
}
