/** What an author writes against. */
import { Conversation, type Link, type Patience } from './conversation.js';
import type { ToolOutput } from './content.js';
import type { ContentBlock, KeyName, LogLevel, NoteLevel, PanelFields } from './frames.js';
import type { Event, Events, ToolAnswered, ToolCalled } from './happenings.js';
import type { HostInfo } from './host_info.js';
import { type JsonObject } from './json.js';
import { type RunOptions } from './process.js';
import { type CommandHandler, type ToolHandler, type ToolOptions } from './registry.js';
import type { ObjectSchema } from './schema.js';
import type { Verdict } from './verdicts.js';
type Awaitable<T> = T | Promise<T>;
/** Makes an extension. Nothing is said to anyone before `run`. */
export declare function extension(name: string, version?: string): Extension;
export declare class Extension {
    #private;
    readonly name: string;
    readonly version: string;
    constructor(name: string, version: string);
    /** What the host said of itself. Known in every handler; before that it throws: await `greeted` then. */
    get host(): HostInfo;
    /** Resolves with the host's information once it has said hello; rejects if the conversation ends before. */
    get greeted(): Promise<HostInfo>;
    /** A slash command. Its handler gets what stands after the name. */
    command(name: string, description: string, handler: CommandHandler): this;
    /** A tool for the model. `parameters` is made by `s.object(...)`, which types the handler, or is JSON Schema. */
    tool<Args>(name: string, options: ToolOptions & {
        parameters: ObjectSchema<Args>;
    }, handler: ToolHandler<Args>): this;
    tool<Args = any>(name: string, options: ToolOptions & {
        parameters?: JsonObject;
    }, handler: ToolHandler<Args>): this;
    /** Takes a tool back. Calls under way finish; the model is not offered it from the next turn on. */
    unregisterTool(name: string): this;
    /** Listens. Handlers are run one after another, in the order of the events, so that none is overtaken. */
    on<Name extends keyof Events>(event: Name, handler: (event: Event<Name>) => unknown): this;
    /** Judges each call of a tool: `allow()`, `block(reason)` or `rewrite({...})` with other arguments. */
    interceptToolCall(guard: (call: ToolCalled) => Awaitable<Verdict<JsonObject>>): this;
    /** Judges each turn before it begins: `allow()` or `block(reason)`. */
    interceptTurnStart(guard: (turn: {
        step: number;
    }) => Awaitable<Verdict>): this;
    /** Judges what the model said before anyone sees it: `allow()`, `block(reason)` or `rewrite(text)`. */
    interceptAssistantMessage(guard: (message: {
        text: string;
    }) => Awaitable<Verdict<string>>): this;
    /** Judges what the user asks: `allow()`, `block(reason)` or `rewrite(text)`. */
    interceptUserPrompt(guard: (prompt: {
        text: string;
    }) => Awaitable<Verdict<string>>): this;
    /** Judges what a tool answered before the model sees it: `allow()`, `block(reason)` or `rewrite(output)`. */
    interceptToolResult(guard: (result: ToolAnswered) => Awaitable<Verdict<string | ContentBlock[] | Exclude<ToolOutput, void>>>): this;
    /** Called for each key that is pressed while the panel is open, in order. A typed character is in `text`. */
    onPanelKey(panelId: string, handler: (key: KeyName, text: string) => unknown): this;
    /** Called when the size of the panel changes: columns and lines. */
    onPanelResize(panelId: string, handler: (width: number, height: number) => unknown): this;
    /** Called when the user has closed the panel. */
    onPanelClose(panelId: string, handler: () => unknown): this;
    /** Runs before the process ends, in order of registration; half a second for all together. */
    onShutdown(hook: () => unknown): this;
    /** Shows the user a note. */
    notify(level: NoteLevel, message: string): Promise<void>;
    /** Takes back the notes of this extension. */
    clearNotes(): Promise<void>;
    /** Draws the panel anew. What is left out stays as it was. */
    renderPanel(panelId: string, fields: PanelFields): Promise<void>;
    closePanel(panelId: string): Promise<void>;
    /** A line with a level and fields for the extension's log; goes to stderr where the host does not take such lines. */
    log(level: LogLevel, message: string, fields?: JsonObject): Promise<void>;
    /** Serves the host on stdin and stdout, then ends the process. Nothing after it is run. */
    run(options?: RunOptions): Promise<never>;
    /** The same, but only if the module is what node was started with: a test may import it. Give `import.meta.url`. */
    runIfMain(moduleUrl: string, options?: RunOptions): Promise<void>;
    /** Holds a conversation over any link; `run` and the test harness do. One at a time. */
    converse(link: Link, patience?: Patience): Conversation;
}
export {};
