/** Tests of extensions without a host: in the same process (`harness`) or as a process of its own (`launch`). */
import type { Extension } from './extension.js';
import type { HostFrame } from './frames.js';
import type { HostOptions } from './test_answers.js';
import { TestHost } from './test_host.js';
export { launch, ProcessHost, type Exit, type LaunchOptions } from './test_process.js';
export { TestHost } from './test_host.js';
export type { CallOutcome, HostOptions, Judged, Pending } from './test_answers.js';
export interface HarnessOptions extends HostOptions {
    /** Milliseconds that calls may take to finish once it is stopped; default 200, the same again once aborted. */
    finishMs?: number;
}
/** Runs the extension in this process. All that is said goes through JSON, as on a pipe. */
export declare class Harness extends TestHost {
    #private;
    /** What the extension reported about failed handlers; a process writes it to stderr. */
    readonly reports: string[];
    constructor(extension: Extension, { finishMs, ...options }: HarnessOptions);
    send(frame: HostFrame): void;
    /** Gives it a line that need not be a frame. */
    write(line: string): void;
    stop(): Promise<void>;
    protected handled(): Promise<void>;
    protected evidence(): string;
}
/** Starts the extension in this process. Stop it at the end: an extension has one conversation at a time. */
export declare function harness(extension: Extension, options?: HarnessOptions): Promise<Harness>;
