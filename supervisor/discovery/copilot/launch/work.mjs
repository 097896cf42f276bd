// Tells zot of work that handlers have begun and not ended. The SDK does not wait for handlers of events, and a run that
// ends would lose the prompt that one of them sends after it has waited for something else.

import { current } from "./handlers.mjs";
import { notify } from "./stdout.mjs";

const LONGEST_TIMER_MS = 1000; // of longer timers zot is told nothing

let open = 0; // promises that are not settled, and timers
let session;

function tell() {
  const told = session?.connection?.sendNotification?.("zot.working", { handlers: open });
  told?.catch?.(() => {}); // zot has closed the connection
}

function begin() {
  open += 1;
  if (open === 1) tell();
}

function end() {
  open -= 1;
  if (open === 0) tell();
}

function followed(value) {
  if (typeof value?.then !== "function") return value;
  begin();
  // Not `then(end, end)`: a rejection that nobody takes is to end the process, as without zot.
  Promise.resolve(value).finally(end);
  return value;
}

/** A handler of an event that is watched. It returns what it would without that. */
export function watched(handler) {
  return function watchedHandler(...given) {
    return followed(current.run({ name: "of an event", isRunning: false }, () => Reflect.apply(handler, this, given)));
  };
}

/** Watches short timers that are set on behalf of handlers, but not those that are set by such a timer: one that sets
 * itself anew would have no end. */
export function watchTimers() {
  const original = globalThis.setTimeout;
  function setTimeout(callback, delay, ...given) {
    const isWatched = typeof callback === "function" && current.getStore() && !(Number(delay) > LONGEST_TIMER_MS);
    if (!isWatched) return original(callback, delay, ...given);
    const timer = original(() => current.exit(() => followed(callback(...given))), delay);
    begin();
    original(end, delay).unref(); // whether the other one is cleared or not; it comes first
    return timer;
  }
  Object.defineProperties(setTimeout, Object.getOwnPropertyDescriptors(original));
  globalThis.setTimeout = setTimeout;
}

/** Watches the handlers that the session gets from now on, and says which prompts come after the end. Returns it. */
export function watchEvents(joined) {
  session = joined;
  if (open > 0) tell();
  const { on, send } = joined;
  joined.on = function watchedOn(...given) {
    return Reflect.apply(
      on,
      this,
      given.map((each) => (typeof each === "function" ? watched(each) : each)),
    );
  };
  joined.send = function watchedSend(...given) {
    return Reflect.apply(send, this, given).catch(explained);
  };
  return joined;
}

/** The SDK says of a session whose host has closed stdin that the connection is closed. zot still reads stdout. */
function explained(error) {
  if (!process.stdin.readableEnded && !process.stdin.destroyed) throw error;
  notify("zot.unsent");
  throw new Error("session.send: the run has ended: it takes no prompts any more", { cause: error });
}
