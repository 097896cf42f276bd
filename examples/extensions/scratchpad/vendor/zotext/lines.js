/**
 * Cuts a byte stream into lines at LF, and at nothing else.
 *
 * `node:readline` also cuts at U+2028, U+2029 and a lone CR, which may stand inside a JSON string. Bytes are cut, not
 * characters, so that a character which is split over two chunks stays whole.
 */
/** Bytes of one line, as many as a host may send; a longer one is left out. */
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
    /** The lines that this chunk completes. The work grows with the bytes, however they are cut. */
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
    /** What stands after the last LF, once the stream has ended; undefined if nothing does. */
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
