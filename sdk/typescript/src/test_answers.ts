/** Options and results of the test host. */

import type { ToolOutput } from './content.js';
import type { ContentBlock, HostFrame } from './frames.js';
import type { Json, JsonObject } from './json.js';

export interface HostOptions {
  /** Milliseconds for each wait; default 5000. */
  deadlineMs?: number;
  /** The fields of `hello_ack`; every field has a default. `features: []` is zot itself. */
  host?: {
    zotVersion?: string;
    provider?: string;
    model?: string;
    cwd?: string;
    extensionDir?: string;
    dataDir?: string;
    features?: string[];
  };
  /**
   * The tools that the extension can call, by name: functions from the arguments to the result. For a name with null,
   * the test itself sends the `tool_result`. Without it, the host says that it calls no tools for extensions.
   */
  hostTools?: Record<string, ((args: JsonObject) => ToolOutput | Promise<ToolOutput>) | null>;
}

/** The result of a tool call. */
export interface CallOutcome {
  /** All text blocks, joined by line feeds. */
  text: string;
  content: ContentBlock[];
  isError: boolean;
  /** Progress that the handler reported. */
  progress: string[];
  /** The deferred tools that it offers from now on. */
  activate?: string[];
  structured?: Json;
}

/** The verdict of all guards. Without one it is allowed and not rewritten. */
export interface Judged {
  blocked: boolean;
  /** A person has to decide. */
  asks?: true;
  /** The text that is added for the model. */
  context?: string;
  reason?: string;
  args?: JsonObject;
  text?: string;
  systemPrompt?: string;
  result?: { content: ContentBlock[]; isError?: boolean };
}

/** A request under way. */
export interface Pending<T> {
  id: string;
  outcome: Promise<T>;
  cancel(reason?: string): void;
}

/** The fields of a frame without `type`, `id` and `event`. */
export type Fields<Type extends 'event' | 'event_intercept'> = Partial<
  Omit<Extract<HostFrame, { type: Type }>, 'type' | 'id' | 'event'>
>;
