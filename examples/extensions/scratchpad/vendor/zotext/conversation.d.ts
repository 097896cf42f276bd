/** One conversation with a host: who is told what, and what is answered. Does no I/O itself: that is the link's. */
import type { ExtensionFrame, HostFrame } from './frames.js';
import { type HostInfo } from './host_info.js';
import { type Unknown, type Unusable } from './reading.js';
import type { Registry } from './registry.js';
/** Where a conversation goes to. */
export interface Link {
    /** Sends one line, given without its LF. Resolves once it has left, or cannot any more; never rejects. */
    write(line: string): Promise<void>;
    /** A line for the extension's log. */
    report(message: string): void;
}
/** Milliseconds that the steps of a stop may take; a host ends the process two seconds after it said `shutdown`. */
export interface Patience {
    /** Until calls under way are aborted. */
    readonly finish: number;
    /** Until they are given up. */
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
    /** Says who it is and what it offers; does not wait for the host's greeting. */
    start(name: string, version: string): void;
    /** Throws a TypeError for a frame that cannot be written as JSON. */
    send(frame: ExtensionFrame): Promise<void>;
    /** Takes one line of the host. Never throws, never waits. */
    receiveLine(line: string): void;
    receive(frame: HostFrame | Unknown | Unusable): void;
    /** Resolves once the handlers of all events and panel frames received so far are done. */
    handled(): Promise<void>;
    /** Lets calls finish, within bounds, runs the shutdown hooks and says goodbye. May be called again. */
    stop(): Promise<void>;
}
