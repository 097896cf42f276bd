/** Decodes one line of the host. Pure. */
import type { HostFrame } from './frames.js';
/** A frame of an unknown type: ignored, as the protocol demands. */
export interface Unknown {
    unknown: string;
}
/** A line that cannot be used, and why. */
export interface Unusable {
    problem: string;
    /** The request in this line, if it could be read: the host waits for an answer to it. */
    request?: {
        type: 'tool_call' | 'command_invoked' | 'event_intercept';
        id: string;
    };
}
export declare function read(line: string): HostFrame | Unknown | Unusable;
