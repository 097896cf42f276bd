/** Answers of tools: content blocks, and the shorter forms that a handler may return. */
import type { ContentBlock, ImageBlock, TextBlock } from './frames.js';
import { type Json } from './json.js';
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
export type ToolOutput = string | ContentBlock | (string | ContentBlock)[] | ToolResult | object | number | boolean | null | undefined | void;
/** A block of text. `markdown`: a screen may show it as such; the model gets the text as it is. */
export declare function text(value: string, { markdown }?: {
    markdown?: boolean;
}): TextBlock;
/** A block with an image: its bytes, or their base64. */
export declare function image(mimeType: string, data: Uint8Array | string): ImageBlock;
/** A result that tells the model that the call has failed. To throw an error does the same. */
export declare function errorResult(...output: (string | ContentBlock)[]): ToolResult;
/**
 * The result that is sent to the host. An output that is written as JSON is `structured`, too, if that is asked for.
 * Throws a TypeError if JSON cannot hold it.
 */
export declare function toResult(output: ToolOutput, isStructured?: boolean): ToolResult;
