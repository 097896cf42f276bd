/** Options and results of the test host. */
export {};
