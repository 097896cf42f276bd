export const text = `loaded late, from ${new URL(import.meta.url).pathname.split("/").slice(-2).join("/")}`;
