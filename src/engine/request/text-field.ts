import { CatalogError } from '../../protocol/errors.ts';
import type { JsonValue } from '../../protocol/json.ts';
import {
  countField,
  describe,
  fieldError,
  numberField,
  textField,
  type Fields,
} from '../base/fields.ts';
import type { MatchQuery, TextQuery } from './text-query.ts';
import { onlyItem } from '../base/items.ts';

const NAME = 'full_text_query';
/** Greatest number of edits: searching for more is expensive. */
const MOST_EDITS = 8;
const MOST_EXPANSIONS = 1000;

/**
 * The field `full_text_query` in every form that clients send: a text with the columns to
 * search, or a structure of queries; and both of them wrapped as `string_query` and
 * `structured_query`.
 * @throws CatalogError InvalidInput naming the field, what was expected and what was found.
 */
export function fullTextField(body: Fields): TextQuery | null {
  const value = body[NAME];
  if (value === undefined || value === null) return null;
  const fields = objectOf(value, NAME);
  const [text, structure] = [fields['string_query'], fields['structured_query']];
  const isGiven = (each: JsonValue | undefined): each is JsonValue =>
    each !== undefined && each !== null;
  if (isGiven(text) && isGiven(structure)) {
    throw fieldError(NAME, 'string_query or structured_query', 'both');
  }
  if (isGiven(text))
    return textSearch(objectOf(text, `${NAME}.string_query`), `${NAME}.string_query`);
  if (!isGiven(structure)) return unwrapped(fields, NAME);
  const name = `${NAME}.structured_query`;
  return structured(requiredField(objectOf(structure, name), 'query', name), `${name}.query`);
}

function unwrapped(fields: Fields, name: string): TextQuery {
  const query = requiredField(fields, 'query', name);
  return typeof query === 'string' ? textSearch(fields, name) : structured(query, `${name}.query`);
}

/** A search for words in one of some columns; in all indexed columns if none is named. */
function textSearch(fields: Fields, name: string): TextQuery {
  const terms = requiredText(fields, 'query', name);
  const columns = columnsOf(fields, name);
  if (columns.length === 0) return match(null, terms);
  return bestOf(columns.map((column) => match(column, terms)));
}

function match(column: string | null, terms: string, boost = 1): MatchQuery {
  return {
    kind: 'match',
    column,
    terms,
    boost,
    fuzziness: 0,
    maxExpansions: 50,
    all: false,
    prefixLength: 0,
  };
}

function bestOf(queries: readonly TextQuery[]): TextQuery {
  return onlyItem(queries) ?? { kind: 'best', queries };
}

const kinds: Readonly<Record<string, (fields: Fields, name: string) => TextQuery>> = {
  match: matchQuery,
  phrase: (fields, name) => ({
    kind: 'phrase',
    column: textField(fields, 'column'),
    terms: requiredText(fields, 'terms', name),
    slop: smallField(fields, 'slop', name, 0, 2 ** 31 - 1),
  }),
  boost: (fields, name) => ({
    kind: 'boost',
    positive: structured(requiredField(fields, 'positive', name), `${name}.positive`),
    negative: structured(requiredField(fields, 'negative', name), `${name}.negative`),
    negativeBoost: floatField(fields, 'negative_boost', name, 0.5),
  }),
  multi_match: multiMatch,
  boolean: booleanQuery,
};

function structured(value: JsonValue, name: string): TextQuery {
  const fields = objectOf(value, name);
  const given = Object.entries(fields).filter((entry) => entry[1] !== null);
  const [kind = '', inner = null] = onlyItem(given) ?? [];
  const queryOf = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (queryOf !== undefined) {
    const path = `${name}.${kind}`;
    return queryOf(objectOf(inner, path), path);
  }
  const expected = 'an object with one of match, phrase, boost, multi_match and boolean';
  const found = given.length === 1 ? 'another one' : `${given.length} fields`;
  throw fieldError(name, expected, found);
}

function matchQuery(fields: Fields, name: string): MatchQuery {
  return {
    kind: 'match',
    column: textField(fields, 'column'),
    terms: requiredText(fields, 'terms', name),
    boost: floatField(fields, 'boost', name, 1),
    fuzziness: fuzzinessField(fields, name),
    maxExpansions: smallField(fields, 'max_expansions', name, 50, MOST_EXPANSIONS),
    all: operatorField(fields, name),
    prefixLength: smallField(fields, 'prefix_length', name, 0, 2 ** 31 - 1),
  };
}

/** Null means a default by word length; absent means no edits. */
function fuzzinessField(fields: Fields, name: string): number | null {
  const value = fields['fuzziness'];
  if (value === null) return null;
  if (typeof value === 'string' && value.toLowerCase() === 'auto') return null;
  return smallField(fields, 'fuzziness', name, 0, MOST_EDITS);
}

function operatorField(fields: Fields, name: string): boolean {
  const operator = textField(fields, 'operator') ?? 'Or';
  if (/^and$/i.test(operator)) return true;
  if (/^or$/i.test(operator)) return false;
  throw fieldError(`${name}.operator`, '"Or" or "And"', JSON.stringify(operator));
}

/** Lance's own form has one text for several columns, the specification's a list of searches. */
function multiMatch(fields: Fields, name: string): TextQuery {
  const listed = fields['match_queries'];
  if (listed !== undefined && listed !== null) {
    const queries = listOf(listed, `${name}.match_queries`).map((each, at) => {
      const path = `${name}.match_queries[${at}]`;
      return matchQuery(objectOf(each, path), path);
    });
    if (queries.length > 0) return bestOf(queries);
    throw fieldError(`${name}.match_queries`, 'a list of searches', 'an empty list');
  }
  const terms = requiredText(fields, 'query', name);
  const columns = columnsOf(fields, name);
  if (columns.length === 0) throw fieldError(`${name}.columns`, 'a list of columns', 'none');
  const boosts = boostsOf(fields, name, columns.length);
  const all = operatorField(fields, name);
  return bestOf(columns.map((column, at) => ({ ...match(column, terms, boosts[at]), all })));
}

function boostsOf(fields: Fields, name: string, count: number): readonly number[] {
  const value = fields['boost'];
  if (value === undefined || value === null) return Array.from({ length: count }, () => 1);
  const boosts = listOf(value, `${name}.boost`).map((each, at) =>
    floatField({ [at]: each }, String(at), `${name}.boost`, 1),
  );
  if (boosts.length === count) return boosts;
  throw fieldError(`${name}.boost`, `a list of ${count} numbers`, `one of ${boosts.length}`);
}

function booleanQuery(fields: Fields, name: string): TextQuery {
  const part = (key: string) => {
    const value = fields[key];
    if (value === undefined || value === null) return [];
    const path = `${name}.${key}`;
    return listOf(value, path).map((each, at) => structured(each, `${path}[${at}]`));
  };
  const [must, should, mustNot] = [part('must'), part('should'), part('must_not')];
  if (must.length + should.length > 0) return { kind: 'boolean', must, should, mustNot };
  throw new CatalogError('InvalidInput', `${name} must have a query in must or in should`);
}

function columnsOf(fields: Fields, name: string): readonly string[] {
  const value = fields['columns'];
  if (value === undefined || value === null) return [];
  return listOf(value, `${name}.columns`).map((column, at) => {
    if (typeof column === 'string') return column;
    throw fieldError(`${name}.columns[${at}]`, 'a string', describe(column));
  });
}

function floatField(fields: Fields, key: string, name: string, absent: number): number {
  const value = numberField(fields, key) ?? absent;
  const rounded = Math.fround(value);
  if (Number.isFinite(rounded)) return rounded;
  throw fieldError(`${name}.${key}`, 'a 32-bit float', String(value));
}

function smallField(
  fields: Fields,
  key: string,
  name: string,
  absent: number,
  most: number,
): number {
  const value = countField(fields, key) ?? BigInt(absent);
  if (value <= most) return Number(value);
  throw fieldError(`${name}.${key}`, `at most ${most}`, String(value));
}

function requiredField(fields: Fields, key: string, name: string): JsonValue {
  const value = fields[key];
  if (value !== undefined && value !== null) return value;
  throw fieldError(`${name}.${key}`, 'given', 'null');
}

function requiredText(fields: Fields, key: string, name: string): string {
  const value = requiredField(fields, key, name);
  if (typeof value === 'string') return value;
  throw fieldError(`${name}.${key}`, 'a string', describe(value));
}

function objectOf(value: JsonValue, name: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw fieldError(name, 'an object', describe(value));
}

function listOf(value: JsonValue, name: string): readonly JsonValue[] {
  if (Array.isArray(value)) return value;
  throw fieldError(name, 'a list', describe(value));
}
