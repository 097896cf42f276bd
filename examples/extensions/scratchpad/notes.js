// The notes on disk: `notes.jsonl` in the data folder, a line for each note of any project.
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
export class Notes {
    #file;
    #project;
    constructor(folder, project) {
        this.#file = join(folder, 'notes.jsonl');
        this.#project = project;
    }
    /** The notes of this project, the oldest first. */
    async read() {
        return (await this.#all()).filter((note) => note.project === this.#project);
    }
    /** Adds a note in one write: the lines of two sessions do not mix. */
    async add(text) {
        const note = { project: this.#project, at: new Date().toISOString(), text };
        await appendFile(this.#file, `${JSON.stringify(note)}\n`);
    }
    /** Removes the notes of this project. Ends with a rename: a reader sees the old file or the new one. */
    async clear() {
        const all = await this.#all();
        const others = all.filter((note) => note.project !== this.#project);
        const fresh = `${this.#file}.${process.pid}`;
        await writeFile(fresh, others.map((note) => `${JSON.stringify(note)}\n`).join(''));
        await rename(fresh, this.#file);
        return all.length - others.length;
    }
    async #all() {
        let lines;
        try {
            lines = (await readFile(this.#file, 'utf8')).split('\n');
        }
        catch (error) {
            if (error.code === 'ENOENT')
                return [];
            throw error;
        }
        return lines.flatMap(parsed);
    }
}
/** The note of a line; nothing for a line that a full disk has cut short. */
function parsed(line) {
    try {
        return line ? [JSON.parse(line)] : [];
    }
    catch {
        return [];
    }
}
