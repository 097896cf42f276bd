/** Runs tasks one after another within each sequence, and the sequences beside each other. */
/** Tasks of one sequence that may wait; what comes beyond is left out. */
export declare const WAITING_LIMIT = 10000;
export declare class Sequences {
    #private;
    constructor(report: (message: string) => void);
    /** Runs it after those that were added to the same sequence before. A task must not throw. */
    add(name: string, task: () => Promise<void>): void;
    /** Resolves once all that has been added so far is done. */
    settled(): Promise<void>;
}
