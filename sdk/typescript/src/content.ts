/** Answers of tools: content blocks, and the shorter forms that a handler may return. */

import type { ContentBlock, ImageBlock, TextBlock } from './frames.js';
import { encode, isObject, type Json } from './json.js';

/** The whole answer of a tool. */
export interface ToolResult {
  content: ContentBlock[];
  isError?: boolean;
  /** Deferred tools of this extension that the model is offered from now on. */
  activate?: string[];
  /** The result as JSON, for programs. The model gets `content`. */
  structured?: Json;
}

/** The result of a tool of the host. A tool that failed or was refused has `isError`. */
export interface CalledResult extends ToolResult {
  isError: boolean;
  /** All text blocks, joined by line feeds. */
  text: string;
  /** The host has left out a part of the content. */
  truncated: boolean;
}

/**
 * The return value of a tool's handler: a text, a block, several, a whole result, or nothing.
 * Any other value is given to the model as JSON.
 */
export type ToolOutput = string | ContentBlock | (string | ContentBlock)[] | ToolResult | object | number | boolean
  | null | undefined | void;

/** A block of text. `markdown`: a screen may show it as such; the model gets the text as it is. */
export function text(value: string, { markdown = false }: { markdown?: boolean } = {}): TextBlock {
  return { type: 'text', text: value, ...(markdown ? { format: 'markdown' as const } : {}) };
}

/** A block with an image: its bytes, or their base64. */
export function image(mimeType: string, data: Uint8Array | string): ImageBlock {
  if (typeof data === 'string') return { type: 'image', mime_type: mimeType, data };
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
  return { type: 'image', mime_type: mimeType, data: bytes.toString('base64') };
}

/** A result that tells the model that the call has failed. To throw an error does the same. */
export function errorResult(...output: (string | ContentBlock)[]): ToolResult {
  return { content: output.map(block), isError: true };
}

/**
 * The result that is sent to the host. An output that is written as JSON is `structured`, too, if that is asked for.
 * Throws a TypeError if JSON cannot hold it.
 */
export function toResult(output: ToolOutput, isStructured = false): ToolResult {
  if (output === undefined || output === null) return { content: [] };
  if (typeof output === 'string' || isBlock(output)) return { content: [block(output)] };
  if (Array.isArray(output) && output.every((item) => typeof item === 'string' || isBlock(item))) {
    return { content: output.map(block) };
  }
  if (isObject(output) && Array.isArray(output['content']) && output['content'].every(isBlock)) {
    const { activate } = output as unknown as ToolResult;
    if (activate === undefined || (Array.isArray(activate) && activate.every((name) => typeof name === 'string'))) {
      return output as unknown as ToolResult;
    }
    throw new TypeError(`activate is a list of names of tools, not ${JSON.stringify(activate)}`);
  }
  return { content: [text(encode(output))], ...(isStructured ? { structured: output as Json } : {}) };
}

function block(item: string | ContentBlock): ContentBlock {
  return typeof item === 'string' ? text(item) : item;
}

function isBlock(value: unknown): value is ContentBlock {
  if (!isObject(value)) return false;
  if (value['type'] === 'text') return typeof value['text'] === 'string';
  return value['type'] === 'image' && typeof value['data'] === 'string' && typeof value['mime_type'] === 'string';
}
