/**
 * Checks arguments against a schema made by `s`, so that they fit the types of the handler. This host has checked them
 * already; zot's own host does not. Knows only the keywords that `s` writes.
 */
import { type JsonObject } from './json.js';
/** Returns what is wrong with the value, and where; undefined if it fits. */
export declare function misfit(schema: JsonObject, value: unknown, place?: string): string | undefined;
