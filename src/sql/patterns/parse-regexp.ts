import { maxPatternDepth, maxRepetitions } from '../values/limits.ts';
import {
  parseClass,
  parseEscape,
  setOf,
  type SetItem,
  type Assertion,
  type RegexpFlags,
  type RegexpNode,
  type RegexpTree,
} from './regexp-set.ts';
import { RegexpReader } from './regexp-reader.ts';

const escapedAssertions: ReadonlyMap<string, Assertion> = new Map([
  ['b', 'boundary'],
  ['B', 'no-boundary'],
  ['A', 'text-start'],
  ['z', 'text-end'],
]);

const flagNames: ReadonlyMap<string, keyof RegexpFlags> = new Map([
  ['i', 'ignoreCase'],
  ['m', 'lines'],
  ['s', 'dotAll'],
]);

/** State of the parser: nesting of groups, current flags. */
interface Place {
  readonly reader: RegexpReader;
  readonly depth: number;
  flags: RegexpFlags;
  /** The groups so far. */
  readonly groups: { count: number; readonly names: Map<string, number> };
}

/** Parses flag letters; those after a `-` are cleared. Undefined for an unknown letter. */
export function flagsOf(letters: string, flags: RegexpFlags): RegexpFlags | undefined {
  let changed = flags;
  let on = true;
  for (const letter of letters) {
    const name = flagNames.get(letter);
    if (name === undefined && (letter !== '-' || !on)) return undefined;
    on = letter !== '-' && on;
    changed = name === undefined ? changed : { ...changed, [name]: on };
  }
  return changed;
}

function one(item: SetItem, ignoreCase = false): RegexpNode {
  return { kind: 'set', set: setOf([item], { ignoreCase }) };
}

const anything: RegexpNode = one([0, 0x10ffff]);
const anythingInLine: RegexpNode = { kind: 'set', set: setOf([[10, 10]], { negated: true }) };
const nothing: RegexpNode = { kind: 'sequence', parts: [] };

/** `(?i)` sets flags for the rest of its group; `(?i:` for the group it opens. */
function parseFlagGroup(place: Place): RegexpNode {
  const { reader } = place;
  const start = reader.place;
  const flags = flagsOf(reader.until(':)'), place.flags);
  if (flags === undefined || (start === reader.place && reader.peek() === ')')) {
    return reader.fail('a group such as (?:, (?<name> or (?i)', start);
  }
  if (reader.next() !== ')') return parseGroupBody({ ...place, flags });
  place.flags = flags;
  return nothing;
}

/** A capturing group. */
function parseNumbered(place: Place, name: string | undefined): RegexpNode {
  const { groups, reader } = place;
  groups.count++;
  const index = groups.count;
  if (name !== undefined && groups.names.has(name)) {
    return reader.fail(`a group of another name than ${name}`);
  }
  if (name !== undefined) groups.names.set(name, index);
  return { kind: 'group', index, body: parseGroupBody(place) };
}

function parseGroupBody(place: Place): RegexpNode {
  const { reader, depth } = place;
  const inner = parseChoice({ ...place, depth: depth + 1 });
  return reader.take(')') ? inner : reader.fail(') after a group');
}

function parseGroup(place: Place): RegexpNode {
  const { reader, depth } = place;
  if (depth >= maxPatternDepth) {
    return reader.tooLarge(
      `expected at most ${maxPatternDepth} nested groups in a regular expression, found more`,
    );
  }
  reader.next();
  const start = reader.place;
  const looks = ['?=', '?!', '?<=', '?<!'].some((look) =>
    Array.from(look).every((character, ahead) => reader.peek(ahead) === character),
  );
  if (looks) return reader.fail('a group that does not look around', start);
  if (reader.take('?P<') || reader.take('?<')) {
    const name = reader.until('>)');
    return /^[\p{L}_][\p{L}\p{Nd}_]*$/u.test(name) && reader.take('>')
      ? parseNumbered(place, name)
      : reader.fail('the name of a group', start);
  }
  return reader.take('?') ? parseFlagGroup(place) : parseNumbered(place, undefined);
}

function assertion(name: Assertion): RegexpNode {
  return { kind: 'assertion', assertion: name };
}

type ParseAtom = (place: Place) => RegexpNode;

function missing({ reader }: Place): never {
  return reader.fail('something to repeat before a quantifier');
}

const atoms: ReadonlyMap<string, ParseAtom> = new Map<string, ParseAtom>([
  ['(', parseGroup],
  ['[', ({ reader, flags }) => ({ kind: 'set', set: parseClass(reader, flags.ignoreCase) })],
  ['*', missing],
  ['+', missing],
  ['?', missing],
  ['{', missing],
  [
    '.',
    ({ reader, flags }) => {
      reader.next();
      return flags.dotAll ? anything : anythingInLine;
    },
  ],
  [
    '^',
    ({ reader, flags }) => {
      reader.next();
      return assertion(flags.lines ? 'line-start' : 'text-start');
    },
  ],
  [
    '$',
    ({ reader, flags }) => {
      reader.next();
      return assertion(flags.lines ? 'line-end' : 'text-end');
    },
  ],
  [
    '\\',
    ({ reader, flags }) => {
      const name = escapedAssertions.get(reader.peek(1));
      if (name === undefined) return one(parseEscape(reader), flags.ignoreCase);
      reader.next();
      reader.next();
      return assertion(name);
    },
  ],
]);

function parseAtom(place: Place): RegexpNode {
  const { reader, flags } = place;
  const parse = atoms.get(reader.peek());
  if (parse !== undefined) return parse(place);
  const code = reader.next().codePointAt(0)!;
  return one([code, code], flags.ignoreCase);
}

const simple: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['*', [0, Infinity]],
  ['+', [1, Infinity]],
  ['?', [0, 1]],
]);

/** `{2}`, `{2,}` or `{2,5}`. */
function parseCounts(reader: RegexpReader): readonly [number, number] {
  const start = reader.place;
  reader.next();
  const found = /^(\d{1,9})(,(\d{1,9})?)?$/.exec(reader.until('}'));
  if (found === null || !reader.take('}')) {
    return reader.fail('a count such as {2} or {2,5}', start);
  }
  const least = Number(found[1]);
  const most = found[2] === undefined ? least : Number(found[3] ?? Infinity);
  if (most < least) return reader.fail('a count from a lower to a higher number', start);
  const greatest = most === Infinity ? least : most;
  return greatest > maxRepetitions
    ? reader.tooLarge(
        `expected at most ${maxRepetitions} repetitions in a regular expression, found ${greatest}`,
      )
    : [least, most];
}

function parseRepeated(place: Place): RegexpNode {
  const { reader } = place;
  let node = parseAtom(place);
  for (let levels = 0; '*+?{'.includes(reader.peek()) && reader.peek() !== ''; levels++) {
    const counts = simple.get(reader.peek());
    if (levels >= maxPatternDepth) return reader.fail('no more quantifiers');
    if (counts !== undefined) reader.next();
    const [least, most] = counts ?? parseCounts(reader);
    const lazy = reader.take('?');
    node = { kind: 'repeat', body: node, least, most, lazy };
  }
  return node;
}

function parseSequence(place: Place): RegexpNode {
  const { reader } = place;
  const parts: RegexpNode[] = [];
  while (reader.peek() !== '' && reader.peek() !== '|' && reader.peek() !== ')') {
    parts.push(parseRepeated(place));
  }
  return { kind: 'sequence', parts };
}

/** Flags that are set inside an alternative also apply to later ones, until the end of the group. */
function parseChoice(place: Place): RegexpNode {
  const parts = [parseSequence(place)];
  while (place.reader.take('|')) parts.push(parseSequence(place));
  return parts.length === 1 ? parts[0]! : { kind: 'choice', parts };
}

/**
 * Reads a regular expression: literals, `.`, classes, `\d \w \s \b` and their
 * opposites, anchors, groups, `|`, quantifiers and the flags i, m and s. Throws
 * SqlError `value` for any other syntax with its place, and `limit` for what is
 * too long or too deep.
 */
export function parseRegexp(pattern: string, flags: RegexpFlags, position: number): RegexpTree {
  const reader = new RegexpReader(pattern, position);
  const groups = { count: 0, names: new Map<string, number>() };
  const root = parseChoice({ reader, depth: 0, flags, groups });
  const tree = { root, groups: groups.count, names: groups.names };
  return reader.peek() === '' ? tree : reader.fail('a group that ) closes');
}
