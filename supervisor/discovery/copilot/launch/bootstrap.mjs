// Started by zot as `node bootstrap.mjs`, once for each extension. Keeps stdout for the protocol, lets the extension
// import the Copilot SDK although it has none beside it, and imports the extension.
//
// Reads from the environment: EXTENSION_PATH, the path of the extension's file; COPILOT_SDK_PATH, the folder of the
// package @github/copilot-sdk. The SDK reads SESSION_ID.
//
// What the extension throws while it is imported ends the process with status 1, and its stack is on stderr.

import fs from "node:fs";
import module from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { moduleHasRun } from "./start.mjs";
import { keepStdoutForMessages } from "./stdout.mjs";

function givenUp(reason) {
  process.stderr.write(`zot cannot start this extension: ${reason}\n`);
  process.exitCode = 1;
}

/** The real path of a file or folder that a variable of the environment names; undefined, and a line on stderr, if
 * there is none. */
function realPath(variable, about) {
  const given = process.env[variable];
  if (!given) return givenUp(`${variable} is not set; it names ${about}`);
  try {
    return fs.realpathSync(given);
  } catch (error) {
    return givenUp(`${variable}=${given} is to be ${about}: ${error.message}`);
  }
}

/** Lets imports of the SDK find it. Newer versions of Node resolve in this thread, older ones in another. */
function resolveSdk(sdk) {
  const data = { sdk: pathToFileURL(path.join(sdk, "package.json")).href };
  if (module.registerHooks) {
    return import("./resolve.mjs").then(({ initialize, resolve }) => {
      initialize(data);
      module.registerHooks({ resolve });
    });
  }
  module.register("./resolve.mjs", import.meta.url, { data });
  return undefined;
}

async function start() {
  if (!module.registerHooks && !module.register) {
    return givenUp(`Node 20.6 or newer is needed; this is ${process.version}`);
  }
  const extension = realPath("EXTENSION_PATH", "the path of an extension.mjs");
  const sdk = extension && realPath("COPILOT_SDK_PATH", "the folder of the package @github/copilot-sdk");
  if (!sdk) return undefined;
  keepStdoutForMessages();
  await resolveSdk(sdk);
  return extension;
}

/** Says what is wrong where Node's own words lead astray. Node prints the error and ends the process. */
function explained(error) {
  if (error?.code === "MODULE_NOT_FOUND" && String(error.message).includes("@github/copilot-sdk")) {
    const said = error.message.split("\n", 1)[0];
    error.stack = error.stack.replace(said, "require() does not find the Copilot SDK; use import");
  }
  throw error;
}

const extension = await start();
// Not awaited: an extension that waits for something at its top level when its host closes stdin has not failed.
if (extension) import(pathToFileURL(extension).href).then(moduleHasRun, explained);
