// Uses the session in a hook, which may be asked before joinSession() has returned. Says `before` or `after`.

import { joinSession } from "@github/copilot-sdk/extension";

let isJoined = false;

await joinSession({
  hooks: {
    onPreToolUse: async () => ({ additionalContext: isJoined ? "after" : "before" }),
  },
});
isJoined = true;
