// Whether this Node is one that the SDK was made for.

import fs from "node:fs";
import path from "node:path";

/** What the SDK in a folder asks for and this Node is not, in words; "" if it is, or if that cannot be told. */
export function unmetDemand(sdk, version = process.versions.node) {
  let described;
  try {
    described = JSON.parse(fs.readFileSync(path.join(sdk, "package.json"), "utf8"));
  } catch {
    return "";
  }
  const range = described?.engines?.node;
  if (typeof range !== "string" || satisfies(range, version)) return "";
  return `${described.name} ${described.version} asks for Node ${range}, and this is v${version}`;
}

/** Whether a version is in a range of npm's: alternatives such as `^20.19.0 || >=22.12.0`. What is written in another
 * way counts as satisfied. */
export function satisfies(range, version) {
  return range.split("||").some((each) => {
    const asked = /^(\^|~|>=)\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(each.trim());
    if (!asked) return true;
    const least = asked.slice(2).map((number) => Number(number ?? 0));
    const given = version.split(/[.-]/, 3).map(Number);
    const same = asked[1] === ">=" ? 0 : asked[1] === "^" ? 1 : 2;
    return least.slice(0, same).every((number, at) => number === given[at]) && isAtLeast(given, least);
  });
}

function isAtLeast(given, least) {
  const at = least.findIndex((number, index) => number !== given[index]);
  return at < 0 || given[at] > least[at];
}
