import { corrupt } from '../arrow-error.ts';
import { FlatTable } from './flatbuffer.ts';
import { type DecodedSchema, decodeSchemaTable } from './schema-decoding.ts';

/** Position of a message in a file (File.fbs, `Block`). */
export interface Block {
  readonly offset: number;
  /** Bytes before the body, marker and length included. */
  readonly metadataBytes: number;
  readonly bodyBytes: number;
}

/** Contents of a file's footer. */
export interface Footer {
  readonly decoded: DecodedSchema;
  readonly dictionaries: readonly Block[];
  readonly batches: readonly Block[];
}

/** Decodes a footer; its blocks must lie before `end`. Throws `corrupt` or `unsupported`. */
export function decodeFooter(bytes: Uint8Array, end: number): Footer {
  const root = FlatTable.root(bytes);
  const schema = root.table(1);
  if (schema === undefined) throw corrupt('The footer of a file has no schema.');
  return {
    decoded: decodeSchemaTable(schema),
    dictionaries: readBlocks(root, 2, end),
    batches: batchBlocks(bytes, end),
  };
}

/** The blocks of the batches of a footer alone. Throws as `decodeFooter` does. */
export function batchBlocks(bytes: Uint8Array, end: number): readonly Block[] {
  return readBlocks(FlatTable.root(bytes), 3, end);
}

function readBlocks(root: FlatTable, slot: number, end: number): Block[] {
  const words = root.int64s(slot, 24, [0, 16]);
  const metadata = root.structInt32s(slot, 24, 8);
  return Array.from(metadata, (metadataBytes, index) => {
    const [offset, bodyBytes] = [words[2 * index]!, words[2 * index + 1]!];
    const inside = offset >= 0 && metadataBytes >= 8 && bodyBytes >= 0;
    if (!inside || offset + metadataBytes + bodyBytes > end) {
      throw corrupt('The footer of a file leads outside the file.');
    }
    return { offset, metadataBytes, bodyBytes };
  });
}
