import { encodedFields } from './lance-message.ts';

/** Bytes of the footer: the offset of the manifest, two format versions, and a mark. */
const FOOTER_BYTES = 16;
const LENGTH_BYTES = 4;

/** Fields of the message: fragments, and what lies elsewhere in the file. */
const FRAGMENT = 2;
const ELSEWHERE: ReadonlySet<number> = new Set([6, 12, 21]);

/** The parts of a manifest's file. */
interface ManifestParts {
  /** Sections that lie before the manifest. */
  readonly before: Buffer;
  readonly message: Buffer;
  readonly footer: Buffer;
}

/** @param file The whole file of a manifest that was read before. */
export function manifestParts(file: Buffer): ManifestParts {
  const footer = file.subarray(-FOOTER_BYTES);
  const start = Number(footer.readBigUInt64LE(0));
  const length = file.readUInt32LE(start);
  const message = file.subarray(start + LENGTH_BYTES, start + LENGTH_BYTES + length);
  return { before: file.subarray(0, start), message, footer };
}

/** The file of a manifest, of its parts. */
export function manifestFileOf({ before, message, footer }: ManifestParts): Buffer {
  const tail = Buffer.from(footer);
  tail.writeBigUInt64LE(BigInt(before.byteLength), 0);
  return Buffer.concat([before, section(message), tail]);
}

/** A section of a file: its length, then its content. */
export function section(content: Uint8Array): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(content.byteLength);
  return Buffer.concat([length, content]);
}

/**
 * The file of a manifest with some of its fragments, and without indices and transaction.
 * @param file The whole file of a manifest that was read before.
 * @param keeps Whether the fragment at a position stays.
 * @throws LanceManifestError
 */
export function partialManifest(file: Buffer, keeps: (position: number) => boolean): Buffer {
  const { message, footer } = manifestParts(file);
  const pieces: Uint8Array[] = [];
  let fragments = 0;
  for (const { number, bytes } of encodedFields(message)) {
    const stays = number === FRAGMENT ? keeps(fragments++) : !ELSEWHERE.has(number);
    if (stays) pieces.push(bytes);
  }
  // The manifest is at the beginning of this file.
  return manifestFileOf({ before: Buffer.alloc(0), message: Buffer.concat(pieces), footer });
}
