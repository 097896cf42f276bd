/** Tests an extension without a host: in the process of the test (`harness`) or as its own process (`launch`). */
import type { Extension } from './extension.js';
import type { HostFrame } from './frames.js';
import type { HostOptions } from './test_answers.js';
import { TestHost } from './test_host.js';
export { launch, ProcessHost, type Exit, type LaunchOptions } from './test_process.js';
export { TestHost } from './test_host.js';
export type { CallOutcome, HostOptions, Judged, Pending } from './test_answers.js';
export interface HarnessOptions extends HostOptions {
    /** Milliseconds for calls to finish after `stop`, and again as many after they are aborted; default 200. */
    finishMs?: number;
}
/** Runs the extension in this process. All frames go through JSON, as on a pipe. */
export declare class Harness extends TestHost {
    #private;
    /** Reports about failed handlers. A process writes them to stderr. */
    readonly reports: string[];
    constructor(extension: Extension, { finishMs, ...options }: HarnessOptions);
    send(frame: HostFrame): void;
    /** Sends a line that need not be a frame. */
    write(line: string): void;
    stop(): Promise<void>;
    protected handled(): Promise<void>;
    protected evidence(): string;
}
/** Starts the extension in this process. Stop it at the end: an extension has only one conversation at a time. */
export declare function harness(extension: Extension, options?: HarnessOptions): Promise<Harness>;
