/** Runs the tasks of one sequence one after another; several sequences run at the same time. */
/** Waiting tasks of one sequence; further tasks are dropped. */
export const WAITING_LIMIT = 10_000;
export class Sequences {
    #report;
    #last = new Map();
    constructor(report) {
        this.#report = report;
    }
    /** Runs the task after the earlier ones of the same sequence. A task must not throw. */
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
    /** Resolves when all tasks added so far are done. */
    async settled() {
        await Promise.all([...this.#last.values()].map(({ done }) => done));
    }
}
