import { PbfReader } from 'pbf';
import { LanceManifestError } from './lance-message.ts';

/** Bytes of the footer: the offset of the manifest, two format versions, and a mark. */
const FOOTER_BYTES = 16;
const LENGTH_BYTES = 4;

/** Fields of the message: fragments, and what lies elsewhere in the file. */
const FRAGMENT = 2;
const ELSEWHERE: ReadonlySet<number> = new Set([6, 12, 21]);

/**
 * The file of a manifest with some of its fragments, and without indices and transaction.
 * @param file The whole file of a manifest that was read before.
 * @param keeps Whether the fragment at a position stays.
 * @throws LanceManifestError
 */
export function partialManifest(file: Buffer, keeps: (position: number) => boolean): Buffer {
  const footer = file.subarray(-FOOTER_BYTES);
  const start = Number(footer.readBigUInt64LE(0)) + LENGTH_BYTES;
  const length = file.readUInt32LE(start - LENGTH_BYTES);
  const pieces = fieldsOf(file.subarray(start, start + length), keeps);
  const message = Buffer.concat(pieces);
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32LE(message.byteLength);
  // The manifest is at the beginning of this file.
  const tail = Buffer.from(footer);
  tail.writeBigUInt64LE(0n, 0);
  return Buffer.concat([head, message, tail]);
}

function fieldsOf(message: Uint8Array, keeps: (position: number) => boolean): Uint8Array[] {
  const pbf = new PbfReader(message);
  const pieces: Uint8Array[] = [];
  let fragments = 0;
  while (pbf.pos < pbf.length) {
    const from = pbf.pos;
    const tag = pbf.readVarint();
    pbf.skip(tag);
    if (pbf.pos > pbf.length) throw new LanceManifestError('it is damaged');
    const field = tag >> 3;
    const stays = field === FRAGMENT ? keeps(fragments++) : !ELSEWHERE.has(field);
    if (stays) pieces.push(message.subarray(from, pbf.pos));
  }
  return pieces;
}
