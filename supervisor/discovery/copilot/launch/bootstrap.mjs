// Started by zot as `node bootstrap.mjs`, once for each extension. Keeps stdout for the protocol, lets the extension
// import the Copilot SDK although it has none beside it, and imports the extension.
//
// Reads from the environment: EXTENSION_PATH, the path of the extension's file; COPILOT_SDK_PATH, the folder of the
// package @github/copilot-sdk. The SDK reads SESSION_ID.
//
// What the extension throws while it is imported ends the process with status 1, and its stack is on stderr.
//
// This file alone is read by every version of Node, so that one that is too old is told so: it has no syntax that Node 12
// has not, and imports the others late.

import fs from "fs";
import module from "module";
import path from "path";
import { pathToFileURL } from "url";

/** What the SDK asks for and this Node is not, in words; "" if nothing. */
let unmet = "";

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
async function resolveSdk(sdk) {
  const data = { sdk: pathToFileURL(path.join(sdk, "package.json")).href };
  if (!module.registerHooks) return module.register("./resolve.mjs", import.meta.url, { data });
  const { initialize, resolve } = await import("./resolve.mjs");
  initialize(data);
  return module.registerHooks({ resolve });
}

async function start() {
  if (!module.registerHooks && !module.register) {
    return givenUp(`Node 20.6 or newer is needed; this is ${process.version}`);
  }
  const extension = realPath("EXTENSION_PATH", "the path of an extension.mjs");
  const sdk = extension && realPath("COPILOT_SDK_PATH", "the folder of the package @github/copilot-sdk");
  if (!sdk) return undefined;
  const [{ keepStdoutForMessages }, { unmetDemand }, { moduleHasRun }] = await Promise.all([
    import("./stdout.mjs"),
    import("./engines.mjs"),
    import("./start.mjs"),
  ]);
  keepStdoutForMessages();
  unmet = unmetDemand(sdk);
  if (unmet) process.stderr.write(`zot: ${unmet}\n`);
  await resolveSdk(sdk);
  return { extension, moduleHasRun };
}

/** Says what is wrong where Node's own words lead astray. Node prints the error and ends the process. */
function explained(error) {
  const code = error && error.code;
  if (typeof (error && error.stack) !== "string" || code === "ERR_MODULE_NOT_FOUND") throw error;
  const said = String(error.message).split("\n", 1)[0];
  if (code === "MODULE_NOT_FOUND" && said.includes("@github/copilot-sdk")) {
    rewrite(error, said, "require() does not find the Copilot SDK; use import");
  } else if (unmet && said) {
    rewrite(error, said, `${said} (${unmet})`);
  }
  throw error;
}

/** Replaces a part of an error's stack, if it can be changed. */
function rewrite(error, part, by) {
  Reflect.set(error, "stack", error.stack.replace(part, () => by));
}

/** Imports the extension. Not with `await`: then a frame of this file would stand in the stack of what it throws. */
function run({ extension, moduleHasRun }) {
  return import(pathToFileURL(extension).href).then(moduleHasRun, explained);
}

// The end is not awaited: an extension that waits for something at its top level when its host closes stdin has not
// failed.
start().then((ready) => ready && run(ready));
