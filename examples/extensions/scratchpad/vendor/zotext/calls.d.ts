/** The tool calls and commands under way: who may be cancelled, and that each is answered exactly once. */
import type { CommandResponseFrame, ToolResultFrame } from './frames.js';
/** Why a call's signal was aborted. Named as the platform's own, so that `error.name === 'AbortError'` holds. */
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
    cancel(reason: string): void;
    /** The second and later answers are dropped. One that cannot be written as JSON becomes an error that says so. */
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
