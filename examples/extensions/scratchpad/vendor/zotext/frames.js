/** The frames of the extension protocol, version 1. A frame is one JSON object per line, with a `type`. */
export {};
