/** The tool calls and commands under way. Each can be cancelled, and is answered exactly once. */
import { AsyncResource } from 'node:async_hooks';
/** The reason of a call's aborted signal. Its name is the platform's own: `error.name === 'AbortError'` holds. */
export class CancelledError extends Error {
    name = 'AbortError';
}
export class Call {
    id;
    #controller = new AbortController();
    #refused;
    #send;
    #answered = false;
    constructor(id, refused, send) {
        this.id = id;
        this.#refused = refused;
        this.#send = send;
    }
    get signal() {
        return this.#controller.signal;
    }
    get isAnswered() {
        return this.#answered;
    }
    /** Listeners of the signal run as a part of the call: their notes are for its session. */
    cancel = AsyncResource.bind((reason) => {
        this.#controller.abort(new CancelledError(reason));
    });
    /** Sends the first answer and drops later ones. If JSON cannot hold it, an error that says so is sent instead. */
    answer(answer) {
        if (this.#answered)
            return;
        this.#answered = true;
        try {
            this.#send(answer);
        }
        catch (error) {
            this.#send(this.#refused(`the answer cannot be sent: ${error.message}`));
        }
    }
    refuse(message) {
        this.answer(this.#refused(message));
    }
}
export class Calls {
    #calls = new Map();
    has(id) {
        return this.#calls.has(id);
    }
    /** Starts the work at once and keeps the call until it has settled. The work must not throw. */
    run(call, work) {
        const entry = { call, done: Promise.resolve() };
        this.#calls.set(call.id, entry);
        entry.done = work(call).finally(() => this.#calls.delete(call.id));
    }
    cancel(id, reason) {
        this.#calls.get(id)?.call.cancel(reason);
    }
    cancelAll(reason) {
        for (const { call } of this.#calls.values())
            call.cancel(reason);
    }
    refuseAll(message) {
        for (const { call } of this.#calls.values())
            call.refuse(message);
    }
    async settled() {
        await Promise.all([...this.#calls.values()].map(({ done }) => done));
    }
}
