import { DataType, Field, Schema, type RecordBatch, type Vector } from 'apache-arrow';
import { decodeSchema, encodeSchema } from '../../arrow/ipc/schema-encoding.ts';
import { batchOf, projectColumns } from '../../arrow/select.ts';
import { openStream } from '../../arrow/ipc/stream-reader.ts';
import { StreamWriter } from '../../arrow/ipc/stream-writer.ts';
import {
  assignmentFormula,
  bindFormula,
  predicateFormula,
  rowsWhere,
  valuesOf,
} from '../request/formula.ts';
import type { Statement, Formula } from '../base/statement.ts';
import { itemAt } from '../base/items.ts';

/** A formula and its rows as plain data, which can be sent to a thread. */
export interface FormulaMessage {
  readonly source: string;
  readonly text: string;
  readonly now: bigint;
  /** A value, a predicate, or an encoded schema of one field for a value of its type. */
  readonly use: 'value' | 'predicate' | Uint8Array;
  /** The rows, as an Arrow IPC stream of one batch. */
  readonly rows: readonly Uint8Array[];
}

/** A formula and the columns of a batch that it reads. */
export function formulaMessage(
  { source, text, statement, use, columns }: Formula,
  batch: RecordBatch,
): FormulaMessage {
  const sent = DataType.isDataType(use) ? encodeSchema(new Schema([new Field('', use)])) : use;
  const rows = streamOf(projectColumns(batch, columns));
  return { source, text, now: statement.now, use: sent, rows };
}

/**
 * Evaluates a formula message. Returns the rows that pass a predicate, or values as an Arrow IPC
 * stream.
 */
export async function* evaluated(
  { source, text, use, rows }: FormulaMessage,
  statement: Statement,
): AsyncGenerator<Uint8Array> {
  const batch = await batchOfStream(rows);
  const { fields } = batch.schema;
  if (use === 'predicate') {
    const found = rowsWhere(predicateFormula(source, text, fields, statement), batch);
    yield new Uint8Array(found.buffer, found.byteOffset, found.byteLength);
    return;
  }
  const formula =
    use === 'value'
      ? bindFormula(source, text, fields, statement)
      : assignmentFormula(
          source,
          text,
          fields,
          itemAt(decodeSchema(use).fields, 0).type,
          statement,
        );
  const values = valuesOf(formula, batch);
  const schema = new Schema([new Field('value', values.type, true)]);
  yield* streamOf(batchOf(schema, [values], batch.numRows));
}

/** Decodes the rows that a thread found. */
export function decodeRowNumbers(bytes: Uint8Array): Uint32Array {
  // Joined bytes may begin at any offset of larger memory.
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}

/** Decodes the values that a thread computed. */
export async function valuesOfStream(bytes: readonly Uint8Array[]): Promise<Vector> {
  const values = (await batchOfStream(bytes)).getChildAt(0);
  if (values === null) throw new Error('a thread answered no values');
  return values;
}

/** An Arrow IPC stream of one batch. */
export function streamOf(batch: RecordBatch): readonly Uint8Array[] {
  const writer = new StreamWriter(batch.schema);
  return [writer.begin(), ...writer.batch(batch), writer.end()];
}

/** The batch of such a stream. */
export async function batchOfStream(bytes: readonly Uint8Array[]): Promise<RecordBatch> {
  const stream = await openStream(inOrder(bytes), { batchBytes: Number.MAX_SAFE_INTEGER });
  for await (const batch of stream.batches()) return batch;
  throw new Error('rows were sent without a batch');
}

async function* inOrder(bytes: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* bytes;
}
