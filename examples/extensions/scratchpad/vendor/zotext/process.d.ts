/** Serves an extension on the stdin and stdout of its process. */
import { type Conversation, type Link, type Patience } from './conversation.js';
export interface RunOptions {
    /**
     * Seconds that calls under way have to finish once the host says `shutdown`; default 1.2. Their signals are aborted
     * after three quarters of it. A larger value needs a host that waits longer than the usual two seconds.
     */
    stopWithinS?: number;
}
/** The part of an extension that `serveProcess` uses. */
interface Served {
    readonly name: string;
    converse(link: Link, patience?: Patience): Conversation;
}
/** Serves until the host ends the conversation; then ends the process. */
export declare function serveProcess(extension: Served, { stopWithinS }: RunOptions): Promise<never>;
/** Whether this module is the program that node was started with. */
export declare function isEntryPoint(moduleUrl: string): boolean;
export {};
