/** What a test says to its host, and is told by it. */
export {};
