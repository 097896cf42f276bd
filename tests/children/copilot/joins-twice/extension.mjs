// Joins a second time with other tools, and goes on when that is refused.

import { joinSession } from "@github/copilot-sdk/extension";

let refusal = "not refused";

function tool(name) {
  return { name, description: "Says what became of the second join", handler: () => refusal };
}

await joinSession({ tools: [tool("first_join")] });
await joinSession({ tools: [tool("second_join")] }).catch((error) => {
  refusal = error.message;
});
