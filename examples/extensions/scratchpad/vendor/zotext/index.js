/** Write extensions for zot in TypeScript or JavaScript. See README.md. */
export { extension, Extension } from './extension.js';
export { s } from './schema.js';
export { errorResult, image, text } from './content.js';
export { display, fail, insert, noop, openPanel, prompt, } from './responses.js';
export { addContext, allow, ask, block, rewrite, } from './verdicts.js';
export { CancelledError } from './calls.js';
