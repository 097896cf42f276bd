/** Runs tasks one after another within each sequence, and the sequences beside each other. */
/** Tasks of one sequence that may wait; what comes beyond is left out. */
export const WAITING_LIMIT = 10_000;
export class Sequences {
    #report;
    #last = new Map();
    constructor(report) {
        this.#report = report;
    }
    /** Runs it after those that were added to the same sequence before. A task must not throw. */
    add(name, task) {
        const last = this.#last.get(name) ?? { done: Promise.resolve(), waiting: 0, overfull: false };
        this.#last.set(name, last);
        if (last.waiting >= WAITING_LIMIT) {
            if (!last.overfull)
                this.#report(`handlers of ${name} do not keep up: what comes meanwhile is left out`);
            last.overfull = true;
            return;
        }
        last.waiting += 1;
        last.done = last.done.then(task).finally(() => {
            last.waiting -= 1;
            last.overfull &&= last.waiting > WAITING_LIMIT / 2;
            if (last.waiting === 0)
                this.#last.delete(name);
        });
    }
    /** Resolves once all that has been added so far is done. */
    async settled() {
        await Promise.all([...this.#last.values()].map((one) => one.done));
    }
}
