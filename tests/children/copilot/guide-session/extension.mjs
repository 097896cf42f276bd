// The guide's use of the session: events by type and all of them, an end of listening, prompts of its own.

import { joinSession } from "@github/copilot-sdk/extension";

const session = await joinSession();
const counts = new Map();

session.on((event) => counts.set(event.type, (counts.get(event.type) ?? 0) + 1));

session.on("assistant.message", async (event) => {
  await session.log(`answer ${event.data.messageId}: ${event.data.content}`);
});

const stopListening = session.on("tool.execution_complete", async (event) => {
  stopListening();
  const { toolName, success, result, error } = event.data;
  await session.log(`first tool: ${JSON.stringify({ toolName, success, result, error })}`, { level: "warning" });
});

session.on("user.message", async (event) => {
  if (event.data.content !== "review") return;
  await session.send({ prompt: "Review this file", attachments: [{ type: "file", path: "./src/index.ts" }] });
});

session.on("session.idle", async () => {
  await session.log(`events: ${JSON.stringify(Object.fromEntries(counts))}`, { ephemeral: true });
});

session.on("session.error", async (event) => {
  await session.log(`${event.data.errorType}: ${event.data.message}`, { level: "error" });
});

await session.log(`workspace: ${session.workspacePath}`);
