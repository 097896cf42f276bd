/** One conversation with a host: gives frames to their handlers, and answers. Does no I/O itself: the link does it. */
import { type CalledResult } from './content.js';
import type { ExtensionFrame, HostFrame } from './frames.js';
import { type HostInfo } from './host_info.js';
import { type JsonObject } from './json.js';
import { type Unknown, type Unusable } from './reading.js';
import type { Registry } from './registry.js';
/** The connection to the host. */
export interface Link {
    /** Sends one line, given without its LF. Resolves when it is written or can never be; never rejects. */
    write(line: string): Promise<void>;
    /** Writes a line to the extension's log. */
    report(message: string): void;
}
/** Milliseconds for the steps of a stop. A host ends the process two seconds after its `shutdown`. */
export interface Patience {
    /** For calls under way, before they are aborted. */
    readonly finish: number;
    /** For aborted calls, before they are answered with an error. */
    readonly abort: number;
    /** For the shutdown hooks. */
    readonly hooks: number;
}
export declare const PATIENCE: Patience;
export declare class Conversation {
    #private;
    /** Resolves once the conversation is over. */
    readonly over: Promise<void>;
    constructor(registry: Registry, link: Link, onHost: (host: HostInfo) => void, patience?: Patience);
    get host(): HostInfo | undefined;
    /** Sends `hello`, all registrations and `ready`. Does not wait for the host's `hello_ack`. */
    start(name: string, version: string, capabilities?: readonly string[]): void;
    /** Throws a TypeError if JSON cannot hold the frame. */
    send(frame: ExtensionFrame): Promise<void>;
    /** Has the host call a tool. */
    callTool(host: HostInfo, name: string, args: JsonObject): Promise<CalledResult>;
    /** Handles one line of the host. Never throws, never waits. */
    receiveLine(line: string): void;
    receive(frame: HostFrame | Unknown | Unusable): void;
    /** Resolves when the handlers of all events, panel and lease frames received so far are done. */
    handled(): Promise<void>;
    /** Lets calls finish within `Patience`, runs the shutdown hooks and sends `shutdown_ack`. May be called again. */
    stop(): Promise<void>;
}
