/** `Extension`: registers tools, commands, guards and handlers, speaks to the host, and runs. */
import { Conversation } from './conversation.js';
import { stamp } from './current_session.js';
import { brief } from './errors.js';
import { encode } from './json.js';
import { isEntryPoint, serveProcess } from './process.js';
import { Registry, } from './registry.js';
/** Makes an extension. It sends nothing before `run`. */
export function extension(name, version = '0.0.0', options = {}) {
    return new Extension(name, version, options);
}
export class Extension {
    name;
    version;
    #registry = new Registry();
    #capabilities;
    #conversation;
    #early = [];
    #greeting = new Greeting();
    constructor(name, version, { latePrompts = false } = {}) {
        if (typeof name !== 'string' || name === '')
            throw new TypeError('an extension needs a name');
        this.name = name;
        this.version = version;
        this.#capabilities = latePrompts ? ['submit'] : [];
    }
    // --- the host ---------------------------------------------------------------------------------------------
    /** The facts in the host's `hello_ack`. Known in every handler; throws before. Other code awaits `greeted`. */
    get host() {
        const host = this.#conversation?.host;
        if (!host)
            throw new Error('the host has not said hello yet; await extension.greeted first');
        return host;
    }
    /** Resolves with the host's information when it has said hello; rejects if the conversation ends before. */
    get greeted() {
        return this.#greeting.promise;
    }
    // --- registrations: before `run` or at any time later ----------------------------------------------------
    /** Registers a slash command. Its handler gets the text after the command's name. */
    command(name, description, handler) {
        return this.#offer(this.#registry.addCommand(name, description, handler));
    }
    tool(name, { parameters, ...options }, handler) {
        const isTyped = isBuilt(parameters);
        const schema = isTyped ? parameters.json : (parameters ?? { type: 'object', properties: {} });
        return this.#offer(this.#registry.addTool(name, { options, schema, isTyped, handler }));
    }
    /** Removes a tool. Calls under way finish; from the next turn on the model does not see it. */
    unregisterTool(name) {
        const isKnown = this.#registry.tools.delete(name);
        return isKnown ? this.#offer({ type: 'unregister_tool', name }) : this;
    }
    /** Calls the handler after an event. All handlers run one after another, in the order of the events. */
    on(event, handler) {
        return this.#offer(this.#registry.addListener(event, handler));
    }
    /** Judges each call of a tool: `allow()`, `block(reason)` or `rewrite({...})` with other arguments. */
    interceptToolCall(guard) {
        return this.#guard('tool_call', guard);
    }
    /** Judges each turn before it begins: `allow()` or `block(reason)`. */
    interceptTurnStart(guard) {
        return this.#guard('turn_start', guard);
    }
    /** Judges a message of the model before it is shown: `allow()`, `block(reason)` or `rewrite(text)`. */
    interceptAssistantMessage(guard) {
        return this.#guard('assistant_message', guard);
    }
    /** Judges a prompt of the user: `allow()`, `block(reason)` or `rewrite(text)`. */
    interceptUserPrompt(guard) {
        return this.#guard('user_prompt', guard);
    }
    /** Judges the result of a tool before the model sees it: `allow()`, `block(reason)` or `rewrite(output)`. */
    interceptToolResult(guard) {
        return this.#guard('tool_result', guard);
    }
    /**
     * Asks before the first request to the model, and again when the model or the session changes. The guard returns the
     * whole new system prompt ('' removes it), or nothing. One that fails leaves the prompt as it is.
     */
    interceptBeforeAgentStart(guard) {
        return this.#guard('before_agent_start', guard);
    }
    /** Calls the handler for each key that is pressed in the panel, in order. A typed character is in `text`. */
    onPanelKey(panelId, handler) {
        this.#registry.addPanelHandlers(panelId, { key: handler });
        return this;
    }
    /** Calls the handler when the size of the panel changes: columns and lines. */
    onPanelResize(panelId, handler) {
        this.#registry.addPanelHandlers(panelId, { resize: handler });
        return this;
    }
    /** Calls the handler when the user has closed the panel. */
    onPanelClose(panelId, handler) {
        this.#registry.addPanelHandlers(panelId, { close: handler });
        return this;
    }
    /** Runs the hook before the process ends, in order of registration. All hooks together have half a second. */
    onShutdown(hook) {
        this.#registry.shutdownHooks.push(hook);
        return this;
    }
    // --- sessions: for an extension that several runs use -----------------------------------------------------
    /**
     * Keeps a state for each session, made when a handler first asks for it and dropped at the end of the session:
     * `const notes = ext.sessionState(() => [])`, and in a handler `notes().push(text)`. The returned function throws
     * outside of handlers and of all that they have started.
     */
    sessionState(make) {
        for (const event of ['session_start', 'session_end'])
            this.#offer(this.#registry.addListener(event));
        return this.#registry.sessions.state(make);
    }
    /**
     * Calls the handler when the next run gets this process for itself. The run begins when the handler is done, and waits
     * 2 seconds for that. If it throws, the host ends the process. Before `run` only, like `onLeaseEnd`.
     */
    onLeaseBegin(handler) {
        return this.#onLease('begin', handler);
    }
    /** Calls the handler when all others of a run that had this process for itself have ended: it forgets the run. */
    onLeaseEnd(handler) {
        return this.#onLease('end', handler);
    }
    // --- messages: each promise resolves when the frame has left the process ----------------------------------
    /** Shows the user a note. */
    notify(level, message) {
        return this.#tell({ type: 'notify', level, message });
    }
    /** Removes the notes of this extension. */
    clearNotes() {
        return this.#tell({ type: 'clear_notes' });
    }
    /** Opens a panel, as an `openPanel` answer does, but at any time. */
    openPanel(id, fields = {}) {
        if (typeof id !== 'string' || id === '')
            throw new TypeError(`openPanel takes the id of a panel, not ${id}`);
        for (const [name, value] of Object.entries(fields)) {
            const isRight = name === 'lines' ? Array.isArray(value) && value.every(isText) : isText(value);
            if (!isRight)
                throw new TypeError(`openPanel: ${name} is a ${name === 'lines' ? 'list of texts' : 'text'}`);
        }
        return this.#tell({ type: 'open_panel', panel: { id, ...fields } });
    }
    /** Sends a prompt to the agent, at any time. It runs after the prompts that wait. */
    submit(text) {
        if (typeof text !== 'string')
            throw new TypeError(`submit takes a text, not ${JSON.stringify(text)}`);
        if (text.trim() === '')
            throw new TypeError('submit: the prompt is blank, which a host ignores');
        return this.#tell({ type: 'submit', text });
    }
    /** Draws an open panel. Fields that are left out do not change. */
    renderPanel(panelId, fields) {
        return this.#tell({ type: 'panel_render', panel_id: panelId, ...fields });
    }
    /** Closes an open panel. */
    closePanel(panelId) {
        return this.#tell({ type: 'panel_close', panel_id: panelId });
    }
    /** Writes a line with a level and fields to the extension's log; to stderr if the host has no feature `log`. */
    async log(level, message, fields) {
        if (this.#conversation?.host?.features.has('log')) {
            return this.#say({ type: 'log', level, message, ...(fields === undefined ? {} : { fields }) });
        }
        this.#report(fields === undefined ? `${level}: ${message}` : `${level}: ${message} ${JSON.stringify(fields)}`);
    }
    // --- tools of others --------------------------------------------------------------------------------------
    /**
     * Has the host call a tool, of the agent or of another extension. In a tool's handler the call is a part of its own
     * call, and is cancelled with it: it rejects with a CancelledError. A tool that fails, or is refused, gives a result
     * with `isError`. Rejects in a guard, and if the host calls no tools for extensions.
     */
    async callTool(name, args = {}) {
        const host = this.host;
        return this.#conversation.callTool(host, name, args);
    }
    // --- running ----------------------------------------------------------------------------------------------
    /** Serves the host on stdin and stdout, then ends the process. It never returns. */
    async run(options = {}) {
        return serveProcess(this, options);
    }
    /** `run`, but only if node was started with this module, so that a test can import it. Pass `import.meta.url`. */
    async runIfMain(moduleUrl, options = {}) {
        if (isEntryPoint(moduleUrl))
            await this.run(options);
    }
    /** Starts a conversation over a link. For `run` and the test harness; one conversation at a time. */
    converse(link, patience) {
        if (this.#conversation)
            throw new Error(`${this.name} is running already`);
        const conversation = new Conversation(this.#registry, link, (host) => this.#greeting.arrived(host), patience);
        this.#conversation = conversation;
        conversation.start(this.name, this.version, this.#capabilities);
        for (const frame of this.#early.splice(0))
            void conversation.send(frame);
        void conversation.over.then(() => {
            this.#conversation = undefined;
            this.#greeting.missed();
            this.#greeting = new Greeting();
        });
        return conversation;
    }
    #onLease(moment, handler) {
        if (this.#conversation)
            throw new Error('handlers of leases come before run(): the hello says whether there are any');
        this.#registry.leaseHandlers[moment].push(handler);
        return this;
    }
    #guard(event, guard) {
        return this.#offer(this.#registry.addGuard(event, guard));
    }
    /** Before `run` nothing is sent: the registry has it. Later it is sent at once. */
    #offer(frame) {
        if (frame)
            void this.#conversation?.send(frame);
        return this;
    }
    /** Says something about the session of the handler that runs here. */
    #tell(frame) {
        return this.#say(stamp(frame));
    }
    /** Messages before `run` are sent after `ready`. A frame that JSON cannot hold is reported and dropped. */
    async #say(frame) {
        try {
            if (this.#conversation)
                await this.#conversation.send(frame);
            else
                this.#early.push(JSON.parse(encode(frame)));
        }
        catch (error) {
            this.#report(`a ${frame.type} frame cannot be sent: ${brief(error)}`);
        }
    }
    #report(message) {
        process.stderr.write(`[${this.name}] ${message}\n`);
    }
}
function isText(value) {
    return typeof value === 'string';
}
class Greeting {
    arrived = () => { };
    missed = () => { };
    promise = new Promise((resolve, reject) => {
        this.arrived = resolve;
        this.missed = () => reject(new Error('the conversation ended before the host said hello'));
    });
    constructor() {
        this.promise.catch(() => { }); // an unawaited rejection is not an error
    }
}
function isBuilt(parameters) {
    const json = parameters?.['json'];
    return typeof json === 'object' && json !== null && !('type' in parameters);
}
