// Wraps an extension's handlers.

import { AsyncLocalStorage } from "node:async_hooks";
import { view } from "./view.mjs";

const HOOK = /^on[A-Z]/;

/** The handler on whose behalf code runs, if there is one: `{name, holdsAgent, endedAt}`: whether the agent
 * waits for it now, and in milliseconds of `performance` when it has ended. */
export const current = new AsyncLocalStorage();
const warned = new Set();

/** The time of a hook's input. It is a Date, as the SDK has it, and the milliseconds since 1970, as the guide has it,
 * wherever a plain value is wanted: in arithmetic, comparisons, texts and JSON. */
class HookTime extends Date {
  [Symbol.toPrimitive]() {
    return this.getTime();
  }

  toJSON() {
    return this.getTime();
  }
}

/** Types of the hooks for which there are handlers: ["preToolUse"] for {onPreToolUse}. */
export function hookNames(hooks) {
  return Object.keys(hooks ?? {})
    .filter((name) => HOOK.test(name) && hooks[name])
    .map((name) => name[2].toLowerCase() + name.slice(3));
}

/** Hooks as the guide has them. The SDK takes a hook that throws for one without an opinion: here the host is told. */
export function wrappedHooks(hooks) {
  return view(hooks, (name, value) => {
    if (typeof name !== "string" || !HOOK.test(name) || !value) return value;
    return async (input, invocation) => {
      try {
        if (typeof value !== "function") throw new TypeError(`${name} is not a function`);
        return sendable(await run(name, () => value(asTheGuideHasIt(input), invocation)));
      } catch (error) {
        return thrownBy(name, error);
      }
    };
  });
}

/** What the host is told of a handler that threw. The stack goes to stderr. */
export function thrownBy(name, error) {
  console.error(`${name} threw:`, error);
  return { zotHookError: error instanceof Error ? error.message : String(error) };
}

/** Both names of the working directory, and the time. */
function asTheGuideHasIt(input) {
  if (!input || typeof input !== "object") return input;
  const folder = input.workingDirectory ?? input.cwd;
  return { ...input, timestamp: new HookTime(input.timestamp), cwd: folder, workingDirectory: folder };
}

/** The handler of a tool. A result without a resultType is a success; the SDK would send its JSON as the text. */
export function toolHandler(name, handler) {
  return async (...given) => {
    const result = await run(`of tool ${name}`, () => handler(...given));
    const isUnsaid = typeof result?.textResultForLlm === "string" && result.resultType === undefined;
    return sendable(isUnsaid ? { ...result, resultType: "success" } : result);
  };
}

/** A handler whose answer is passed on as it is. */
export function answeringHandler(name, handler) {
  return async (...given) => sendable(await run(name, () => handler(...given)));
}

/** The value, which JSON can hold. Throws for others, as cyclic ones: the SDK would send no answer. */
export function sendable(value) {
  if (typeof value === "object" || typeof value === "bigint") JSON.stringify(value);
  return value;
}

/** The handler of a command: the prompts that it sends run while it goes on. */
export function commandHandler(name, handler) {
  return async (...given) => sendable(await run(`of command ${name}`, () => handler(...given), false));
}

async function run(name, call, holdsAgent = true) {
  const handler = { name, holdsAgent };
  try {
    return await current.run(handler, call);
  } finally {
    hasEnded(handler);
  }
}

/** The handler has ended. */
export function hasEnded(handler) {
  handler.holdsAgent = false;
  handler.endedAt = performance.now();
}

/** Warns once for each handler that waits for the agent, which may itself wait for the handler. Returns the session. */
export function watchWaits(session) {
  const original = session.sendAndWait;
  if (typeof original !== "function") return session;
  session.sendAndWait = function sendAndWait(...given) {
    const handler = current.getStore();
    if (handler?.holdsAgent && !warned.has(handler.name)) {
      warned.add(handler.name);
      console.error(
        `session.sendAndWait() inside the handler ${handler.name}: the agent may wait for this handler, and the` +
          " handler for the agent; send() does not wait",
      );
    }
    return Reflect.apply(original, this, given);
  };
  return session;
}
