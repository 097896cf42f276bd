/** The values of JSON as types, and writing them. */
export type Json = null | boolean | number | string | Json[] | {
    [name: string]: Json;
};
export type JsonObject = {
    [name: string]: Json;
};
/** Whether the value is a JSON object: no array, no null. */
export declare function isObject(value: unknown): value is Record<string, unknown>;
/**
 * One line of JSON without its line feed. Lone surrogates, which UTF-8 cannot hold, become U+FFFD. Throws a TypeError
 * for what JSON cannot hold: a BigInt, a cycle, undefined, a function.
 */
export declare function encode(value: unknown): string;
