import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A field of a message in the Protocol Buffers encoding: its number, and a number or bytes. */
export type MessageField = readonly [number, number | bigint | string | Uint8Array];

/** Encodes a message. */
export function messageOf(...fields: readonly MessageField[]): Buffer {
  return Buffer.concat(
    fields.map(([field, value]) => {
      if (typeof value === 'number' || typeof value === 'bigint') {
        return Buffer.concat([varint(BigInt(field << 3)), varint(BigInt(value))]);
      }
      const bytes = Buffer.from(value);
      return Buffer.concat([varint(BigInt((field << 3) | 2)), varint(BigInt(bytes.length)), bytes]);
    }),
  );
}

/** The file of a manifest: the message with its length before it, then where that is, and the mark. */
export function manifestFile(message: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(message.length);
  return Buffer.concat([length, message, Buffer.alloc(12), Buffer.from('LANC')]);
}

/** The name of the manifest of a version. */
export function manifestName(version: bigint): string {
  return `${(2n ** 64n - 1n - version).toString().padStart(20, '0')}.manifest`;
}

/** Makes a folder with the manifests of a table of Lance clients: a column `n` and a row for each version; no data. */
export async function lanceTable(folder: string, versions = 1): Promise<string> {
  const manifests = join(folder, '_versions');
  await mkdir(manifests, { recursive: true });
  const column = messageOf([2, 'n'], [4, 2n ** 64n - 1n], [5, 'int64'], [6, 1]);
  const fragment = (id: number) => messageOf([1, id], [2, messageOf([6, 100])], [4, 1]);
  for (let version = 1; version <= versions; version++) {
    const fragments = Array.from({ length: version }, (_, id): MessageField => [2, fragment(id)]);
    const bytes = manifestFile(messageOf([1, column], ...fragments, [3, version]));
    await writeFile(join(manifests, manifestName(BigInt(version))), bytes);
  }
  return folder;
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}
