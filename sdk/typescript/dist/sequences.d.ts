/** Runs the tasks of one sequence one after another; several sequences run at the same time. */
/** Waiting tasks of one sequence; further tasks are dropped. */
export declare const WAITING_LIMIT = 10000;
export declare class Sequences {
    #private;
    constructor(report: (message: string) => void);
    /** Runs the task after the earlier ones of the same sequence. A task must not throw. */
    add(name: string, task: () => Promise<void>): void;
    /** Resolves when all tasks added so far are done. */
    settled(): Promise<void>;
}
