// Each handler throws or rejects, with an error or with something else.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({
  hooks: {
    onPreToolUse: async () => {
      throw new TypeError("input.toolArgs.path is undefined");
    },
    onPostToolUse: () => {
      throw "a text"; // eslint-disable-line no-throw-literal
    },
    onUserPromptSubmitted: () => Promise.reject(undefined), // eslint-disable-line prefer-promise-reject-errors
    onSessionStart: "no function",
  },
  tools: [
    {
      name: "throws",
      description: "Throws",
      handler: () => {
        throw new Error("thrown");
      },
    },
    { name: "rejects", description: "Rejects", handler: () => Promise.reject(new Error("rejected")) },
    { name: "no_handler", description: "Has no handler" },
  ],
});
