import type { StoreChange, Write } from '../../../store/store.ts';
import { crc32 } from '@node-rs/crc32';

/**
 * An object as one line of JSON, `{"crc32":"…",…}` with its newline. The checksum
 * is of all bytes after its own field, so that a line that was torn or damaged is known.
 */
export function encodeLine(content: object): Buffer {
  const rest = Buffer.from(`${JSON.stringify(content).slice(1)}\n`);
  return Buffer.concat([Buffer.from(prefix(rest.subarray(0, -1))), rest]);
}

/** The content of a line without its newline; undefined if it is torn or damaged. */
export function decodeLine(line: Buffer): unknown {
  const rest = line.subarray(PREFIX_BYTES);
  if (rest.length === 0 || line.toString('latin1', 0, PREFIX_BYTES) !== prefix(rest))
    return undefined;
  // Only what `encodeLine` wrote has a checksum that fits.
  return JSON.parse(`{${rest.toString()}`);
}

function prefix(rest: Uint8Array): string {
  return `{"crc32":"${crc32(rest).toString(16).padStart(8, '0')}",`;
}

const PREFIX_BYTES = prefix(Buffer.alloc(0)).length;

/**
 * A change as a line: `{"crc32":"…","sequence":"…","writes":[…]}`. A write is a
 * key with `text` (a value that is UTF-8), `base64` (any other value) or `removed`.
 */
export function encodeChange({ sequence, writes }: StoreChange): Buffer {
  return encodeLine({ sequence: sequence.toString(), writes: writes.map(writeJson) });
}

/** The change of a line without its newline; undefined when the line is torn or damaged. */
export function decodeChange(line: Buffer): StoreChange | undefined {
  const body = decodeLine(line) as LineBody | undefined;
  if (body === undefined) return undefined;
  return { sequence: BigInt(body.sequence), writes: body.writes.map(writeOf) };
}

interface LineBody {
  readonly sequence: string;
  readonly writes: readonly WriteJson[];
}

/** A write as it stands in a line. */
export type WriteJson = { readonly key: string } & (
  | { readonly text: string }
  | { readonly base64: string }
  | { readonly removed: true }
);

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function writeJson({ key, value }: Write): WriteJson {
  if (value === null) return { key, removed: true };
  try {
    return { key, text: utf8.decode(value) };
  } catch {
    return { key, base64: Buffer.from(value).toString('base64') };
  }
}

export function writeOf(write: WriteJson): Write {
  if ('removed' in write) return { key: write.key, value: null };
  const value = 'text' in write ? Buffer.from(write.text) : Buffer.from(write.base64, 'base64');
  return { key: write.key, value };
}

/** The line of a change, with its newline. */
export interface ChangeLine {
  readonly sequence: bigint;
  readonly bytes: Uint8Array;
}
