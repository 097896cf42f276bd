/** The session of the code that runs now, and the mark of it on frames. */
/** The session of a run. */
export interface Session {
    /** Its id; empty if the host has named none. */
    readonly sessionId: string;
    /** Its folder: a relative path in the arguments of a call starts there. */
    readonly cwd: string;
}
/** A value for a handler and all that it starts. Its own type: an author's types need none of Node's. */
export interface HandlerValue<Value> {
    getStore(): Value | undefined;
    run<Result>(value: Value, handler: () => Result): Result;
}
/** The session whose handler runs here, with all that it has started. */
export declare const currentSession: HandlerValue<Session | undefined>;
/** The frame of an extension with the session of the handler that sends it, if the host has named one. */
export declare function stamp<Frame extends {
    session_id?: string;
}>(frame: Frame): Frame;
