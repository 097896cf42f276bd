// Two slash commands about the time. Speaks the protocol without an SDK, and never says `ready`: after the hello, a host
// takes 250 ms of silence for it.

const send = (frame, then) => process.stdout.write(`${JSON.stringify(frame)}\n`, then);

const COMMANDS = {
  now(zone) {
    try {
      const at = new Intl.DateTimeFormat('en-GB', {
        dateStyle: 'full', timeStyle: 'long', timeZone: zone || undefined,
      });
      return { action: 'display', display: at.format(new Date()) };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { error: `there is no time zone ${JSON.stringify(zone)}; try /now Europe/Berlin` };
    }
  },
  stamp() {
    return { action: 'insert', insert: new Date().toISOString() };
  },
};

function onFrame(frame) {
  if (frame.type === 'command_invoked') {
    const command = Object.hasOwn(COMMANDS, frame.name) ? COMMANDS[frame.name] : null;
    const answer = command ? command((frame.args ?? '').trim()) : { error: `clock has no command /${frame.name}` };
    send({ type: 'command_response', id: frame.id, ...answer });
  } else if (frame.type === 'shutdown') {
    send({ type: 'shutdown_ack' }, () => process.exit(0));
  }
}

function onLine(line) {
  let frame;
  try {
    frame = JSON.parse(line);
  } catch (error) {
    console.error(`ignored a line that is not JSON: ${error.message}`);
    return;
  }
  if (frame !== null && typeof frame === 'object') onFrame(frame);
}

send({ type: 'hello', name: 'clock', version: '1.0.0', capabilities: ['commands'] });
send({ type: 'register_command', name: 'now', description: 'Show the time, also elsewhere: /now Asia/Tokyo' });
send({ type: 'register_command', name: 'stamp', description: 'Put date and time into the next prompt.' });

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  lines.forEach(onLine);
});
process.stdin.on('end', () => process.exit(0));
