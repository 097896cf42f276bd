/** What an author writes against. */
import { Conversation } from './conversation.js';
import { brief } from './errors.js';
import { encode } from './json.js';
import { isEntryPoint, serveProcess } from './process.js';
import { Registry, } from './registry.js';
/** Makes an extension. Nothing is said to anyone before `run`. */
export function extension(name, version = '0.0.0') {
    return new Extension(name, version);
}
export class Extension {
    name;
    version;
    #registry = new Registry();
    #conversation;
    #early = [];
    #greeting = new Greeting();
    constructor(name, version) {
        if (typeof name !== 'string' || name === '')
            throw new TypeError('an extension needs a name');
        this.name = name;
        this.version = version;
    }
    // --- the host ---------------------------------------------------------------------------------------------
    /** What the host said of itself. Known in every handler; before that it throws: await `greeted` then. */
    get host() {
        const host = this.#conversation?.host;
        if (!host)
            throw new Error('the host has not said hello yet; await extension.greeted first');
        return host;
    }
    /** Resolves with the host's information once it has said hello; rejects if the conversation ends before. */
    get greeted() {
        return this.#greeting.promise;
    }
    // --- registrations: before `run` or at any time later ----------------------------------------------------
    /** A slash command. Its handler gets what stands after the name. */
    command(name, description, handler) {
        return this.#offer(this.#registry.addCommand(name, description, handler));
    }
    tool(name, { parameters, ...options }, handler) {
        const isTyped = isBuilt(parameters);
        const schema = isTyped ? parameters.json : (parameters ?? { type: 'object', properties: {} });
        return this.#offer(this.#registry.addTool(name, { options, schema, isTyped, handler }));
    }
    /** Takes a tool back. Calls under way finish; the model is not offered it from the next turn on. */
    unregisterTool(name) {
        const isKnown = this.#registry.tools.delete(name);
        return isKnown ? this.#offer({ type: 'unregister_tool', name }) : this;
    }
    /** Listens. Handlers are run one after another, in the order of the events, so that none is overtaken. */
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
    /** Judges what the model said before anyone sees it: `allow()`, `block(reason)` or `rewrite(text)`. */
    interceptAssistantMessage(guard) {
        return this.#guard('assistant_message', guard);
    }
    /** Judges what the user asks: `allow()`, `block(reason)` or `rewrite(text)`. */
    interceptUserPrompt(guard) {
        return this.#guard('user_prompt', guard);
    }
    /** Judges what a tool answered before the model sees it: `allow()`, `block(reason)` or `rewrite(output)`. */
    interceptToolResult(guard) {
        return this.#guard('tool_result', guard);
    }
    /** Called for each key that is pressed while the panel is open, in order. A typed character is in `text`. */
    onPanelKey(panelId, handler) {
        this.#registry.addPanelHandlers(panelId, { key: handler });
        return this;
    }
    /** Called when the size of the panel changes: columns and lines. */
    onPanelResize(panelId, handler) {
        this.#registry.addPanelHandlers(panelId, { resize: handler });
        return this;
    }
    /** Called when the user has closed the panel. */
    onPanelClose(panelId, handler) {
        this.#registry.addPanelHandlers(panelId, { close: handler });
        return this;
    }
    /** Runs before the process ends, in order of registration; half a second for all together. */
    onShutdown(hook) {
        this.#registry.shutdownHooks.push(hook);
        return this;
    }
    // --- saying: each resolves once it has left the process --------------------------------------------------
    /** Shows the user a note. */
    notify(level, message) {
        return this.#say({ type: 'notify', level, message });
    }
    /** Takes back the notes of this extension. */
    clearNotes() {
        return this.#say({ type: 'clear_notes' });
    }
    /** Draws the panel anew. What is left out stays as it was. */
    renderPanel(panelId, fields) {
        return this.#say({ type: 'panel_render', panel_id: panelId, ...fields });
    }
    closePanel(panelId) {
        return this.#say({ type: 'panel_close', panel_id: panelId });
    }
    /** A line with a level and fields for the extension's log; goes to stderr where the host does not take such lines. */
    async log(level, message, fields) {
        if (this.#conversation?.host?.features.has('log')) {
            return this.#say({ type: 'log', level, message, ...(fields === undefined ? {} : { fields }) });
        }
        this.#report(fields === undefined ? `${level}: ${message}` : `${level}: ${message} ${JSON.stringify(fields)}`);
    }
    // --- running ----------------------------------------------------------------------------------------------
    /** Serves the host on stdin and stdout, then ends the process. Nothing after it is run. */
    async run(options = {}) {
        return serveProcess(this, options);
    }
    /** The same, but only if the module is what node was started with: a test may import it. Give `import.meta.url`. */
    async runIfMain(moduleUrl, options = {}) {
        if (isEntryPoint(moduleUrl))
            await this.run(options);
    }
    /** Holds a conversation over any link; `run` and the test harness do. One at a time. */
    converse(link, patience) {
        if (this.#conversation)
            throw new Error(`${this.name} is running already`);
        const conversation = new Conversation(this.#registry, link, (host) => this.#greeting.arrived(host), patience);
        this.#conversation = conversation;
        conversation.start(this.name, this.version);
        for (const frame of this.#early.splice(0))
            void conversation.send(frame);
        void conversation.over.then(() => {
            this.#conversation = undefined;
            this.#greeting.missed();
            this.#greeting = new Greeting();
        });
        return conversation;
    }
    #guard(event, guard) {
        return this.#offer(this.#registry.addGuard(event, guard));
    }
    /** Before `run` the registry keeps it; later the host is told at once. */
    #offer(frame) {
        if (frame)
            void this.#conversation?.send(frame);
        return this;
    }
    /** What is said before `run` follows after `ready`. What JSON cannot say is reported, and does no further harm. */
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
class Greeting {
    arrived = () => { };
    missed = () => { };
    promise = new Promise((resolve, reject) => {
        this.arrived = resolve;
        this.missed = () => reject(new Error('the conversation ended before the host said hello'));
    });
    constructor() {
        this.promise.catch(() => { }); // nobody has to wait for it
    }
}
function isBuilt(parameters) {
    const json = parameters?.['json'];
    return typeof json === 'object' && json !== null && !('type' in parameters);
}
