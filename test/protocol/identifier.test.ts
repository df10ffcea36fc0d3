import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalPath,
  checkNewPath,
  checkPath,
  joinIdentifier,
  parseCanonicalPath,
  type ObjectPath,
} from '../../src/protocol/identifier.ts';
import { matchRoute } from '../../src/protocol/route.ts';
import { refusalOf } from './refusal.ts';

function isSegment(text: string): boolean {
  return refusalOf(() => checkPath([text])) === 'no refusal';
}

const segment = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
    fc.constantFrom('a b', 'a+b', 'a/b', 'a%24b', '%', 'a.b', '...', '*', "'()!~", '中🚀', 'a\\b'),
  )
  .filter(isSegment);
const path = fc.array(segment, { maxLength: 5 });
const delimiter = fc
  .oneof(
    fc.constantFrom('$', '.', '/', '::', '%', '+', '?', '#', '..', ' '),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }),
  )
  .filter((text) => !/\p{Cc}/u.test(text));

/** A pair that the protocol can spell: no name holds the delimiter, nor does one arise where names meet. */
const spelled = fc
  .tuple(path, delimiter)
  .filter(([names, by]) => names.length === 0 || sameParts(joinIdentifier(names, by), names, by));

function sameParts(id: string, names: ObjectPath, by: string): boolean {
  const parts = id.split(by);
  return (
    id !== by && parts.length === names.length && parts.every((part, at) => part === names[at])
  );
}

/** As a generated client writes a path: everything but letters, digits and a few marks encoded. */
function percent(text: string): string {
  return encodeURIComponent(text).replaceAll('.', '%2E');
}

/** As the Rust client of the namespace specification writes it. */
function form(text: string): string {
  return percent(text).replaceAll('%20', '+');
}

function objectOf(target: string, userAgent?: string): ObjectPath {
  const match = matchRoute('GET', target, userAgent);
  if (match.kind !== 'operation') throw new Error(`${target} is no operation`);
  return match.object;
}

describe('a path', () => {
  it('is read back from its canonical spelling', () => {
    fc.assert(
      fc.property(path, (names) => {
        expect(parseCanonicalPath(canonicalPath(names))).toEqual(names);
      }),
    );
  });

  it('has a canonical spelling of safe characters alone, and no two paths share one', () => {
    fc.assert(
      fc.property(path, path, (left, right) => {
        expect(canonicalPath(left)).toMatch(
          /^\/(?:[\w.-]|%[\dA-F]{2})*(?:\/(?:[\w.-]|%[\dA-F]{2})+)*$/,
        );
        expect(canonicalPath(left) === canonicalPath(right)).toBe(
          JSON.stringify(left) === JSON.stringify(right),
        );
      }),
    );
  });

  it('comes through a route in both dialects, whatever the delimiter', () => {
    fc.assert(
      fc.property(spelled, ([names, by]) => {
        const id = joinIdentifier(names, by);
        const query = `?delimiter=${percent(by)}`;
        expect(objectOf(`/v1/namespace/${percent(id)}/list${query}`)).toEqual(names);
        expect(objectOf(`/v1/namespace/${form(id)}/list${query}`)).toEqual(names);
        expect(objectOf(`/v1/namespace/${percent(id)}/list/${query}`)).toEqual(names);
        expect(
          objectOf(`/v1/namespace/${percent(id)}/list${query}`, 'LanceDB-Rust-Client/1'),
        ).toEqual(names);
      }),
    );
  });

  it('that a route yields is one that can be spelled canonically, or the route is refused', () => {
    fc.assert(
      fc.property(fc.webSegment(), fc.webQueryParameters(), (id, query) => {
        const target = `/v1/namespace/${id}/list?${query}`;
        let names: ObjectPath = [];
        const refusal = refusalOf(() => {
          const match = matchRoute('GET', target, undefined);
          if (match.kind === 'operation') names = match.object;
        });
        expect(refusal).toMatch(/^(?:no refusal$|InvalidInput: )/);
        expect(parseCanonicalPath(canonicalPath(names))).toEqual(names);
        expect(refusalOf(() => checkPath(names))).toBe('no refusal');
      }),
    );
  });
});

describe('a name', () => {
  it.each([
    ['', 'an identifier has an empty segment'],
    ['.', '"." cannot be a segment of an identifier'],
    ['..', '".." cannot be a segment of an identifier'],
    ['a\u0000', 'a segment of an identifier holds a control character'],
    ['a\u009F', 'a segment of an identifier holds a control character'],
    ['\uD800', 'a segment of an identifier is not valid Unicode'],
    ['a'.repeat(1024), 'an identifier is at most 1024 bytes long'],
  ])('%j is refused', (name, sentence) => {
    expect(refusalOf(() => checkPath(['a', name]))).toBe(`InvalidInput: ${sentence}`);
  });

  it('holds no "$" when it is new, and may hold it when it is old', () => {
    expect(refusalOf(() => checkNewPath(['a', 'b$c']))).toBe(
      'InvalidInput: the name "b$c" holds "$", which separates names',
    );
    expect(refusalOf(() => checkPath(['a', 'b$c']))).toBe('no refusal');
  });

  it('is canonical in capitals of hexadecimal, with the marks that encodeURIComponent leaves encoded too', () => {
    expect(canonicalPath(["it's", 'a b', 'é~'])).toBe('/it%27s/a%20b/%C3%A9%7E');
    expect(canonicalPath([])).toBe('/');
    expect(parseCanonicalPath('/')).toEqual([]);
  });
});
