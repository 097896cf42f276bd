import { joinSession } from "@github/copilot-sdk/extension";

export function join(name, handler) {
  return joinSession({ tools: [{ name, description: "Imports a file", handler }] });
}
