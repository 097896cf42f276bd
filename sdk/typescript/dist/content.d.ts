/** Answers of tools: content blocks, and the shorter forms that a handler may return. */
import type { ContentBlock, ImageBlock, TextBlock } from './frames.js';
/** The whole answer of a tool. */
export interface ToolResult {
    content: ContentBlock[];
    isError?: boolean;
}
/**
 * The return value of a tool's handler: a text, a block, several, a whole result, or nothing.
 * Any other value is given to the model as JSON.
 */
export type ToolOutput = string | ContentBlock | (string | ContentBlock)[] | ToolResult | object | number | boolean | null | undefined | void;
/** A block of text. */
export declare function text(value: string): TextBlock;
/** A block with an image: its bytes, or their base64. */
export declare function image(mimeType: string, data: Uint8Array | string): ImageBlock;
/** A result that tells the model that the call has failed. To throw an error does the same. */
export declare function errorResult(...output: (string | ContentBlock)[]): ToolResult;
/** The result that is sent to the host. Throws a TypeError if JSON cannot hold it. */
export declare function toResult(output: ToolOutput): ToolResult;
