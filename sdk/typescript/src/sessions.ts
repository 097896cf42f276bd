/**
 * The session that a handler works for, and state for each session.
 *
 * A process that several runs share gets the session and the folder of the run with each frame. A process of one run gets
 * them with events, and one that runs lease with `lease_begin`: there, frames without them are about the last one named.
 */

import { currentSession, type Session } from './current_session.js';
import type { HostFrame } from './frames.js';

export type { Session } from './current_session.js';

/** A frame of the host about a session. */
export type SessionFrame = Extract<HostFrame, { session_id?: string }>;

const ABOUT_SESSIONS: ReadonlySet<HostFrame['type']> = new Set<SessionFrame['type']>([
  'command_invoked', 'tool_call', 'event', 'event_intercept', 'panel_key', 'panel_resize', 'panel_close', 'lease_begin',
  'lease_end',
]);

export class Sessions {
  readonly #states: Map<string, unknown>[] = [];
  #id = '';
  #cwd = '';

  /** The folder of the host, for frames before the first session. */
  greeted(cwd: string): void {
    this.#cwd = cwd;
  }

  /** Gives the frame the session and the folder that it lacks. Returns its session; undefined if it is about none. */
  complete(frame: HostFrame): Session | undefined {
    if (!isAboutSession(frame)) return undefined;
    if (frame.type === 'event' || frame.type === 'lease_begin') {
      this.#cwd = frame.cwd || (frame.session_id ? '' : this.#cwd);
      this.#id = frame.session_id || this.#id;
    }
    frame.session_id ||= this.#id;
    if (frame.session_id === this.#id) frame.cwd ||= this.#cwd;
    return { sessionId: frame.session_id, cwd: frame.cwd ?? '' };
  }

  state<T>(make: () => T): () => T {
    const states = new Map<string, T>();
    this.#states.push(states);
    return () => {
      const id = currentSession.getStore()?.sessionId;
      if (id === undefined) throw new Error('the state of a session is known in handlers only, and in what they start');
      if (!states.has(id)) states.set(id, make());
      return states.get(id)!;
    };
  }

  /** Drops all state of a session that has ended. */
  forget(sessionId: string): void {
    for (const states of this.#states) states.delete(sessionId);
  }
}

function isAboutSession(frame: HostFrame): frame is SessionFrame {
  return ABOUT_SESSIONS.has(frame.type);
}
