// Counts turns, tool calls and time, and shows the totals after every answer and with the command /meter.
'use strict';

const totals = { startedAt: process.uptime(), turns: 0, messages: 0, toolCalls: new Map() };

const send = (frame, then) => process.stdout.write(JSON.stringify(frame) + '\n', then);
const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

function summary() {
  const calls = [...totals.toolCalls.values()].reduce((sum, count) => sum + count, 0);
  const names = [...totals.toolCalls].map(([name, count]) => `${name} ${count}`).join(', ');
  const seconds = (process.uptime() - totals.startedAt).toFixed(1);
  const tools = plural(calls, 'tool call') + (calls ? ` (${names})` : '');
  return `${plural(totals.turns, 'turn')}, ${tools}, ${plural(totals.messages, 'message')}, ${seconds} s`;
}

function onEvent(frame) {
  switch (frame.event) {
    case 'session_start':
      totals.startedAt = process.uptime();
      break;
    case 'turn_start':
      totals.turns += 1;
      break;
    case 'tool_call':
      totals.toolCalls.set(frame.tool_name, (totals.toolCalls.get(frame.tool_name) || 0) + 1);
      break;
    case 'assistant_message': // a message with only tool calls has no text
      if (frame.text) totals.messages += 1;
      break;
    case 'turn_end': // after `tool_use` the model continues
      if (frame.stop !== 'tool_use') send({ type: 'notify', level: 'info', message: summary() });
      break;
  }
}

function onFrame(frame) {
  if (frame.type === 'event') {
    onEvent(frame);
  } else if (frame.type === 'command_invoked') {
    send({ type: 'command_response', id: frame.id, action: 'display', display: summary() });
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

send({ type: 'hello', name: 'turn-meter', version: '1.0.0', capabilities: ['commands', 'events'] });
send({ type: 'register_command', name: 'meter', description: 'Show turns, tool calls and time so far.' });
send({
  type: 'subscribe',
  events: ['session_start', 'turn_start', 'tool_call', 'turn_end', 'assistant_message'],
});
send({ type: 'ready' });

// Not the readline module: it also splits at U+2028, which JSON allows inside strings.
let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  lines.forEach(onLine);
});
process.stdin.on('end', () => process.exit(0));
