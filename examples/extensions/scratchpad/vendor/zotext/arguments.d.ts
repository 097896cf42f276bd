/**
 * Checks arguments against a schema that `s` has made, so that a handler gets what its types say. This host has checked
 * them before; zot's own has not. Knows the keywords that `s` writes and no others.
 */
import { type JsonObject } from './json.js';
/** What is wrong with the value, with its place; undefined if nothing is. */
export declare function misfit(schema: JsonObject, value: unknown, place?: string): string | undefined;
