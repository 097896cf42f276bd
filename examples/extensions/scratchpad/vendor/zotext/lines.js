/**
 * Splits a byte stream into lines at LF only.
 *
 * `node:readline` also splits at U+2028, U+2029 and a lone CR, which a JSON string may contain. It splits bytes, not
 * characters, so a character that is cut by a chunk's end stays whole.
 */
/** Maximum size of a line in bytes. A longer line is dropped. */
export const LINE_LIMIT = 64 * 1024 * 1024;
const LF = 10;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
export class LineSplitter {
    limit;
    #pieces = [];
    #size = 0;
    constructor(limit = LINE_LIMIT) {
        this.limit = limit;
    }
    /** The lines that this chunk completes. Linear in the bytes, however they are cut. */
    feed(chunk) {
        const lines = [];
        let start = 0;
        for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
            this.#keep(chunk.subarray(start, end));
            lines.push(this.#line());
            start = end + 1;
        }
        this.#keep(chunk.subarray(start));
        return lines;
    }
    /** The bytes after the last LF, when the stream has ended; undefined if there are none. */
    rest() {
        return this.#size > 0 ? this.#line() : undefined;
    }
    #keep(piece) {
        this.#size += piece.length;
        if (this.#size > this.limit)
            this.#pieces = [];
        else if (piece.length > 0)
            this.#pieces.push(piece);
    }
    #line() {
        const [pieces, size] = [this.#pieces, this.#size];
        this.#pieces = [];
        this.#size = 0;
        if (size > this.limit)
            return { size };
        const [only] = pieces;
        return decoder.decode(pieces.length === 1 ? only : Buffer.concat(pieces, size));
    }
}
