// Tells zot of work that handlers have begun and not ended. The SDK does not wait for handlers of events, and a run that
// ends would lose the prompt that one of them sends after it has waited for something else.

import { types } from "node:util";
import { current, hasEnded } from "./handlers.mjs";
import { notify } from "./stdout.mjs";

const LONGEST_TIMER_MS = 1000; // of longer timers zot is told nothing

let open = 0; // promises that are not settled, and timers
let session;

function tell() {
  try {
    const told = session?.connection?.sendNotification?.("zot.working", { handlers: open });
    told?.catch?.(() => {});
  } catch {
    // zot has closed the connection: nobody waits for the work, which goes on.
  }
}

function begin() {
  open += 1;
  if (open === 1) tell();
}

function end() {
  open -= 1;
  if (open === 0) tell();
}

/** Promises only: to call the `then` of another object may begin what nobody has asked for. */
function followed(value, atEnd = () => {}) {
  if (!types.isPromise(value)) {
    atEnd();
    return value;
  }
  begin();
  // Not `then(end, end)`: a rejection that nobody takes is to end the process, as without zot.
  value.finally(() => {
    atEnd();
    end();
  });
  return value;
}

/** A handler of an event that is watched. It returns what it would without that. */
export function watched(handler) {
  return function watchedHandler(...given) {
    const of = { name: "of an event", holdsAgent: false };
    const returned = current.run(of, () => Reflect.apply(handler, this, given));
    return followed(returned, () => hasEnded(of));
  };
}

/** Whether a timer is one that zot is told of: a short one that is set on behalf of a handler. Of those that are set once
 * the handler has ended it has to come soon after that end: what goes on for ever, as a loop that sleeps, is no work
 * of the handler. */
function isWatched(callback, delay) {
  const handler = current.getStore();
  if (typeof callback !== "function" || !handler || Number(delay) > LONGEST_TIMER_MS) return false;
  return handler.endedAt === undefined || performance.now() + (Number(delay) || 0) <= handler.endedAt + LONGEST_TIMER_MS;
}

/** Watches timers, but not those that are set by one that is watched: one that sets itself anew would have no end. */
export function watchTimers() {
  const original = globalThis.setTimeout;
  function setTimeout(callback, delay, ...given) {
    if (!isWatched(callback, delay)) return original(callback, delay, ...given);
    const timer = original(function called() {
      current.exit(() => followed(Reflect.apply(callback, this, given)));
    }, delay);
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
  throw new Error("session.send: the run has ended: it takes no more prompts", { cause: error });
}
