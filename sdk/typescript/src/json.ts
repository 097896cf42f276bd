/** The values of JSON as types, and writing them. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

/** Whether the value is a JSON object: no array, no null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const SURROGATE = /\\ud[89a-f]/i;

/**
 * One line of JSON without its line feed. Lone surrogates, which UTF-8 cannot hold, become U+FFFD. Throws a TypeError
 * for what JSON cannot hold: a BigInt, a cycle, undefined, a function.
 */
export function encode(value: unknown): string {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`${typeof value} cannot be written as JSON`);
  return SURROGATE.test(text) ? JSON.stringify(value, wellFormed) : text;
}

function wellFormed(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\uFFFD') : value;
}
