/** How an error is told: a line for the model or the user, all of it for the log. */
/** `message` for a plain Error, `TypeError: message` for the others, the text itself for what is no error. */
export declare function brief(error: unknown): string;
/** With the stack, where there is one. */
export declare function full(error: unknown): string;
