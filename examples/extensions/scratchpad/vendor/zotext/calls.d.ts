/** The tool calls and commands under way. Each can be cancelled, and is answered exactly once. */
import type { CommandResponseFrame, ToolResultFrame } from './frames.js';
/** The reason of a call's aborted signal. Its name is the platform's own: `error.name === 'AbortError'` holds. */
export declare class CancelledError extends Error {
    readonly name = "AbortError";
}
export type Answer = ToolResultFrame | CommandResponseFrame;
export declare class Call {
    #private;
    readonly id: string;
    constructor(id: string, refused: (message: string) => Answer, send: (answer: Answer) => void);
    get signal(): AbortSignal;
    get isAnswered(): boolean;
    /** Listeners of the signal run as a part of the call: their notes are for its session. */
    readonly cancel: (reason: string) => void;
    /** Sends the first answer and drops later ones. If JSON cannot hold it, an error that says so is sent instead. */
    answer(answer: Answer): void;
    refuse(message: string): void;
}
export declare class Calls {
    #private;
    has(id: string): boolean;
    /** Starts the work at once and keeps the call until it has settled. The work must not throw. */
    run(call: Call, work: (call: Call) => Promise<void>): void;
    cancel(id: string, reason: string): void;
    cancelAll(reason: string): void;
    refuseAll(message: string): void;
    settled(): Promise<void>;
}
