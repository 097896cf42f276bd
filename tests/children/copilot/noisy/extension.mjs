// Writes to stdout as programs do: lines, parts of lines, bytes, headers, and all of it while messages
// are being written.

import console_, { log } from "node:console";
import { joinSession } from "@github/copilot-sdk/extension";

function makeNoise(where) {
  console.log(`${where}: console.log`);
  console.info(`${where}: console.info`);
  console.table([{ where }]);
  console_.log(`${where}: console of node:console`);
  log(`${where}: log of node:console`);
  process.stdout.write(`${where}: a part of a line`);
  process.stdout.write(Buffer.from(`${where}: bytes \n`));
  process.stdout.write("Content-Length: 5\r\n");
  process.stdout.write("Content-Length: 7\r\n\r\n");
  process.stdout.write("Content-Length: 5\r\n\r\nhello");
  process.stdout.write("Content-Length: ten\r\n\r\n");
}

makeNoise("top");
await joinSession({
  tools: [
    {
      name: "noise",
      description: "Makes noise before its answer, and while it is written",
      handler: async (args) => {
        makeNoise("tool");
        for (let turn = 0; turn < 50; turn++) setImmediate(() => process.stdout.write(`turn ${turn} `));
        for (let turn = 0; turn < 50; turn++) setImmediate(() => process.stdout.write("Content-Length: 9\r\n\r\n"));
        return String(args.text ?? "quiet").repeat(args.times ?? 1);
      },
    },
  ],
  hooks: {
    onPreToolUse: () => {
      makeNoise("hook");
      return { additionalContext: "heard" };
    },
  },
});
makeNoise("joined");
