// Tells zot when an extension has started: it has joined, and its module has run to its end. What comes behind
// `joinSession` at the top of a module often takes a while, and listens to events last.

import { setImmediate, setTimeout } from "node:timers"; // an extension may put others in the place of the global ones
import { notify } from "./stdout.mjs";

const LONGEST_MS = 1000; // from the join. A module may wait for something that only a run brings, or never end.

let end;
const ended = new Promise((resolve) => {
  end = resolve;
});

/** The extension's module has run. */
export function moduleHasRun() {
  end();
}

/** The extension has joined. zot is told in a later turn of the loop: first goes on what waits for the join. */
export function hasJoined() {
  const tell = () => setImmediate(() => notify("zot.started"));
  const limit = new Promise((resolve) => setTimeout(resolve, LONGEST_MS).unref());
  void Promise.race([ended, limit]).then(tell);
}
