/** What a test says to its host, and is told by it. */
import type { ContentBlock, HostFrame } from './frames.js';
import type { JsonObject } from './json.js';
export interface HostOptions {
    /** Milliseconds that any wait may take; default 5000. */
    deadlineMs?: number;
    /** What the host says of itself; all has a default. `features: []` is a host that knows no more than zot. */
    host?: {
        zotVersion?: string;
        provider?: string;
        model?: string;
        cwd?: string;
        extensionDir?: string;
        dataDir?: string;
        features?: string[];
    };
}
/** What a tool answered. */
export interface CallOutcome {
    /** All text blocks, a line each. */
    text: string;
    content: ContentBlock[];
    isError: boolean;
    /** What the handler told of its progress. */
    progress: string[];
}
/** What the guards said. Without a verdict of theirs it is allowed and nothing is rewritten. */
export interface Judged {
    blocked: boolean;
    reason?: string;
    args?: JsonObject;
    text?: string;
    result?: {
        content: ContentBlock[];
        isError?: boolean;
    };
}
/** A request under way. */
export interface Pending<T> {
    id: string;
    outcome: Promise<T>;
    cancel(reason?: string): void;
}
/** What a frame says besides its kind. */
export type Fields<Type extends 'event' | 'event_intercept'> = Partial<Omit<Extract<HostFrame, {
    type: Type;
}>, 'type' | 'id' | 'event'>>;
