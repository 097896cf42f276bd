/** What a tool answers: content blocks, and the shorter forms that a handler may return. */
import type { ContentBlock, ImageBlock, TextBlock } from './frames.js';
/** A tool's answer with all that can be said of it. */
export interface ToolResult {
    content: ContentBlock[];
    isError?: boolean;
}
/**
 * What a tool's handler may return: a text, a block, several, a whole result, or nothing.
 * Any other value is given to the model as JSON.
 */
export type ToolOutput = string | ContentBlock | (string | ContentBlock)[] | ToolResult | object | number | boolean | null | undefined | void;
/** A block of text. */
export declare function text(value: string): TextBlock;
/** A block with a picture: its bytes, or what is base64 already. */
export declare function image(mimeType: string, data: Uint8Array | string): ImageBlock;
/** A result that tells the model that the call has failed. To throw an error does the same. */
export declare function errorResult(...output: (string | ContentBlock)[]): ToolResult;
/** The result that the host is told. Throws a TypeError for what cannot be written as JSON. */
export declare function toResult(output: ToolOutput): ToolResult;
