/**
 * The session that a handler works for, and state for each session.
 *
 * A process that several runs share gets the session and the folder of the run with each frame. A process of one run gets
 * them with events, and one that runs lease with `lease_begin`: there, frames without them are about the last one named.
 */
import { type Session } from './current_session.js';
import type { HostFrame } from './frames.js';
export type { Session } from './current_session.js';
/** A frame of the host about a session. */
export type SessionFrame = Extract<HostFrame, {
    session_id?: string;
}>;
export declare class Sessions {
    #private;
    /** The folder of the host, for frames before the first session. */
    greeted(cwd: string): void;
    /** Gives the frame the session and the folder that it lacks. Returns its session; undefined if it is about none. */
    complete(frame: HostFrame): Session | undefined;
    state<T>(make: () => T): () => T;
    /** Drops all state of a session that has ended. */
    forget(sessionId: string): void;
}
