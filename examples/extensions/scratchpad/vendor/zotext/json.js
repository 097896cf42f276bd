/** The values of JSON as types, and writing them. */
/** Whether the value is a JSON object: no array, no null. */
export function isObject(value) {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
}
const SURROGATE = /\\ud[89a-f]/i;
/**
 * One line of JSON without its line feed. Lone surrogates, which UTF-8 cannot hold, become U+FFFD. Throws a TypeError
 * for what JSON cannot hold: a BigInt, a cycle, undefined, a function.
 */
export function encode(value) {
    const text = JSON.stringify(value);
    if (text === undefined)
        throw new TypeError(`${typeof value} cannot be written as JSON`);
    return SURROGATE.test(text) ? JSON.stringify(value, wellFormed) : text;
}
function wellFormed(_name, value) {
    return typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\uFFFD') : value;
}
