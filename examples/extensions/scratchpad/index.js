// Notes for each project: three commands for the user, a tool for the model.
import { extension, fail, noop, s } from './vendor/zotext/index.js';
import { Notes } from './notes.js';
const ext = extension('scratchpad', '1.0.0');
const notes = () => new Notes(ext.host.dataDir, ext.host.cwd);
ext.command('note', 'Keep a note for this project: /note tests need node 20', async (args) => {
    const text = args.trim();
    if (!text)
        return fail('what is to be noted? /note TEXT');
    await notes().add(text);
    await ext.notify('success', 'noted');
    return noop();
});
ext.command('notes', 'Show the notes of this project.', async () => {
    const kept = await notes().read();
    return kept.map((note) => `- ${note.text}`).join('\n') || 'no notes yet';
});
ext.command('forget-notes', 'Forget the notes of this project.', async () => {
    await ext.clearNotes();
    return `forgot ${await notes().clear()}`;
});
ext.tool('read_notes', {
    description: 'Read the notes that the user keeps about this project.',
    parameters: s.object({ containing: s.optional(s.string('Only notes with this text in them.')) }),
    readOnly: true,
}, async ({ containing }) => {
    const wanted = (containing ?? '').toLowerCase();
    const found = (await notes().read()).filter((note) => note.text.toLowerCase().includes(wanted));
    return found.map((note) => `${note.at.slice(0, 10)} ${note.text}`).join('\n') || 'no such notes';
});
await ext.run();
