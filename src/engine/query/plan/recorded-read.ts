import { hash } from 'node:crypto';
import { PassedRows } from '../../../arrow/ipc/passed-rows.ts';
import type { Answer, ByteStream } from '../../../protocol/backend.ts';
import type { PendingRead } from '../../../protocol/read-summary.ts';
import { normalText } from '../../../sql/normal-text.ts';
import { needOf } from '../../request/computed-columns.ts';
import { columnsRead } from '../scan/projection.ts';
import type { QueryPlan } from './plan.ts';

/** What a read reads, without the rows of its answer. */
export interface ReadPart extends Pick<PendingRead, 'columns' | 'version'> {
  /** The predicate of the request; null if there is none. */
  readonly filter: string | null;
}

/** What a plan reads: the columns of the table that its answer has or depends on. */
export function readOfPlan(plan: QueryPlan): ReadPart {
  const { snapshot, projections, requestedFilter, sort, nearest, text } = plan;
  const filter = requestedFilter ?? (nearest ?? text)?.postfilter ?? null;
  const names = [
    ...columnsRead(projections),
    ...(filter?.columns ?? []),
    ...(sort?.columns ?? []),
    ...(nearest === null ? [] : [nearest.column.column]),
    ...(text?.texts ?? []).map(({ column }) => column),
  ];
  const columns = needOf(snapshot.schema, names).stored;
  return { columns, version: snapshot.version, filter: filter?.text ?? null };
}

/** The answer of a read without rows, such as a count or a plan. */
export function withRead(answer: Answer, read: ReadPart, rows = () => 0n): Answer {
  const { columns, version, filter } = read;
  const digest = filter === null ? null : hash('sha256', normalText(filter), 'hex');
  return { ...answer, read: { columns, version, filter: digest, rows } };
}

/** The answer of a read whose body is an Arrow file. Its rows are counted while they are sent. */
export function withReadRows(answer: Answer, read: ReadPart): Answer {
  const { body } = answer;
  if (body === null || typeof body === 'string') return withRead(answer, read);
  if (body.rows !== undefined) {
    const rows = BigInt(body.rows);
    return withRead(answer, read, () => rows);
  }
  const counted = new PassedRows();
  if (body.whole !== undefined) counted.add(body.whole);
  const passed = body.whole === undefined ? countedBody(body, counted) : body;
  return withRead({ ...answer, body: passed }, read, () => counted.rows);
}

function countedBody(body: ByteStream, counted: PassedRows): ByteStream {
  return {
    [Symbol.asyncIterator]() {
      const pieces = body[Symbol.asyncIterator]();
      return {
        next: async () => {
          const next = await pieces.next();
          if (next.done !== true) counted.add(next.value);
          return next;
        },
        return: async () => {
          await pieces.return?.();
          return { done: true, value: undefined };
        },
      };
    },
    sent: (piece) => body.sent?.(piece),
    stalled: () => body.stalled?.(),
    length: body.length,
  };
}
