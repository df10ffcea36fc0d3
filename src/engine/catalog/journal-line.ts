import { crc32 } from 'node:zlib';
import type { Change, Write } from '../../store/store.ts';

/**
 * A change as one line of JSON: `{"crc32":"…","sequence":"…","writes":[…]}`. The
 * checksum is of all bytes after its own field, so that a line that was torn
 * or damaged is known. A write is a key with `text` (a value that is UTF-8),
 * `base64` (any other value) or `removed`.
 */
export function encodeChange(change: Change): Buffer {
  const body = JSON.stringify({
    sequence: change.sequence.toString(),
    writes: change.writes.map(writeJson),
  });
  const rest = Buffer.from(`${body.slice(1)}\n`);
  return Buffer.concat([Buffer.from(prefix(rest.subarray(0, -1))), rest]);
}

/** The change of a line without its newline; undefined when the line is torn or damaged. */
export function decodeChange(line: Buffer): Change | undefined {
  const rest = line.subarray(PREFIX_BYTES);
  if (rest.length === 0 || line.toString('latin1', 0, PREFIX_BYTES) !== prefix(rest))
    return undefined;
  // Only what `encodeChange` wrote has a checksum that fits.
  const { sequence, writes } = JSON.parse(`{${rest.toString()}`) as LineBody;
  return { sequence: BigInt(sequence), writes: writes.map(writeOf) };
}

interface LineBody {
  readonly sequence: string;
  readonly writes: readonly WriteJson[];
}

type WriteJson = { readonly key: string } & (
  | { readonly text: string }
  | { readonly base64: string }
  | { readonly removed: true }
);

function prefix(rest: Uint8Array): string {
  return `{"crc32":"${crc32(rest).toString(16).padStart(8, '0')}",`;
}

const PREFIX_BYTES = prefix(Buffer.alloc(0)).length;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function writeJson({ key, value }: Write): WriteJson {
  if (value === null) return { key, removed: true };
  try {
    return { key, text: utf8.decode(value) };
  } catch {
    return { key, base64: Buffer.from(value).toString('base64') };
  }
}

function writeOf(write: WriteJson): Write {
  if ('removed' in write) return { key: write.key, value: null };
  const value = 'text' in write ? Buffer.from(write.text) : Buffer.from(write.base64, 'base64');
  return { key: write.key, value };
}
