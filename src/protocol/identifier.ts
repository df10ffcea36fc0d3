import { CatalogError } from './errors.ts';

/**
 * The segments of a namespace or table, outermost first; the root is `[]`.
 * Tables and namespaces share paths.
 */
export type ObjectPath = readonly string[];

/** The longest path that is accepted, in UTF-8 bytes of its canonical form. */
export const MAX_PATH_BYTES = 1024;

/** Characters that are not encoded in the canonical spelling; most names consist of them. */
const PLAIN = /^[\w.-]*$/;
const CONTROL = /\p{Cc}/u;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The canonical spelling of a path: `/` the root, each segment percent-encoded
 * outside `A-Z a-z 0-9 _ - .`.
 */
export function canonicalPath(path: ObjectPath): string {
  return `/${path.map(encodeSegment).join('/')}`;
}

/** One segment percent-encoded outside `A-Z a-z 0-9 _ - .`, hexadecimal in capitals. */
export function encodeSegment(segment: string): string {
  if (PLAIN.test(segment)) return segment;
  return encodeURIComponent(segment).replace(
    /[!'()*~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The path that a canonical spelling stands for. The inverse of `canonicalPath`. */
export function parseCanonicalPath(text: string): ObjectPath {
  return text === '/' ? [] : text.slice(1).split('/').map(decodeURIComponent);
}

/** A path in the spelling of a client: its segments joined by its delimiter, the root the delimiter alone. */
export function joinIdentifier(path: ObjectPath, delimiter: string): string {
  return path.length === 0 ? delimiter : path.join(delimiter);
}

/** Refuses a path with an ambiguous segment, and names it. */
export function checkPath(path: ObjectPath): void {
  for (const segment of path) checkSegment(segment);
  if (Buffer.byteLength(canonicalPath(path)) > MAX_PATH_BYTES) {
    throw new CatalogError('InvalidInput', `an identifier is at most ${MAX_PATH_BYTES} bytes long`);
  }
}

function checkSegment(segment: string): void {
  const fault = segmentFault(segment);
  if (fault !== undefined) throw new CatalogError('InvalidInput', fault);
}

function segmentFault(segment: string): string | undefined {
  if (segment === '') return 'an identifier has an empty segment';
  if (segment === '.' || segment === '..')
    return `"${segment}" cannot be a segment of an identifier`;
  if (LONE_SURROGATE.test(segment)) return 'a segment of an identifier is not valid Unicode';
  if (CONTROL.test(segment)) return 'a segment of an identifier holds a control character';
  return undefined;
}

/** Refuses a name that something new may not have: those of `checkPath`, and names that hold `$`. */
export function checkNewPath(path: ObjectPath): void {
  checkPath(path);
  const bad = path.find((segment) => segment.includes('$'));
  if (bad !== undefined) {
    throw new CatalogError(
      'InvalidInput',
      `the name ${JSON.stringify(bad)} holds "$", which separates names`,
    );
  }
}
