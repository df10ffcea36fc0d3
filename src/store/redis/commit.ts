import { boundBytes, keyBytes } from '../key.ts';
import { encodeWrites, type StoreChange, type Check, type Write } from '../store.ts';
import { SEAL_BYTES, sealValue } from '../value-seal.ts';

/** An argument of a script. */
export type Argument = string | number | Buffer;

/** How long the id of a commit is stored, in seconds: longer than any retry. */
const REMEMBERED_SECONDS = 600;

/** A change is sealed without its number, which only the script gives it. */
export const NO_KEY = new Uint8Array();

/**
 * A commit as the arguments of its script.
 * @throws StoreError key.
 */
export function commitArguments(
  id: string,
  checks: readonly Check[],
  writes: readonly Write[],
): readonly Argument[] {
  return [
    id,
    REMEMBERED_SECONDS,
    checks.length,
    ...checks.flatMap(checkArguments),
    sealValue(NO_KEY, encodeWrites(writes)).subarray(0, SEAL_BYTES),
    writes.length,
    ...writes.flatMap(writeArguments),
  ];
}

function checkArguments(check: Check): readonly Argument[] {
  if (check.kind === 'count') return countArguments(check.start, check.end, check.count);
  if (check.kind === 'sequence') return ['n', String(check.atLeast)];
  const key = keyBytes(check.key);
  return check.value === null ? ['a', key] : ['v', key, sealValue(key, check.value)];
}

function countArguments(start: string, end: string, count: number): readonly Argument[] {
  return ['c', ...lexBounds(boundBytes(start), boundBytes(end)), count];
}

/** Bounds of a range for Redis: the start is inclusive, the end exclusive. */
export function lexBounds(start: Buffer, end: Buffer): readonly [Argument, Argument] {
  const first = start.length === 0 ? '-' : Buffer.concat([Buffer.from('['), start]);
  return [first, Buffer.concat([Buffer.from('('), end])];
}

/** A change as arguments of the replay script. */
export function replayArguments({ sequence, writes }: StoreChange): readonly Argument[] {
  return [String(sequence), writes.length, ...writes.flatMap(writeArguments)];
}

function writeArguments({ key, value }: Write): readonly Argument[] {
  const bytes = keyBytes(key);
  return value === null ? ['r', bytes] : ['s', bytes, sealValue(bytes, value)];
}
