/** How an error is told: a line for the model or the user, all of it for the log. */
/** `message` for a plain Error, `TypeError: message` for the others, the text itself for what is no error. */
export function brief(error) {
    if (!(error instanceof Error))
        return String(error) || 'unknown error';
    if (error.name === 'Error' && error.message !== '')
        return error.message;
    return error.message === '' ? error.name : `${error.name}: ${error.message}`;
}
/** With the stack, where there is one. */
export function full(error) {
    return error instanceof Error ? (error.stack ?? brief(error)) : brief(error);
}
