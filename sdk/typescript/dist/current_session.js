/** The session of the code that runs now, and the mark of it on frames. */
import { AsyncLocalStorage } from 'node:async_hooks';
/** The session whose handler runs here, with all that it has started. */
export const currentSession = new AsyncLocalStorage();
/** The frame of an extension with the session of the handler that sends it, if the host has named one. */
export function stamp(frame) {
    const sessionId = currentSession.getStore()?.sessionId;
    return sessionId ? { ...frame, session_id: sessionId } : frame;
}
