/** Answers of tools: content blocks, and the shorter forms that a handler may return. */
import { encode, isObject } from './json.js';
/** A block of text. `markdown`: a screen may show it as such; the model gets the text as it is. */
export function text(value, { markdown = false } = {}) {
    return { type: 'text', text: value, ...(markdown ? { format: 'markdown' } : {}) };
}
/** A block with an image: its bytes, or their base64. */
export function image(mimeType, data) {
    if (typeof data === 'string')
        return { type: 'image', mime_type: mimeType, data };
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
    return { type: 'image', mime_type: mimeType, data: bytes.toString('base64') };
}
/** A result that tells the model that the call has failed. To throw an error does the same. */
export function errorResult(...output) {
    return { content: output.map(block), isError: true };
}
/**
 * The result that is sent to the host. An output that is written as JSON is `structured`, too, if that is asked for.
 * Throws a TypeError if JSON cannot hold it.
 */
export function toResult(output, isStructured = false) {
    if (output === undefined || output === null)
        return { content: [] };
    if (typeof output === 'string' || isBlock(output))
        return { content: [block(output)] };
    if (Array.isArray(output) && output.every((item) => typeof item === 'string' || isBlock(item))) {
        return { content: output.map(block) };
    }
    if (isObject(output) && Array.isArray(output['content']) && output['content'].every(isBlock)) {
        const { activate } = output;
        if (activate === undefined || (Array.isArray(activate) && activate.every((name) => typeof name === 'string'))) {
            return output;
        }
        throw new TypeError(`activate is a list of names of tools, not ${JSON.stringify(activate)}`);
    }
    return { content: [text(encode(output))], ...(isStructured ? { structured: output } : {}) };
}
function block(item) {
    return typeof item === 'string' ? text(item) : item;
}
function isBlock(value) {
    if (!isObject(value))
        return false;
    if (value['type'] === 'text')
        return typeof value['text'] === 'string';
    return value['type'] === 'image' && typeof value['data'] === 'string' && typeof value['mime_type'] === 'string';
}
