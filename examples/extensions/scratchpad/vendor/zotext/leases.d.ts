/** The leases of a process that serves one run after another, one step at a time. */
import type { LeaseBeginFrame, LeaseEndFrame, ExtensionFrame } from './frames.js';
import type { Registry } from './registry.js';
export declare class Leases {
    #private;
    constructor(registry: Registry, send: (frame: ExtensionFrame) => Promise<void>, report: (message: string) => void);
    /** Runs the handlers, then says that the lease has begun. Says nothing if one fails: the host replaces the process. */
    begin({ id, session_id: sessionId, cwd }: LeaseBeginFrame): void;
    /** Waits until all handlers of the session have ended, runs those of `onLeaseEnd`, and forgets its state. */
    end({ session_id: sessionId, cwd }: LeaseEndFrame, served: Promise<unknown>): void;
    /** Resolves when all steps so far are done. */
    settled(): Promise<void>;
}
