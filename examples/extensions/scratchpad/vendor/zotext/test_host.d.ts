/** The host's side of a conversation, for tests: says frames, keeps what the extension says, waits with deadlines. */
import type { EventName, ExtensionFrame, GuardedName, HostFrame, KeyName, LogLevel, NoteLevel, PanelFields } from './frames.js';
import type { JsonObject } from './json.js';
import type { CommandResponse } from './responses.js';
import type { CallOutcome, Fields, HostOptions, Judged, Pending } from './test_answers.js';
type Frame<Type extends ExtensionFrame['type']> = Extract<ExtensionFrame, {
    type: Type;
}>;
export declare abstract class TestHost {
    #private;
    /** All that the extension has said, in order. */
    readonly frames: ExtensionFrame[];
    /** Lines on its stdout that were no frames. */
    readonly junk: string[];
    readonly deadlineMs: number;
    /** Where the extension keeps its state; a new folder, removed at the end, unless the options name one. */
    readonly dataDir: string;
    constructor({ deadlineMs, host }: HostOptions);
    /** Sends any frame. */
    abstract send(frame: HostFrame): void;
    /** Says `shutdown` and waits for the end. */
    abstract stop(): Promise<void>;
    /** What helps to understand a wait in vain. */
    protected abstract evidence(): string;
    /** The tools offered now, by name. */
    get tools(): Map<string, Frame<'register_tool'>>;
    /** The commands and their descriptions. */
    get commands(): Map<string, string>;
    /** The notes that a user would see now. */
    get notes(): {
        level: NoteLevel;
        message: string;
    }[];
    get logs(): {
        level: LogLevel;
        message: string;
        fields?: JsonObject;
    }[];
    /** What the panel shows, as far as `panel_render` said it; undefined before the first. */
    panel(id: string): PanelFields | undefined;
    /** All frames of that type so far. */
    said<Type extends ExtensionFrame['type']>(type: Type): Frame<Type>[];
    callTool(name: string, args?: JsonObject): Promise<CallOutcome>;
    /** Starts a call without waiting for it, to cancel it or to look on. */
    beginTool(name: string, args?: JsonObject): Pending<CallOutcome>;
    runCommand(name: string, args?: string): Promise<CommandResponse>;
    beginCommand(name: string, args?: string): Pending<CommandResponse>;
    /** Asks the guards. The fields are those of the wire: `tool_name`, `tool_args`, `step`, `text`, `content`. */
    intercept(event: GuardedName, fields?: Fields<'event_intercept'>): Promise<Judged>;
    /** Tells of an event. In-process it resolves once the handlers are done; of another process that cannot be seen. */
    event(event: EventName, fields?: Fields<'event'>): Promise<void>;
    pressKey(panelId: string, key: KeyName, text?: string): Promise<void>;
    resizePanel(panelId: string, width: number, height: number): Promise<void>;
    closePanel(panelId: string): Promise<void>;
    /** Resolves once it has answered a ping: then it has read all that was said before. */
    ping(): Promise<void>;
    /** Waits until it has said such a frame; what it said before counts, too. */
    waitFor<T extends ExtensionFrame>(what: string, matches: (frame: ExtensionFrame) => frame is T): Promise<T>;
    waitFor(what: string, matches: (frame: ExtensionFrame) => boolean): Promise<ExtensionFrame>;
    /** Waits for `ready`, which says that all first registrations are there. */
    ready(): Promise<this>;
    protected handled(): Promise<void>;
    /** Takes one line that the extension wrote. */
    protected heard(line: string): void;
    /** No more will be said: whoever waits, waits in vain. */
    protected ended(why: string): void;
}
export {};
