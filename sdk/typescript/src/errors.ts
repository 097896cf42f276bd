/** Texts of errors: a line for the model or the user, the stack for the log. */

/** `message` for a plain Error, `TypeError: message` for other errors, `String(value)` for other values. */
export function brief(error: unknown): string {
  if (!(error instanceof Error)) return String(error) || 'unknown error';
  if (error.name === 'Error' && error.message !== '') return error.message;
  return error.message === '' ? error.name : `${error.name}: ${error.message}`;
}

/** The stack if the error has one, else `brief`. */
export function full(error: unknown): string {
  return error instanceof Error ? (error.stack ?? brief(error)) : brief(error);
}
