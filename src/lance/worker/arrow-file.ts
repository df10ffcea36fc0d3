import { batchBlocks, decodeFooter } from '../../arrow/ipc/footer.ts';
import { footerBytes, FOOTER_END, openFile } from '../../arrow/ipc/file-reader.ts';
import { FileWriter } from '../../arrow/ipc/file-writer.ts';
import { writableSchema } from '../../arrow/ipc/schema-encoding.ts';
import { hasDictionary } from '../../arrow/nested-type.ts';
import { sameType } from '../../arrow/types.ts';

/**
 * Joins batches, each in an Arrow file of its own, into one file. Their messages are passed on as
 * they are, unless a column has a dictionary or a type that clients do not read.
 * @param first The first batch, or a file without batches.
 * @param next Reads the next batch; null at the end.
 */
export async function* joinedFile(
  first: Uint8Array,
  next: () => Promise<Uint8Array | null>,
): AsyncGenerator<Uint8Array> {
  const { footer, end } = footerOf(first);
  const { schema } = decodeFooter(footer, end).decoded;
  const writer = new FileWriter(schema);
  const writable = writableSchema(schema);
  const passes = schema.fields.every(
    ({ type }, at) => !hasDictionary(type) && sameType(type, writable.fields[at]!.type),
  );
  yield writer.begin();
  for (let file: Uint8Array | null = first; file !== null; file = await next()) {
    yield* passes ? messagesOf(file, writer) : rewritten(file, writer);
  }
  yield writer.end();
}

function* messagesOf(file: Uint8Array, writer: FileWriter): Generator<Uint8Array> {
  const { footer, end } = footerOf(file);
  for (const block of batchBlocks(footer, end)) {
    writer.count(block);
    yield file.subarray(block.offset, block.offset + block.metadataBytes + block.bodyBytes);
  }
}

async function* rewritten(file: Uint8Array, writer: FileWriter): AsyncGenerator<Uint8Array> {
  const { buffer, byteOffset, byteLength: size } = aligned(file);
  const read = async (offset: number, length: number): Promise<Uint8Array> =>
    new Uint8Array(buffer, byteOffset + offset, length);
  const opened = await openFile({ size, read });
  for (const index of opened.batchRows.keys()) yield* writer.batch(await opened.readBatch(index));
}

/** Values are read in place, at addresses that are multiples of 8. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : Uint8Array.from(bytes);
}

/** The bytes of the footer of a file, and where they begin: the end of what it names. */
function footerOf(file: Uint8Array): { readonly footer: Uint8Array; readonly end: number } {
  const length = footerBytes(file.subarray(-FOOTER_END), file.byteLength);
  const end = file.byteLength - FOOTER_END - length;
  return { footer: file.subarray(end, end + length), end };
}
