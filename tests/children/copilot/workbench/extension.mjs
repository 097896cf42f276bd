// Everything that an extension can do, driven by what it is asked. A prompt or the args of tool `bash` may hold JSON
// under `output`: the hook returns it.

import { joinSession } from "@github/copilot-sdk/extension";

const seen = []; // what the hooks and the events have brought, as JSON
const heard = []; // types of events

function remember(hook, input, invocation) {
  seen.push({ hook, input: JSON.parse(JSON.stringify(input)), invocation });
}

/** What the hook returns: `output` of the args, of the prompt if it is JSON, or of the error if it is JSON. Sends the
 * prompt `send` first, from inside the hook. */
async function wanted(input) {
  const place = input.toolArgs ?? parsed(input.initialPrompt ?? input.prompt ?? input.error ?? input.finalMessage);
  if (place?.throw) throw new Error(place.throw);
  if (place?.send) await session.send({ prompt: place.send });
  return place?.output;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hook(name) {
  return async (input, invocation) => {
    remember(name, input, invocation);
    return wanted(input);
  };
}

function tool(name, description, properties, handler, more = {}) {
  const required = Object.keys(properties);
  return { name, description, parameters: { type: "object", properties, required }, handler, ...more };
}

const text = { type: "string", description: "Any text" };
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const RESULTS = {
  text: "plain text",
  empty: undefined,
  nothing: null,
  object: { a: 1, b: [true, null] },
  number: 42,
  success: { textResultForLlm: "it went well", resultType: "success" },
  failure: { textResultForLlm: "it did not", resultType: "failure", error: "the reason" },
  rejected: { textResultForLlm: "the user has rejected it", resultType: "rejected" },
  denied: { textResultForLlm: "not allowed", resultType: "denied" },
  timeout: { textResultForLlm: "too slow", resultType: "timeout" },
  untyped: { textResultForLlm: "no resultType" },
  logged: { textResultForLlm: "see the log", resultType: "success", sessionLog: "a line for the timeline" },
  telemetry: { textResultForLlm: "measured", resultType: "success", toolTelemetry: { metrics: { ms: 3 } } },
  picture: {
    textResultForLlm: "a picture",
    resultType: "success",
    binaryResultsForLlm: [{ data: PIXEL, mimeType: "image/png", type: "image", description: "one pixel" }],
  },
};

const session = await joinSession({
  requestedEnvironmentVariables: ["WORKBENCH_TOKEN"],
  hooks: {
    onUserPromptSubmitted: hook("onUserPromptSubmitted"),
    onPreToolUse: hook("onPreToolUse"),
    onPostToolUse: hook("onPostToolUse"),
    onPostToolUseFailure: hook("onPostToolUseFailure"),
    onSessionStart: hook("onSessionStart"),
    onSessionEnd: hook("onSessionEnd"),
    onErrorOccurred: hook("onErrorOccurred"),
  },
  tools: [
    tool("bench_echo", "Returns the text", { text }, async (args) => args.text),
    tool("bench_result", "Returns a result", { kind: { enum: Object.keys(RESULTS) } }, ({ kind }) => RESULTS[kind]),
    tool("bench_throw", "Throws an error", { text }, (args) => {
      throw new Error(args.text);
    }),
    tool("bench_invocation", "Says what it was called with", {}, async (args, invocation) => {
      const { sessionId, toolCallId, toolName } = invocation;
      return JSON.stringify({ args, sessionId, toolCallId, toolName });
    }),
    tool("bench_seen", "What the hooks have got", {}, () => JSON.stringify(seen)),
    tool("bench_heard", "Events that have come", {}, () => JSON.stringify(heard)),
    tool("bench_variable", "A variable of its environment", { name: text }, ({ name }) => process.env[name] ?? "unset"),
    tool("bench_place", "Where it runs", {}, () =>
      JSON.stringify({ cwd: process.cwd(), workspace: session.workspacePath ?? null, session: session.sessionId }),
    ),
    tool("bench_send", "Sends a prompt", { prompt: text }, async (args) => {
      const { prompt, ...options } = args;
      return `sent as ${await session.send({ prompt, ...options })}`;
    }),
    tool("bench_send_later", "Sends a prompt, and waits for its answer after this call", { prompt: text }, (args) => {
      setTimeout(async () => {
        try {
          const answer = await session.sendAndWait({ prompt: args.prompt }, args.timeout);
          await session.log(`answer: ${answer?.data.content}`);
        } catch (error) {
          await session.log(`no answer: ${error.message}`, { level: "error" });
        }
      }, 0);
      return "will be sent";
    }),
    tool("bench_send_and_wait", "Sends a prompt and waits inside the call", { prompt: text }, async (args) => {
      const answer = await session.sendAndWait({ prompt: args.prompt }, args.timeout);
      return answer?.data.content ?? "no answer";
    }),
    tool("bench_log", "Writes to the timeline", { message: text }, async (args) => {
      await session.log(args.message, args.options);
      return "logged";
    }),
    tool("bench_rpc", "Calls session.rpc: method `model.getCurrent`, params", { method: text }, async (args) => {
      const call = args.method.split(".").reduce((place, name) => place?.[name], session.rpc);
      if (typeof call !== "function") return `this SDK has no ${args.method}`;
      try {
        return JSON.stringify(await call(args.params ?? {}));
      } catch (error) {
        return `refused: ${error.message}`;
      }
    }),
    tool("bench_abort", "Aborts the prompt", {}, async () => {
      await session.abort();
      return "aborted";
    }),
    tool("bench_wait", "Never returns until it is cancelled", {}, (_args, invocation) => {
      return new Promise((resolve) => invocation.signal?.addEventListener("abort", () => resolve("cancelled")));
    }),
    tool("bench_free", "Needs no permission", {}, () => "done", { skipPermission: true }),
  ],
  commands: [
    { name: "bench", description: "Writes to the timeline", handler: ({ args }) => session.log(`bench: ${args}`) },
    {
      name: "bench_fails",
      description: "Throws",
      handler: () => {
        throw new Error("the command has failed");
      },
    },
  ],
  onPermissionRequest: (request) => {
    remember("onPermissionRequest", request);
    const words = request.fullCommandText ?? request.path ?? request.fileName ?? "";
    if (words.includes("forbidden")) return { kind: "reject", feedback: "the bench forbids it" };
    if (words.includes("undecided")) return { kind: "no-result" };
    if (words.includes("broken")) throw new Error("the permission handler is broken");
    return { kind: "approve-once" };
  },
  onUserInputRequest: ({ question, choices }) => ({
    answer: choices?.[0] ?? `no idea: ${question}`,
    wasFreeform: !choices,
  }),
});

session.on((event) => heard.push(event.type));
const forget = session.on("session.idle", () => {
  forget();
  session.log("the first idle", { ephemeral: true });
});
