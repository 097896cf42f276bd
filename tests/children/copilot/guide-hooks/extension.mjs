// The guide's hooks: a style for each prompt, no dangerous commands, arguments rewritten, files that were changed,
// retries of the model's errors, words at the start and the end.

import { joinSession } from "@github/copilot-sdk/extension";

const started = Date.now();

const session = await joinSession({
  hooks: {
    onUserPromptSubmitted: async (input) => {
      if (/\burgent\b/i.test(input.prompt)) setTimeout(() => session.send({ prompt: "Please do this first." }), 0);
      if (input.prompt.startsWith("loud ")) return { modifiedPrompt: input.prompt.slice(5).toUpperCase() };
      return { additionalContext: "Answer in bullet points." };
    },
    onPreToolUse: async (input) => {
      if (input.toolName !== "bash") return undefined;
      const command = String(input.toolArgs?.command ?? "");
      await session.log(`Running: ${command}`, { ephemeral: true });
      if (/rm\s+-rf/.test(command)) {
        return { permissionDecision: "deny", permissionDecisionReason: "Destructive commands are not allowed." };
      }
      if (/git\s+push/.test(command)) {
        return { permissionDecision: "ask", permissionDecisionReason: "A push is for all to see." };
      }
      return { modifiedArgs: { ...input.toolArgs, command: `${command} 2>&1` } };
    },
    onPostToolUse: async (input) => {
      if (input.toolName === "create" || input.toolName === "edit") {
        return { additionalContext: `${input.toolArgs?.path} was changed in ${input.cwd}` };
      }
      if (input.toolResult.textResultForLlm.includes("password")) {
        return { modifiedResult: { ...input.toolResult, textResultForLlm: "(withheld)" } };
      }
      return undefined;
    },
    onPostToolUseFailure: async (input) => ({ additionalContext: `Try another way than: ${input.error}` }),
    onSessionStart: async (input) => {
      const when = input.timestamp - started < 1000 * 3600 ? "just now" : "long ago";
      return { additionalContext: `Session ${input.source}, ${when}.` };
    },
    onSessionEnd: async (input) => ({
      sessionSummary: `ended: ${input.reason}`,
      cleanupActions: ["closed the log", "removed temporary files"],
    }),
    onErrorOccurred: async (input) => {
      if (input.recoverable && input.errorContext === "model_call") return { errorHandling: "retry", retryCount: 2 };
      return { errorHandling: "abort", userNotification: `An error occurred: ${input.error}` };
    },
  },
});
