// Has a tool `the_same`, and so has another extension: they cannot both join.

import { joinSession } from "@github/copilot-sdk/extension";

await joinSession({
  tools: [
    { name: "the_same", description: "Says whose it is", handler: () => "first" },
    { name: "only_first", description: "Says whose it is", handler: () => "first" },
  ],
});
