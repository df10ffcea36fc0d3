import type { Change, Write } from '../../store/store.ts';
import { decodeLine, encodeLine } from './checked-line.ts';

/**
 * A change as a line: `{"crc32":"…","sequence":"…","writes":[…]}`. A write is a
 * key with `text` (a value that is UTF-8), `base64` (any other value) or `removed`.
 */
export function encodeChange({ sequence, writes }: Change): Buffer {
  return encodeLine({ sequence: sequence.toString(), writes: writes.map(writeJson) });
}

/** The change of a line without its newline; undefined when the line is torn or damaged. */
export function decodeChange(line: Buffer): Change | undefined {
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
