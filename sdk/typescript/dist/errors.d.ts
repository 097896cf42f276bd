/** Texts of errors: a line for the model or the user, the stack for the log. */
/** `message` for a plain Error, `TypeError: message` for other errors, `String(value)` for other values. */
export declare function brief(error: unknown): string;
/** The stack if the error has one, else `brief`. */
export declare function full(error: unknown): string;
