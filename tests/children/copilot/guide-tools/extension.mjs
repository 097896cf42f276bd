// The guide's tools: a text, a structured result, one that asks the system, one that fails, and one without parameters.

import { execFile } from "node:child_process";
import { joinSession } from "@github/copilot-sdk/extension";

const session = await joinSession({
  tools: [
    {
      name: "guide_greet",
      description: "Greets somebody",
      parameters: {
        type: "object",
        properties: { who: { type: "string", description: "Whom to greet" } },
        required: ["who"],
      },
      handler: async (args) => `Hello, ${args.who}`,
    },
    {
      name: "guide_structured",
      description: "Reports how it went",
      parameters: { type: "object", properties: { how: { type: "string" } } },
      handler: async (args) => ({ textResultForLlm: `it went: ${args.how}`, resultType: args.how }),
    },
    {
      name: "guide_run",
      description: "Runs a command of the shell",
      parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
      handler: (args) =>
        new Promise((resolve) => {
          execFile("sh", ["-c", args.command], (error, stdout, stderr) => {
            resolve(error ? `Error: ${stderr || error.message}` : stdout);
          });
        }),
    },
    {
      name: "guide_who",
      description: "Says which call this is",
      handler: (_args, { sessionId, toolCallId, toolName }) => `${toolName} ${toolCallId} ${sessionId}`,
    },
    {
      name: "guide_throw",
      description: "Fails",
      handler: () => {
        throw new Error("as the guide says");
      },
    },
  ],
});

await session.log("Extension ready");
