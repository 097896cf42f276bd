/** The host's side of a conversation, for tests: sends frames, keeps those of the extension, waits with deadlines. */
import type { EventName, ExtensionFrame, GuardedName, HostFrame, KeyName, LogLevel, NoteLevel, PanelFields } from './frames.js';
import type { JsonObject } from './json.js';
import type { CommandResponse } from './responses.js';
import type { CallOutcome, Fields, HostOptions, Judged, Pending } from './test_answers.js';
type Frame<Type extends ExtensionFrame['type']> = Extract<ExtensionFrame, {
    type: Type;
}>;
export declare abstract class TestHost {
    #private;
    /** All frames of the extension, in order. */
    readonly frames: ExtensionFrame[];
    /** Lines on its stdout that are not frames. */
    readonly junk: string[];
    readonly deadlineMs: number;
    /** The extension's folder for state: that of the options, else a new one, which is removed at the end. */
    readonly dataDir: string;
    constructor({ deadlineMs, host, hostTools }: HostOptions);
    /** Sends any frame. */
    abstract send(frame: HostFrame): void;
    /** Sends `shutdown` and waits for the end. */
    abstract stop(): Promise<void>;
    /** Text that explains a failed wait. */
    protected abstract evidence(): string;
    /** The registered tools, by name. */
    get tools(): Map<string, Frame<'register_tool'>>;
    /** The commands and their descriptions. */
    get commands(): Map<string, string>;
    /** The notes that a user would see now. */
    get notes(): {
        level: NoteLevel;
        message: string;
    }[];
    /** The prompts that it has submitted. */
    get prompts(): string[];
    get logs(): {
        level: LogLevel;
        message: string;
        fields?: JsonObject;
    }[];
    /** The content that `panel_render` frames have drawn in the panel; undefined before the first. */
    panel(id: string): PanelFields | undefined;
    /** All frames of that type so far. */
    said<Type extends ExtensionFrame['type']>(type: Type): Frame<Type>[];
    /**
     * Sends the frames of `work` as those of one of several runs that share the extension; in it, `notes`, `prompts` and
     * `panel` leave out those of other sessions.
     */
    inSession<T>({ sessionId, cwd }: {
        sessionId: string;
        cwd?: string;
    }, work: () => T): T;
    /** Leases it to one run for `work`, in a session: waits for its `lease_ready` before, and ends both after it. */
    lease<T>({ sessionId, cwd }: {
        sessionId: string;
        cwd?: string;
    }, work: () => Promise<T>): Promise<T>;
    callTool(name: string, args?: JsonObject): Promise<CallOutcome>;
    /** Starts a call and does not wait, so that the test can watch and cancel it. */
    beginTool(name: string, args?: JsonObject): Pending<CallOutcome>;
    runCommand(name: string, args?: string): Promise<CommandResponse>;
    beginCommand(name: string, args?: string): Pending<CommandResponse>;
    /** Asks the guards. The fields are those of the wire: `tool_name`, `tool_args`, `step`, `text`, `content`. */
    intercept(event: GuardedName, fields?: Fields<'event_intercept'>): Promise<Judged>;
    /** Sends an event. In-process it resolves when the handlers are done; for a process, when it is sent. */
    event(event: EventName, fields?: Fields<'event'>): Promise<void>;
    pressKey(panelId: string, key: KeyName, text?: string): Promise<void>;
    resizePanel(panelId: string, width: number, height: number): Promise<void>;
    closePanel(panelId: string): Promise<void>;
    /** Resolves when it has answered a ping: then it has read all earlier frames. */
    ping(): Promise<void>;
    /** Waits for a frame that matches. Earlier frames count, too. */
    waitFor<T extends ExtensionFrame>(what: string, matches: (frame: ExtensionFrame) => frame is T): Promise<T>;
    waitFor(what: string, matches: (frame: ExtensionFrame) => boolean): Promise<ExtensionFrame>;
    /** Waits for `ready`: then all first registrations are known. */
    ready(): Promise<this>;
    protected handled(): Promise<void>;
    /** Handles one line of the extension. */
    protected heard(line: string): void;
    /** No more frames will come: every wait fails. */
    protected ended(why: string): void;
}
export {};
