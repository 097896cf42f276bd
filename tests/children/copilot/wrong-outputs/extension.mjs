// Hooks return what they must not: `wrong` of the tool's args, whatever it is.

import { joinSession } from "@github/copilot-sdk/extension";

const OUTPUTS = {
  "a text": "deny",
  "a list": [{ permissionDecision: "deny" }],
  "a number": 1,
  "true": true,
  "an unknown decision": { permissionDecision: "forbid" },
  "a decision of another type": { permissionDecision: { deny: true } },
  "a reason of another type": { permissionDecision: "deny", permissionDecisionReason: 7 },
  "args of another type": { modifiedArgs: "ls" },
  "context of another type": { additionalContext: ["a", "b"] },
  "a field that nobody knows": { permisionDecision: "deny" },
  "an empty object": {},
  "no JSON": { additionalContext: "a", modifiedArgs: { big: 10n } },
};

await joinSession({
  hooks: {
    onPreToolUse: (input) => OUTPUTS[input.toolArgs.wrong],
    onPostToolUse: (input) => ({ modifiedResult: input.toolArgs.wrong }),
    onUserPromptSubmitted: () => ({ modifiedPrompt: 5 }),
    onSessionEnd: () => ({ cleanupActions: "all" }),
    onErrorOccurred: () => ({ errorHandling: "again", retryCount: "2" }),
  },
});
