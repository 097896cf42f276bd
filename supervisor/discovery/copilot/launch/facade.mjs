// What an extension gets for `@github/copilot-sdk/extension`: all that the SDK exports, and a `joinSession` that keeps
// what the guide for authors promises where the SDK does otherwise, and tells zot what the SDK does not.

import { joinSession as join } from "@github/copilot-sdk/extension";
import {
  answeringHandler,
  commandHandler,
  hookNames,
  thrownBy,
  toolHandler,
  watchWaits,
  wrappedHooks,
} from "./handlers.mjs";
import { hasJoined } from "./start.mjs";
import { view } from "./view.mjs";
import { watchEvents, watchTimers, watched } from "./work.mjs";

export * from "@github/copilot-sdk/extension";

let joining; // the first join
watchTimers();

/** Joins the session of the host. The config is the SDK's. A second call throws: the SDK would read stdin twice, mix up
 * the answers of the two, and let the first one say for the second one's hooks that there are none. */
export async function joinSession(config = {}) {
  if (joining) {
    await joining.catch((error) => {
      throw new Error(`joinSession() has failed before, and a process joins once: ${error?.message}`, { cause: error });
    });
    throw new Error("joinSession() was called before: a process joins once; name all tools and hooks in one call");
  }
  joining = joined(config);
  return joining;
}

async function joined(config) {
  const session = watchEvents(watchWaits(await join(config && typeof config === "object" ? prepared(config) : config)));
  hasJoined();
  return session;
}

function prepared(config) {
  const changed = { ...config, extensionInfo: { ...config.extensionInfo, zot: aboutJoin(config) } };
  if (config.hooks && typeof config.hooks === "object") changed.hooks = wrappedHooks(config.hooks);
  if (Array.isArray(config.tools)) changed.tools = config.tools.map((tool) => withHandler(tool, toolHandler));
  if (Array.isArray(config.commands)) {
    changed.commands = config.commands.map((command) => withHandler(command, commandHandler));
  }
  if (typeof config.onEvent === "function") changed.onEvent = watched(config.onEvent);
  if (typeof config.onUserInputRequest === "function") {
    changed.onUserInputRequest = answeringHandler("onUserInputRequest", config.onUserInputRequest);
  }
  if (typeof config.onPermissionRequest === "function") {
    changed.onPermissionRequest = permissionHandler(config.onPermissionRequest);
  }
  return changed;
}

/** What the SDK does not say on the wire: `hooks`, the types of the hooks (the SDK: whether there is any); `missing`,
 * the variables that the extension asks for and this process has not; `starts`: `zot.started` follows. */
function aboutJoin(config) {
  const asked = Array.isArray(config.requestedEnvironmentVariables) ? config.requestedEnvironmentVariables : [];
  return {
    hooks: hookNames(config.hooks),
    missing: asked.filter((name) => typeof name === "string" && process.env[name] === undefined),
    starts: true,
  };
}

/** A tool or command whose handler is wrapped. */
function withHandler(item, wrap) {
  if (typeof item?.handler !== "function") return item;
  const handler = wrap(item.name, item.handler);
  return view(item, (name, value) => (name === "handler" ? handler : value));
}

/** The SDK does not answer at all for a handler that leaves the decision to others (`no-result`). The host would wait:
 * it is told `no-opinion`; and of a handler that throws, why. */
function permissionHandler(handler) {
  const answer = answeringHandler("onPermissionRequest", handler);
  return async (...given) => {
    const decision = await answer(...given).catch((error) => thrownBy("onPermissionRequest", error));
    const inner = decision?.kind === "attributed" ? decision.result : decision;
    return inner?.kind === "no-result" ? { kind: "no-opinion" } : decision;
  };
}
