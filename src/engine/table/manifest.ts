import {
  Field,
  Int64,
  Schema,
  Uint64,
  Utf8,
  makeData,
  makeVector,
  vectorFromArray,
} from 'apache-arrow';
import type { RecordBatch } from 'apache-arrow';
import { openFile } from '../../arrow/file-reader.ts';
import { FileWriter } from '../../arrow/file-writer.ts';
import { decodeSchema, encodeSchema } from '../../arrow/schema-bytes.ts';
import { batchOf } from '../../arrow/select.ts';
import { bytesAccess } from './random-access.ts';
import type { Fragment } from './snapshot.ts';

/** One version of a table as its manifest says it. */
export interface Manifest {
  readonly version: bigint;
  readonly timestampMillis: number;
  readonly schema: Schema;
  readonly fragments: readonly Fragment[];
  readonly nextRowId: bigint;
}

const columns = [
  new Field('file', new Utf8(), false),
  new Field('rows', new Int64(), false),
  new Field('bytes', new Int64(), false),
  new Field('first_row_id', new Uint64(), false),
];

const KEYS = {
  version: 'arrowgate.version',
  timestamp: 'arrowgate.timestamp_millis',
  schema: 'arrowgate.schema',
  nextRowId: 'arrowgate.next_row_id',
} as const;

/**
 * A manifest as an Arrow file: one row per data file, and what holds for the
 * whole version in the metadata of its schema (the table's schema as an IPC
 * schema message in base64).
 */
export function encodeManifest(manifest: Manifest): Uint8Array {
  const writer = new FileWriter(manifestSchema(manifest));
  const pieces = [writer.begin(), ...writer.batch(fragmentsBatch(manifest)), writer.end()];
  return Buffer.concat(pieces);
}

function manifestSchema(manifest: Manifest): Schema {
  return new Schema(
    columns,
    new Map([
      [KEYS.version, String(manifest.version)],
      [KEYS.timestamp, String(manifest.timestampMillis)],
      [KEYS.nextRowId, String(manifest.nextRowId)],
      [KEYS.schema, Buffer.from(encodeSchema(manifest.schema)).toString('base64')],
    ]),
  );
}

function fragmentsBatch({ fragments, ...manifest }: Manifest): RecordBatch {
  const int64 = (values: readonly number[]) =>
    makeVector(makeData({ type: new Int64(), data: BigInt64Array.from(values, BigInt) }));
  const firstRowIds = BigUint64Array.from(fragments, (fragment) => fragment.firstRowId);
  return batchOf(
    manifestSchema({ fragments, ...manifest }),
    [
      vectorFromArray(
        fragments.map((fragment) => fragment.file),
        new Utf8(),
      ),
      int64(fragments.map((fragment) => fragment.rows)),
      int64(fragments.map((fragment) => fragment.bytes)),
      makeVector(makeData({ type: new Uint64(), data: firstRowIds })),
    ],
    fragments.length,
  );
}

/**
 * The manifest in the bytes of its file.
 * @throws ArrowError when the bytes are not a manifest.
 */
export async function decodeManifest(bytes: Uint8Array): Promise<Manifest> {
  const file = await openFile(bytesAccess(bytes));
  const fragments: Fragment[] = [];
  for (let index = 0; index < file.batchRows.length; index++) {
    fragments.push(...fragmentsOf(await file.readBatch(index)));
  }
  const text = (key: string) => metadataText(file.schema, key);
  return {
    version: BigInt(text(KEYS.version)),
    timestampMillis: Number(text(KEYS.timestamp)),
    nextRowId: BigInt(text(KEYS.nextRowId)),
    schema: decodeSchema(Buffer.from(text(KEYS.schema), 'base64')),
    fragments,
  };
}

function metadataText(schema: Schema, key: string): string {
  const text = schema.metadata.get(key);
  if (text === undefined) throw new Error(`the manifest has no ${key}`);
  return text;
}

function fragmentsOf(batch: RecordBatch): Fragment[] {
  const column = (name: string) => {
    const vector = batch.getChild(name);
    if (vector === null) throw new Error(`the manifest has no column ${name}`);
    return vector;
  };
  const [file, rows, bytes, firstRowId] = columns.map((field) => column(field.name));
  return Array.from({ length: batch.numRows }, (_, row) => ({
    file: String(file!.get(row)),
    rows: Number(rows!.get(row)),
    bytes: Number(bytes!.get(row)),
    firstRowId: BigInt(firstRowId!.get(row)),
  }));
}
