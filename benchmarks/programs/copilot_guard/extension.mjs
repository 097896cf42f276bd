// One tool and one hook that allow everything: the shortest work that an extension can have.
import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({
    tools: [
        {
            name: process.env.ECHO ?? "echo",
            description: "Says it back.",
            parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
            handler: async (args) => args.text,
        },
    ],
    hooks: { onPreToolUse: async () => ({ permissionDecision: "allow" }) },
});
