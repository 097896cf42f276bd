/**
 * Checks arguments against a schema made by `s`, so that they fit the types of the handler. This host has checked them
 * already; zot's own host does not. Knows only the keywords that `s` writes.
 */

import { isObject, type Json, type JsonObject } from './json.js';

/** Returns what is wrong with the value, and where; undefined if it fits. */
export function misfit(schema: JsonObject, value: unknown, place = ''): string | undefined {
  const wrong = (what: string): string => `${place || 'the arguments'} ${what}`;
  const { type, anyOf } = schema;
  if (Array.isArray(anyOf)) {
    const fits = anyOf.some((option) => misfit(option as JsonObject, value, place) === undefined);
    return fits ? undefined : wrong('fits none of the choices');
  }
  if ('const' in schema && value !== schema['const']) return wrong(`must be ${JSON.stringify(schema['const'])}`);
  if (typeof type === 'string' && !isOfType(type, value)) return wrong(`must be ${ARTICLES[type] ?? type}`);
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(value as Json)) {
    return wrong(`must be one of ${schema['enum'].join(', ')}`);
  }
  for (const [keyword, breaks, what] of RULES) {
    const rule = schema[keyword];
    if (rule !== undefined && breaks(value as never, rule as never)) return wrong(`${what} ${rule}`);
  }
  if (Array.isArray(value) && isObject(schema['items'])) {
    const isUnique = new Set(value.map((item) => JSON.stringify(item))).size === value.length;
    if (schema['uniqueItems'] === true && !isUnique) return wrong('must hold nothing twice');
    return firstOf(value.map((item, n) => () => misfit(schema['items'] as JsonObject, item, `${place}/${n}`)));
  }
  return type === 'object' && isObject(value) ? objectMisfit(schema, value, place) : undefined;
}

function objectMisfit(schema: JsonObject, value: Record<string, unknown>, place: string): string | undefined {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  const others = schema['additionalProperties'];
  for (const name of (schema['required'] ?? []) as string[]) {
    if (!Object.hasOwn(value, name)) return `${place}/${name} is missing`;
  }
  return firstOf(Object.entries(value).map(([name, member]) => () => {
    const rule = Object.hasOwn(properties, name) ? properties[name] : others;
    if (rule === false) return `${place}/${name} is not known`;
    return isObject(rule) ? misfit(rule as JsonObject, member, `${place}/${name}`) : undefined;
  }));
}

const ARTICLES: Record<string, string> = {
  string: 'a string', number: 'a number', integer: 'an integer', boolean: 'true or false', array: 'a list',
  object: 'an object', null: 'null',
};

/** Keyword, whether the value breaks it, and the start of the message. */
const RULES: readonly [string, (value: never, rule: never) => boolean, string][] = [
  ['minLength', (value: string, rule: number) => [...value].length < rule, 'is shorter than'],
  ['maxLength', (value: string, rule: number) => [...value].length > rule, 'is longer than'],
  ['pattern', (value: string, rule: string) => !new RegExp(rule, 'u').test(value), 'does not match'],
  ['minimum', (value: number, rule: number) => value < rule, 'is less than'],
  ['maximum', (value: number, rule: number) => value > rule, 'is more than'],
  ['exclusiveMinimum', (value: number, rule: number) => value <= rule, 'is not more than'],
  ['exclusiveMaximum', (value: number, rule: number) => value >= rule, 'is not less than'],
  ['multipleOf', (value: number, rule: number) => !isMultiple(value, rule), 'is no multiple of'],
  ['minItems', (value: Json[], rule: number) => value.length < rule, 'has fewer items than'],
  ['maxItems', (value: Json[], rule: number) => value.length > rule, 'has more items than'],
];

/** Tolerates the rounding of fractions: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

function firstOf(checks: (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const found = check();
    if (found !== undefined) return found;
  }
  return undefined;
}
