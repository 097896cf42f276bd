/** The leases of a process that serves one run after another, one step at a time. */
import { full } from './errors.js';
export class Leases {
    #registry;
    #send;
    #report;
    #last = Promise.resolve();
    constructor(registry, send, report) {
        this.#registry = registry;
        this.#send = send;
        this.#report = report;
    }
    /** Runs the handlers, then says that the lease has begun. Says nothing if one fails: the host replaces the process. */
    begin({ id, session_id: sessionId, cwd = '' }) {
        this.#then('onLeaseBegin', async () => {
            for (const handler of this.#registry.leaseHandlers.begin)
                await handler({ sessionId, cwd });
            await this.#send({ type: 'lease_ready', id });
        });
    }
    /** Waits until all handlers of the session have ended, runs those of `onLeaseEnd`, and forgets its state. */
    end({ session_id: sessionId, cwd = '' }, served) {
        this.#then('onLeaseEnd', async () => {
            await served;
            try {
                for (const handler of this.#registry.leaseHandlers.end)
                    await handler({ sessionId, cwd });
            }
            finally {
                this.#registry.sessions.forget(sessionId);
            }
        });
    }
    /** Resolves when all steps so far are done. */
    settled() {
        return this.#last;
    }
    #then(what, step) {
        this.#last = this.#last.then(step).catch((error) => this.#report(`${what} failed: ${full(error)}`));
    }
}
