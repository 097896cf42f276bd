// Writes to file descriptor 1 past Node's streams, as programs do that it starts: nobody in its process can prevent it.

import { spawnSync } from "node:child_process";
import { writeSync } from "node:fs";
import { joinSession } from "@github/copilot-sdk/extension";

writeSync(1, "before the join\n");
await joinSession({
  tools: [
    {
      name: "noise",
      description: "Lets a program write to its stdout; `text` is written as it is",
      handler: (args) => {
        writeSync(1, args.text ?? "without an end of line");
        spawnSync("sh", ["-c", "echo from a program"], { stdio: ["ignore", "inherit", "inherit"] });
        return "done";
      },
    },
  ],
});
