// Consists of several files: one beside it imports the SDK, another is imported when a tool is called.

import { join } from "./lib/join.mjs";

await join("lazy", async () => (await import("./lib/lazy.mjs")).text);
