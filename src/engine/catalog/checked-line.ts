import { crc32 } from 'node:zlib';

/**
 * An object as one line of JSON, `{"crc32":"…",…}` with its newline. The checksum
 * is of all bytes after its own field, so that a line that was torn or damaged is known.
 */
export function encodeLine(content: object): Buffer {
  const rest = Buffer.from(`${JSON.stringify(content).slice(1)}\n`);
  return Buffer.concat([Buffer.from(prefix(rest.subarray(0, -1))), rest]);
}

/** What a line says, without its newline; undefined when it is torn or damaged. */
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
