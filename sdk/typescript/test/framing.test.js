// Lines: cut at LF alone, whatever the chunks; long ones left out; the work grows with the bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { encode } from '../dist/json.js';
import { LineSplitter } from '../dist/lines.js';
import { Sequences, WAITING_LIMIT } from '../dist/sequences.js';

const bytes = (text) => new TextEncoder().encode(text);

test('only LF ends a line', () => {
  const text = 'a\u2028b\u2029c\u0085d\re\vf\fg\r';
  assert.deepEqual(new LineSplitter().feed(bytes(`${text}\n\nnext\nrest`)), [text, '', 'next']);
});

test('however it is cut into chunks, the lines are the same', () => {
  const lines = ['{"a":"ä€😀"}', '', '\u2028', 'x'.repeat(50), '\ufeffbom'];
  const all = bytes(`${lines.join('\n')}\n`);
  for (let size = 1; size <= all.length; size += 1) {
    const splitter = new LineSplitter();
    const found = [];
    for (let at = 0; at < all.length; at += size) found.push(...splitter.feed(all.subarray(at, at + size)));
    assert.deepEqual(found, lines, `chunks of ${size}`);
    assert.equal(splitter.rest(), undefined);
  }
});

test('what stands after the last LF is the rest', () => {
  const splitter = new LineSplitter();
  splitter.feed(bytes('a\nb'));
  assert.equal(splitter.rest(), 'b');
  assert.equal(splitter.rest(), undefined);
});

test('a line above the limit is left out, and those after it are not', () => {
  for (const size of [1, 2, 3, 7, 100]) {
    const splitter = new LineSplitter(5);
    const all = bytes('12345\n123456\nok\n1234567890123\nend\n');
    const found = [];
    for (let at = 0; at < all.length; at += size) found.push(...splitter.feed(all.subarray(at, at + size)));
    assert.deepEqual(found, ['12345', { size: 6 }, 'ok', { size: 13 }, 'end']);
  }
});

test('a large line in many chunks is copied once', (t) => {
  const concat = t.mock.method(Buffer, 'concat');
  const splitter = new LineSplitter();
  const chunk = bytes('x'.repeat(1000));
  for (let i = 0; i < 5000; i += 1) assert.deepEqual(splitter.feed(chunk), []);
  const [line] = splitter.feed(bytes('\n'));
  assert.equal(line.length, 5_000_000);
  assert.equal(concat.mock.callCount(), 1);
});

test('a frame is one line of well-formed text', () => {
  assert.equal(encode({ a: 'x\ny\u2028', b: undefined }), '{"a":"x\\ny\u2028"}');
  assert.equal(encode({ a: '\ude00\ud83d', b: '😀' }), '{"a":"\ufffd\ufffd","b":"😀"}');
  assert.throws(() => encode(undefined), TypeError);
});

test('tasks that do not keep up are left out above a limit, and reported once', async () => {
  const reports = [];
  const sequences = new Sequences((message) => reports.push(message));
  let done = 0;
  for (let i = 0; i < WAITING_LIMIT + 5; i += 1) sequences.add('events', async () => void (done += 1));
  await sequences.settled();
  assert.deepEqual([done, reports.length], [WAITING_LIMIT, 1]);
});
