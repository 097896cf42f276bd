/** The frames of the extension protocol, version 1: one JSON object per line, told apart by `type`. */
export {};
