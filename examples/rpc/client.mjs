// Sends one prompt to `zot rpc` and prints the answer as it comes. Node without any package.
//
//     node client.mjs "what does this project do?" [FLAG...]
//
// The flags go to `zot rpc`.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [message, ...flags] = process.argv.slice(2);
const agent = spawn("zot", ["rpc", ...flags], { stdio: ["pipe", "pipe", "inherit"] });
const send = (request) => agent.stdin.write(JSON.stringify(request) + "\n");

let started;
let status = "error";
send({ id: 1, type: "prompt", message });
for await (const line of createInterface({ input: agent.stdout })) {
  const record = JSON.parse(line);
  if (record.type === "response" && record.id === 1) {
    if (!record.success) {
      console.error(record.error);
      agent.stdin.end();
    }
    started = record.data?.prompt;
  } else if (record.prompt !== started) {
    continue;
  } else if (record.type === "text_delta") {
    process.stdout.write(record.delta);
  } else if (record.type === "result") {
    status = record.status;
    console.log(status === "ok" ? "" : `\n${status}: ${record.reason}`);
  } else if (record.type === "done") {
    agent.stdin.end(); // the end of stdin ends the process
  }
}
process.exitCode = status === "ok" ? 0 : 1;
