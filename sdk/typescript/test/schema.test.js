// The JSON Schema that the builder gives; its types are in types/.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { misfit } from '../dist/arguments.js';
import { s } from '../dist/index.js';

for (const [what, schema, json] of [
  ['string', s.string(), { type: 'string' }],
  ['described string', s.string('A name', { minLength: 1, pattern: '^a' }), { type: 'string', description: 'A name', minLength: 1, pattern: '^a' }],
  ['number', s.number('How much', { minimum: 0 }), { type: 'number', description: 'How much', minimum: 0 }],
  ['integer', s.integer(), { type: 'integer' }],
  ['boolean', s.boolean('Whether', { default: false }), { type: 'boolean', description: 'Whether', default: false }],
  ['enum', s.enum(['a', 'b'], 'Which'), { type: 'string', enum: ['a', 'b'], description: 'Which' }],
  ['literal', s.literal(3), { const: 3 }],
  ['array', s.array(s.string(), 'Names', { maxItems: 3 }), { type: 'array', items: { type: 'string' }, description: 'Names', maxItems: 3 }],
  ['record', s.record(s.number()), { type: 'object', additionalProperties: { type: 'number' } }],
  ['union', s.union([s.string(), s.integer()]), { anyOf: [{ type: 'string' }, { type: 'integer' }] }],
  ['nullable', s.nullable(s.string()), { anyOf: [{ type: 'string' }, { type: 'null' }] }],
  ['any', s.any('Anything'), { description: 'Anything' }],
  ['empty object', s.object({}), { type: 'object', properties: {}, additionalProperties: false }],
  ['object', s.object({ a: s.string(), b: s.optional(s.object({ c: s.integer() })) }, 'It'), {
    type: 'object', description: 'It', required: ['a'], additionalProperties: false,
    properties: { a: { type: 'string' }, b: { type: 'object', properties: { c: { type: 'integer' } }, required: ['c'], additionalProperties: false } } }],
]) {
  test(what, () => assert.deepEqual(schema.json, json));
}

const trip = s.object({
  city: s.string('', { minLength: 2, maxLength: 4, pattern: '^[A-Z€😀]' }),
  days: s.optional(s.integer('', { minimum: 1, maximum: 9 })),
  cost: s.optional(s.number('', { exclusiveMinimum: 0, exclusiveMaximum: 10, multipleOf: 0.1 })),
  unit: s.optional(s.enum(['c', 'f'])),
  tags: s.optional(s.array(s.string(), '', { minItems: 1, maxItems: 2, uniqueItems: true })),
  more: s.optional(s.record(s.boolean())),
  near: s.optional(s.nullable(s.object({ lat: s.number() }))),
  which: s.optional(s.union([s.literal(3), s.string()])),
  any: s.optional(s.any()),
});

for (const given of [
  {}, { days: 9 }, { cost: 0.3 }, { unit: 'f' }, { tags: ['a', 'b'] }, { more: { a: true, b: false } }, { near: null }, { near: { lat: 1 } },
  { which: 3 }, { which: '4' }, { any: [null] }, { any: {} }, { city: '😀€😀€' },
]) {
  test(`fits: ${JSON.stringify(given)}`, () => assert.equal(misfit(trip.json, { city: 'Rom', ...given }), undefined));
}

for (const [given, said] of [
  [[], 'the arguments must be an object'],
  [{}, '/city is missing'],
  [{ city: 3 }, '/city must be a string'],
  [{ city: 'R' }, '/city is shorter than 2'],
  [{ city: 'Paris' }, '/city is longer than 4'],
  [{ city: 'rom' }, '/city does not match ^[A-Z€😀]'],
  [{ city: 'Rom', days: 1.5 }, '/days must be an integer'],
  [{ city: 'Rom', days: 0 }, '/days is less than 1'],
  [{ city: 'Rom', days: 10 }, '/days is more than 9'],
  [{ city: 'Rom', cost: 0 }, '/cost is not more than 0'],
  [{ city: 'Rom', cost: 10 }, '/cost is not less than 10'],
  [{ city: 'Rom', cost: 0.25 }, '/cost is no multiple of 0.1'],
  [{ city: 'Rom', unit: 'k' }, '/unit must be one of c, f'],
  [{ city: 'Rom', tags: [] }, '/tags has fewer items than 1'],
  [{ city: 'Rom', tags: ['a', 'b', 'c'] }, '/tags has more items than 2'],
  [{ city: 'Rom', tags: ['a', 'a'] }, '/tags must hold nothing twice'],
  [{ city: 'Rom', tags: ['a', null] }, '/tags/1 must be a string'],
  [{ city: 'Rom', more: { a: 1 } }, '/more/a must be true or false'],
  [{ city: 'Rom', near: { lat: '1' } }, '/near fits none of the choices'],
  [{ city: 'Rom', which: 4 }, '/which fits none of the choices'],
  [{ city: 'Rom', toString: 1 }, '/toString is not known'],
]) {
  test(`does not fit: ${JSON.stringify(given)}`, () => assert.equal(misfit(trip.json, given), said));
}
