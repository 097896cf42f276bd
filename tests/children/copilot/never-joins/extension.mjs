// Waits for something that never comes, and never joins.

setInterval(() => {}, 3_600_000);
await new Promise(() => {});
