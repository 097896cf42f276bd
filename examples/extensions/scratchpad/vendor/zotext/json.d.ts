/** What JSON can say, as types. */
export type Json = null | boolean | number | string | Json[] | {
    [name: string]: Json;
};
export type JsonObject = {
    [name: string]: Json;
};
/** Whether it is an object in the sense of JSON: no list, no null. */
export declare function isObject(value: unknown): value is Record<string, unknown>;
/**
 * One line of JSON without its line feed. Halves of characters, which no UTF-8 can say, become U+FFFD.
 * Throws a TypeError for what JSON cannot say: a BigInt, a cycle, undefined, a function.
 */
export declare function encode(value: unknown): string;
