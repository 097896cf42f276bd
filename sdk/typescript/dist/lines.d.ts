/**
 * Splits a byte stream into lines at LF only.
 *
 * `node:readline` also splits at U+2028, U+2029 and a lone CR, which a JSON string may contain. It splits bytes, not
 * characters, so a character that is cut by a chunk's end stays whole.
 */
/** Maximum size of a line in bytes. A longer line is dropped. */
export declare const LINE_LIMIT: number;
/** Stands for a line that was longer than the limit. */
export interface Oversize {
    readonly size: number;
}
export declare class LineSplitter {
    #private;
    readonly limit: number;
    constructor(limit?: number);
    /** The lines that this chunk completes. Linear in the bytes, however they are cut. */
    feed(chunk: Uint8Array): (string | Oversize)[];
    /** The bytes after the last LF, when the stream has ended; undefined if there are none. */
    rest(): string | Oversize | undefined;
}
