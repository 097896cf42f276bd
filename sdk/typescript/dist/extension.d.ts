/** `Extension`: registers tools, commands, guards and handlers, speaks to the host, and runs. */
import { Conversation, type Link, type Patience } from './conversation.js';
import type { CalledResult, ToolOutput } from './content.js';
import type { ContentBlock, KeyName, LogLevel, NoteLevel, PanelFields } from './frames.js';
import type { AgentStart, Event, Events, ToolAnswered, ToolCalled } from './events.js';
import type { HostInfo } from './host_info.js';
import { type JsonObject } from './json.js';
import { type RunOptions } from './process.js';
import { type CommandHandler, type LeaseHandler, type ToolHandler, type ToolOptions } from './registry.js';
import type { ObjectSchema } from './schema.js';
import type { Session } from './sessions.js';
import type { Verdict } from './verdicts.js';
type Awaitable<T> = T | Promise<T>;
export interface ExtensionOptions {
    /** A run waits at its end for prompts that the extension may still `submit`. */
    latePrompts?: boolean;
}
/** Makes an extension. It sends nothing before `run`. */
export declare function extension(name: string, version?: string, options?: ExtensionOptions): Extension;
export declare class Extension {
    #private;
    readonly name: string;
    readonly version: string;
    constructor(name: string, version: string, { latePrompts }?: ExtensionOptions);
    /** The facts in the host's `hello_ack`. Known in every handler; throws before. Other code awaits `greeted`. */
    get host(): HostInfo;
    /** Resolves with the host's information when it has said hello; rejects if the conversation ends before. */
    get greeted(): Promise<HostInfo>;
    /** Registers a slash command. Its handler gets the text after the command's name. */
    command(name: string, description: string, handler: CommandHandler): this;
    /** Registers a tool. `parameters` is made by `s.object(...)`, which types the handler, or is JSON Schema. */
    tool<Args>(name: string, options: ToolOptions & {
        parameters: ObjectSchema<Args>;
    }, handler: ToolHandler<Args>): this;
    tool<Args = any>(name: string, options: ToolOptions & {
        parameters?: JsonObject;
    }, handler: ToolHandler<Args>): this;
    /** Removes a tool. Calls under way finish; from the next turn on the model does not see it. */
    unregisterTool(name: string): this;
    /** Calls the handler after an event. All handlers run one after another, in the order of the events. */
    on<Name extends keyof Events>(event: Name, handler: (event: Event<Name>) => unknown): this;
    /** Judges each call of a tool: `allow()`, `block(reason)` or `rewrite({...})` with other arguments. */
    interceptToolCall(guard: (call: ToolCalled & Session) => Awaitable<Verdict<JsonObject>>): this;
    /** Judges each turn before it begins: `allow()` or `block(reason)`. */
    interceptTurnStart(guard: (turn: {
        step: number;
    } & Session) => Awaitable<Verdict>): this;
    /** Judges a message of the model before it is shown: `allow()`, `block(reason)` or `rewrite(text)`. */
    interceptAssistantMessage(guard: (message: {
        text: string;
    } & Session) => Awaitable<Verdict<string>>): this;
    /** Judges a prompt of the user: `allow()`, `block(reason)` or `rewrite(text)`. */
    interceptUserPrompt(guard: (prompt: {
        text: string;
    } & Session) => Awaitable<Verdict<string>>): this;
    /** Judges the result of a tool before the model sees it: `allow()`, `block(reason)` or `rewrite(output)`. */
    interceptToolResult(guard: (result: ToolAnswered & Session) => Awaitable<Verdict<string | ContentBlock[] | Exclude<ToolOutput, void>>>): this;
    /**
     * Asks before the first request to the model, and again when the model or the session changes. The guard returns the
     * whole new system prompt ('' removes it), or nothing. One that fails leaves the prompt as it is.
     */
    interceptBeforeAgentStart(guard: (start: AgentStart) => Awaitable<string | null | undefined | void>): this;
    /** Calls the handler for each key that is pressed in the panel, in order. A typed character is in `text`. */
    onPanelKey(panelId: string, handler: (key: KeyName, text: string, sessionId: string) => unknown): this;
    /** Calls the handler when the size of the panel changes: columns and lines. */
    onPanelResize(panelId: string, handler: (width: number, height: number, sessionId: string) => unknown): this;
    /** Calls the handler when the user has closed the panel. */
    onPanelClose(panelId: string, handler: (sessionId: string) => unknown): this;
    /** Runs the hook before the process ends, in order of registration. All hooks together have half a second. */
    onShutdown(hook: () => unknown): this;
    /**
     * Keeps a state for each session, made when a handler first asks for it and dropped at the end of the session:
     * `const notes = ext.sessionState(() => [])`, and in a handler `notes().push(text)`. The returned function throws
     * outside of handlers and of all that they have started.
     */
    sessionState<T>(make: () => T): () => T;
    /**
     * Calls the handler when the next run gets this process for itself. The run begins when the handler is done, and waits
     * 2 seconds for that. If it throws, the host ends the process. Before `run` only, like `onLeaseEnd`.
     */
    onLeaseBegin(handler: LeaseHandler): this;
    /** Calls the handler when all others of a run that had this process for itself have ended: it forgets the run. */
    onLeaseEnd(handler: LeaseHandler): this;
    /** Shows the user a note. */
    notify(level: NoteLevel, message: string): Promise<void>;
    /** Removes the notes of this extension. */
    clearNotes(): Promise<void>;
    /** Opens a panel, as an `openPanel` answer does, but at any time. */
    openPanel(id: string, fields?: PanelFields): Promise<void>;
    /** Sends a prompt to the agent, at any time. It runs after the prompts that wait. */
    submit(text: string): Promise<void>;
    /** Draws an open panel. Fields that are left out do not change. */
    renderPanel(panelId: string, fields: PanelFields): Promise<void>;
    /** Closes an open panel. */
    closePanel(panelId: string): Promise<void>;
    /** Writes a line with a level and fields to the extension's log; to stderr if the host has no feature `log`. */
    log(level: LogLevel, message: string, fields?: JsonObject): Promise<void>;
    /**
     * Has the host call a tool, of the agent or of another extension. In a tool's handler the call is a part of its own
     * call, and is cancelled with it: it rejects with a CancelledError. A tool that fails, or is refused, gives a result
     * with `isError`. Rejects in a guard, and if the host calls no tools for extensions.
     */
    callTool(name: string, args?: JsonObject): Promise<CalledResult>;
    /** Serves the host on stdin and stdout, then ends the process. It never returns. */
    run(options?: RunOptions): Promise<never>;
    /** `run`, but only if node was started with this module, so that a test can import it. Pass `import.meta.url`. */
    runIfMain(moduleUrl: string, options?: RunOptions): Promise<void>;
    /** Starts a conversation over a link. For `run` and the test harness; one conversation at a time. */
    converse(link: Link, patience?: Patience): Conversation;
}
export {};
