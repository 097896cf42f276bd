/**
 * Cuts a byte stream into lines at LF, and at nothing else.
 *
 * `node:readline` also cuts at U+2028, U+2029 and a lone CR, which may stand inside a JSON string. Bytes are cut, not
 * characters, so that a character which is split over two chunks stays whole.
 */
/** Bytes of one line, as many as a host may send; a longer one is left out. */
export declare const LINE_LIMIT: number;
/** Stands in the place of a line that was longer than the limit. */
export interface Oversize {
    readonly size: number;
}
export declare class LineSplitter {
    #private;
    readonly limit: number;
    constructor(limit?: number);
    /** The lines that this chunk completes. The work grows with the bytes, however they are cut. */
    feed(chunk: Uint8Array): (string | Oversize)[];
    /** What stands after the last LF, once the stream has ended; undefined if nothing does. */
    rest(): string | Oversize | undefined;
}
