import {
  Field,
  Int64,
  TimestampMillisecond,
  Utf8,
  vectorFromArray,
  type DataType,
} from 'apache-arrow';
import { schemaOf } from '../../arrow/nested-type.ts';
import { batchOf } from '../../arrow/select.ts';
import { StreamWriter } from '../../arrow/stream-writer.ts';
import type { Answer } from '../../protocol/backend.ts';
import type { JobEvent, TransactionRecord } from '../jobs/transaction.ts';

const ARROW_STREAM = 'application/vnd.apache.arrow.stream';

interface EventRow extends JobEvent {
  readonly record: TransactionRecord;
}

interface EventColumn {
  readonly field: Field;
  readonly value: (row: EventRow) => unknown;
}

function column(name: string, type: DataType, value: (row: EventRow) => unknown): EventColumn {
  return { field: new Field(name, type, false), value };
}

const columns: readonly EventColumn[] = [
  column('job_id', new Utf8(), ({ record }) => record.id),
  column('job_type', new Utf8(), ({ record }) => record.job.type),
  column('time', new TimestampMillisecond('UTC'), ({ millis }) => millis),
  column('status', new Utf8(), ({ status }) => status),
  column('message', new Utf8(), ({ message }) => message),
  column('rows_done', new Int64(), ({ progress }) => BigInt(progress.done)),
  column('rows_total', new Int64(), ({ progress }) => BigInt(progress.total)),
];

const schema = schemaOf(columns.map(({ field }) => field));

/** What happened to some jobs, one row each, as an Arrow stream. */
export function jobEvents(records: readonly TransactionRecord[]): Answer {
  const rows = records.flatMap((record) => record.events.map((event) => ({ ...event, record })));
  const vectors = columns.map(({ field, value }) => vectorFromArray(rows.map(value), field.type));
  const writer = new StreamWriter(schema);
  const pieces = [
    writer.begin(),
    ...writer.batch(batchOf(schema, vectors, rows.length)),
    writer.end(),
  ];
  return { status: 200, contentType: ARROW_STREAM, body: bodyOf(pieces) };
}

async function* bodyOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
