import { CatalogError } from '../../protocol/errors.ts';
import {
  canonicalPath,
  checkPath,
  encodeSegment,
  type ObjectPath,
} from '../../protocol/identifier.ts';

/** The subject of a line that is about every authenticated principal. */
export const EVERYONE = '*';

const CONTROL = /\p{Cc}/u;
const NAMED = /^(user|group|role):(.+)$/s;

/**
 * The fault of a subject as a policy spells it:
 * `user:`, `group:` or `role:` and a name percent-encoded like a path
 * segment, or `*`. Undefined if nothing is.
 */
export function subjectFault(text: string): string | undefined {
  if (text === EVERYONE) return undefined;
  const [, kind, name] = NAMED.exec(text) ?? [];
  if (kind === undefined || name === undefined) {
    return `the subject ${JSON.stringify(text)} is none of user:NAME, group:NAME, role:NAME and *`;
  }
  if (LONE_SURROGATE.test(name)) return `the subject ${JSON.stringify(text)} is not valid Unicode`;
  if (CONTROL.test(decodeSegment(name))) {
    return `the subject ${JSON.stringify(text)} can be nobody: a name holds no control character`;
  }
  const spelling = encodeSegment(decodeSegment(name));
  if (spelling === name) return undefined;
  return `the subject ${JSON.stringify(text)} is not in its canonical spelling: write ${kind}:${spelling}`;
}

/** `*`: exactly one segment. A literal asterisk is `%2A`. */
export const ANY = null;

/** A segment as it is called, or any one segment. */
export type PatternSegment = string | typeof ANY;

/** A lone surrogate, which no UTF-8 text can contain. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Which objects a line is about. */
export interface Pattern {
  /** Outermost first, decoded. */
  readonly segments: readonly PatternSegment[];
  /** `/**` at the end: the object of the segments, and everything below it. */
  readonly below: boolean;
}

/** The pattern, or one sentence with the fault and the correct spelling. */
type PatternResult = { readonly pattern: Pattern } | { readonly fault: string };

/** The canonical spelling of a pattern. */
export function formatPattern(pattern: Pattern): string {
  const segments = pattern.segments.map((segment) =>
    segment === ANY ? '*' : encodeSegment(segment),
  );
  if (pattern.below) segments.push('**');
  return `/${segments.join('/')}`;
}

/** Whether the object is one of those that the pattern names. */
export function patternMatches(pattern: Pattern, path: ObjectPath): boolean {
  const { segments, below } = pattern;
  if (below ? path.length < segments.length : path.length !== segments.length) return false;
  for (let at = 0; at < segments.length; at++) {
    if (segments[at] !== ANY && segments[at] !== path[at]) return false;
  }
  return true;
}

/** Everything at and below a path, as a pattern. */
export function subtreeOf(path: ObjectPath): Pattern {
  return { segments: path, below: true };
}

/** The intersection of two patterns; undefined if it is empty. */
export function intersect(one: Pattern, other: Pattern): Pattern | undefined {
  const [short, long] = one.segments.length <= other.segments.length ? [one, other] : [other, one];
  if (short.segments.length < long.segments.length && !short.below) return undefined;
  const segments: PatternSegment[] = [];
  for (const [index, segment] of long.segments.entries()) {
    const beside = short.segments[index] ?? ANY;
    if (segment !== ANY && beside !== ANY && segment !== beside) return undefined;
    segments.push(segment ?? beside);
  }
  return { segments, below: long.below && short.below };
}

/** Reads a pattern strictly: only the canonical spelling of something that can exist. */
export function parsePattern(text: string): PatternResult {
  const parts = text === '/' ? [] : text.split('/').slice(1);
  const fault = shapeFault(text, parts) ?? starFault(text, parts);
  if (fault !== undefined) return { fault };
  const below = parts.at(-1) === '**';
  const named = below ? parts.slice(0, -1) : parts;
  const pattern = {
    segments: named.map((part) => (part === '*' ? ANY : decodeSegment(part))),
    below,
  };
  const impossible = impossibleFault(text, pattern.segments);
  if (impossible !== undefined) return { fault: impossible };
  const spelling = formatPattern(pattern);
  return spelling === text ? { pattern } : { fault: notCanonical(text, spelling) };
}

function shapeFault(text: string, parts: readonly string[]): string | undefined {
  if (LONE_SURROGATE.test(text)) return `the pattern ${JSON.stringify(text)} is not valid Unicode`;
  if (text === '' || text === '*' || text === '**') {
    return `${JSON.stringify(text)} is no pattern: everything is written /**`;
  }
  if (!text.startsWith('/')) {
    return `the pattern ${JSON.stringify(text)} does not begin with "/": write ${respell(text.split('/'))}`;
  }
  if (parts.includes('')) {
    return `the pattern ${JSON.stringify(text)} has an empty segment: write ${respell(parts)}`;
  }
  return undefined;
}

function starFault(text: string, parts: readonly string[]): string | undefined {
  if (parts.slice(0, -1).includes('**')) {
    return `the pattern ${JSON.stringify(text)} has "**" before its end, where it cannot stand: write * for each single segment`;
  }
  const mixed = parts.find((part) => part.includes('*') && part !== '*' && part !== '**');
  if (mixed === undefined) return undefined;
  return `in the pattern ${JSON.stringify(text)}, ${JSON.stringify(mixed)} mixes "*" with other characters: * is a whole segment, and the character itself is written %2A`;
}

function impossibleFault(text: string, segments: readonly PatternSegment[]): string | undefined {
  try {
    checkPath(segments.filter((segment) => segment !== ANY));
    return undefined;
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    return `the pattern ${JSON.stringify(text)} can match nothing: ${error.message}`;
  }
}

function notCanonical(text: string, spelling: string): string {
  return `the pattern ${JSON.stringify(text)} is not in its canonical spelling: write ${spelling}`;
}

function respell(parts: readonly string[]): string {
  const spelt = parts
    .filter((part) => part !== '')
    .map((part) => (part === '*' || part === '**' ? part : encodeSegment(decodeSegment(part))));
  return `/${spelt.join('/')}`;
}

/** The probable canonical spelling of a mistyped path; undefined if there is none. */
export function canonicalSpelling(text: string): string {
  return respell(text.split('/'));
}

/** The segment that a spelling stands for; one that is not percent-encoding stands for itself. */
export function decodeSegment(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Parses the canonical path of an object; undefined for any other spelling and for impossible objects. */
export function parseObject(text: string): ObjectPath | undefined {
  const result = parsePattern(text);
  if ('fault' in result || result.pattern.below) return undefined;
  const { segments } = result.pattern;
  const path = segments.filter((segment) => segment !== ANY);
  return path.length === segments.length && canonicalPath(path) === text ? path : undefined;
}
