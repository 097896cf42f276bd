// Hooks for Node's resolution of imports. Node runs `resolve` for each import, synchronously or in a thread of its own.

const PACKAGE = "@github/copilot-sdk";
const FACADE = new URL("./facade.mjs", import.meta.url).href;

let sdk;

/** @param {{sdk: string}} data The URL of the SDK's package.json. */
export function initialize(data) {
  sdk = data.sdk;
}

/** Resolves the SDK's entry for extensions to the facade, and all other entries, for whoever imports them, to the one
 * SDK that was chosen. What the SDK itself imports stays as it is, and so does what `require()` asks for: some versions
 * of Node ask these hooks for it and others do not. */
export function resolve(specifier, context, next) {
  if (isRequired(context)) return withLongStack(() => next(specifier, context));
  const importer = context.parentURL ?? "";
  const isOurs = specifier === PACKAGE || specifier.startsWith(`${PACKAGE}/`);
  if (!isOurs || importer.startsWith(new URL(".", sdk).href)) {
    return next(specifier, context);
  }
  if (specifier === `${PACKAGE}/extension` && importer !== FACADE) {
    return { url: FACADE, format: "module", shortCircuit: true };
  }
  return next(specifier, { ...context, parentURL: sdk });
}

/** Whether `require()` asks. Node 22.15 has the conditions in a set, others in an array. */
function isRequired({ conditions }) {
  return [...(conditions ?? [])].includes("require");
}

/** Node's own frames above a `require()` that fails are so many that its place would be cut off. */
function withLongStack(call) {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  try {
    return call();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
