/** Serves an extension on the stdin and stdout of its process. */
import type { Extension } from './extension.js';
export interface RunOptions {
    /**
     * Seconds that calls under way have to finish once the host stops; default 1.2. Signals are aborted after three
     * quarters of it. More than that needs a host that waits for longer than its usual two seconds.
     */
    stopWithinS?: number;
}
export declare function serveProcess(extension: Extension, { stopWithinS }: RunOptions): Promise<never>;
/** Whether node was started with this module. */
export declare function isEntryPoint(moduleUrl: string): boolean;
