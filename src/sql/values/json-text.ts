import { spend } from './meter.ts';

/** A piece of a path into a JSON value: the name of a member or, counted from 0, the place of an element. */
export type JsonStep = string | number;

/** Range of a value in the JSON text, without surrounding space. */
interface JsonSpan {
  readonly start: number;
  readonly end: number;
}

const blank = /[ \t\n\r]*/y;
/** Unescaped characters of a JSON string: all but quotes, backslashes and control characters. */
const plainText = /[ !#-[\]-\uffff]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Internal: the text is not JSON (RFC 8259). */
class NoJson extends Error {}

/** Walks over JSON once, from left to right. */
class JsonWalk {
  readonly #json: string;
  at = 0;

  constructor(json: string) {
    this.#json = json;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#json)?.[0];
    if (found === undefined) throw new NoJson();
    spend(found.length + 8);
    this.at += found.length;
    return found;
  }

  space(): void {
    this.#match(blank);
  }

  /** The next character that is no space, without taking it; empty at the end. */
  peek(): string {
    this.space();
    return this.#json.charAt(this.at);
  }

  take(character: string): boolean {
    const found = this.peek() === character;
    if (found) this.at++;
    return found;
  }

  expect(character: string): void {
    if (!this.take(character)) throw new NoJson();
  }

  /** A string with its quotes. Piece by piece: one pattern for all of it would need memory for each letter. */
  text(): string {
    this.space();
    const start = this.at;
    this.expect('"');
    for (this.#match(plainText); this.#json.charAt(this.at) !== '"'; this.#match(plainText)) {
      this.#match(escape);
    }
    this.at++;
    return this.#json.slice(start, this.at);
  }

  /** The name of a member and its colon. */
  name(): string {
    const name = textOfJson(this.text());
    this.expect(':');
    return name;
  }

  /** Passes over a value, however deep it is. */
  skip(): JsonSpan {
    this.space();
    const start = this.at;
    const open: string[] = [];
    do {
      this.#begin(open);
      while (open.length > 0 && !this.take(',')) this.expect(open.pop()!);
      if (open.at(-1) === '}') this.name();
    } while (open.length > 0);
    return { start, end: this.at };
  }

  /** A scalar, or the beginning of an object or array with all that begins at once within. */
  #begin(open: string[]): void {
    for (;;) {
      const next = this.peek();
      if (next === '"') return void this.text();
      if (next !== '{' && next !== '[') return void this.#match(scalar);
      this.at++;
      const close = next === '{' ? '}' : ']';
      if (this.take(close)) return;
      open.push(close);
      if (close === '}') this.name();
    }
  }
}

/** The text of a JSON string, given with quotes and escapes. */
export function textOfJson(json: string): string {
  return JSON.parse(json) as string;
}

/** Each member or element of a value with its step; nothing in anything else. */
function* partsOf(walk: JsonWalk): Generator<readonly [step: JsonStep, span: JsonSpan]> {
  const close = walk.take('{') ? '}' : walk.take('[') ? ']' : undefined;
  if (close === undefined) {
    walk.skip();
    return;
  }
  if (walk.take(close)) return;
  let place = 0;
  do {
    const step = close === '}' ? walk.name() : place;
    yield [step, walk.skip()];
    place++;
  } while (walk.take(','));
  walk.expect(close);
}

function wholeOf(json: string): JsonSpan {
  const walk = new JsonWalk(json);
  const span = walk.skip();
  if (walk.peek() !== '') throw new NoJson();
  return span;
}

function partAt(json: string, { start, end }: JsonSpan, step: JsonStep): JsonSpan | undefined {
  let found: JsonSpan | undefined;
  for (const [each, span] of partsOf(new JsonWalk(json.slice(start, end)))) {
    // Of duplicate members the last counts, as in JSON.parse.
    if (each === step) found = { start: start + span.start, end: start + span.end };
  }
  return found;
}

/** The parsed value of a JSON text; null for invalid JSON. */
function reading<Read>(read: () => Read): Read | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof NoJson) return null;
    throw error;
  }
}

/** The part of a JSON text at the end of a path, as it is written there; undefined where there is none, null for what is no JSON. */
export function jsonPart(json: string, path: readonly JsonStep[]): string | null | undefined {
  return reading(() => {
    let span: JsonSpan | undefined = wholeOf(json);
    for (const step of path) span = span === undefined ? undefined : partAt(json, span, step);
    return span === undefined ? undefined : json.slice(span.start, span.end);
  });
}

/** The elements of an array, as they are written there; undefined for anything else. */
export function jsonElements(json: string): readonly string[] | undefined {
  if (!json.startsWith('[')) return undefined;
  return Array.from(partsOf(new JsonWalk(json)), ([, { start, end }]) => json.slice(start, end));
}

/** JSON without the space between its parts. */
export function compactJson(json: string): string {
  const walk = new JsonWalk(json);
  const pieces: string[] = [];
  for (let next = walk.peek(); next !== ''; next = walk.peek()) {
    spend(8);
    pieces.push(next === '"' ? walk.text() : next);
    if (next !== '"') walk.at++;
  }
  return pieces.join('');
}

const pathStart = /^\$?/;
const pathStep =
  /(?:^|\.)([^.[\]"'*\s$@?]+)|(?:^|\.)"((?:[^"\\]|\\.)*)"|\[\s*(\d{1,9})\s*\]|\[\s*"((?:[^"\\]|\\.)*)"\s*\]|\[\s*'([^']*)'\s*\]/y;

/** The steps of a path such as `$.a.b[0]`, `a.b` or `$["a b"]`; undefined for what is none. */
export function parseJsonPath(written: string): readonly JsonStep[] | undefined {
  const path = written.trim();
  const rest = path.replace(pathStart, '');
  const steps: JsonStep[] = [];
  for (let at = 0; at < rest.length;) {
    pathStep.lastIndex = at;
    const found = pathStep.exec(rest);
    if (found === null || (at === 0 && path.startsWith('$') && !/^[.[]/.test(rest))) {
      return undefined;
    }
    const [whole, name, dotted, place, quoted, single] = found;
    steps.push(place === undefined ? (name ?? dotted ?? quoted ?? single ?? '') : Number(place));
    at += whole.length;
  }
  return steps;
}
