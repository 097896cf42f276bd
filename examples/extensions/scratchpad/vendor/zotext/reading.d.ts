/** Reads one line of the host. Pure: it says what a line is, and nobody is told yet. */
import type { HostFrame } from './frames.js';
/** A frame that this version does not know: ignored, as the protocol asks. */
export interface Unknown {
    unknown: string;
}
/** A line that cannot be used, and why. */
export interface Unusable {
    problem: string;
    /** Of the request that it was, as far as it could be read; its sender waits for an answer. */
    request?: {
        type: 'tool_call' | 'command_invoked' | 'event_intercept';
        id: string;
    };
}
export declare function read(line: string): HostFrame | Unknown | Unusable;
