import { OverBudget, type BudgetMessage } from '../../protocol/budget.ts';
import { DamagedFile } from '../../arrow/sealed/file-seal.ts';
import type { FormulaMessage } from './formula-task.ts';
import type { Storage } from '../../storage/storage.ts';
import type { FragmentIndex, IndexDefinition, Snapshot } from '../format/snapshot.ts';
import type { QueryRequest } from '../request/request.ts';
import { asVisible, type VisibleSnapshot } from '../query/scan/visible-snapshot.ts';
import { CatalogError, errorTable } from '../../protocol/errors.ts';
import type { PackedBatch } from '../../arrow/ipc/body.ts';
import { decodeSchema, encodeSchema } from '../../arrow/ipc/schema-encoding.ts';

/** Budget and owner of a task. */
interface TaskBudget {
  readonly budget?: BudgetMessage;
}

/** Source of a task's rows. */
interface CallerRows {
  /** Whether the task requests its rows from its caller: they are in no files. */
  readonly virtual?: boolean;
}

/** Rows that a task requests from its caller. */
export interface WantedRows {
  /** Position of the part. */
  readonly part: number;
  /** Position of the batch in it; null requests the row counts of its batches. */
  readonly batch: number | null;
  readonly columns: readonly string[];
}

/** Answer of a caller: row counts, an Arrow IPC stream of one batch, or an error. */
export type RowsReply =
  | { readonly counts: readonly number[] }
  | { readonly stream: readonly Uint8Array[] }
  | { readonly fault: FaultMessage };

/** Work for a thread as plain data. */
export type Task = TaskBudget & TaskWork;

type TaskWork =
  | (CallerRows & {
      readonly kind: 'query';
      readonly request: QueryRequest;
      /** As of the statement: the same when the query is run again. */
      readonly now: bigint;
      readonly snapshot: SnapshotMessage;
    })
  | (CallerRows & {
      readonly kind: 'analyze';
      readonly request: QueryRequest;
      readonly snapshot: SnapshotMessage;
    })
  | (CallerRows & {
      readonly kind: 'count';
      readonly predicate: string;
      readonly snapshot: SnapshotMessage;
    })
  | { readonly kind: 'formula'; readonly formula: FormulaMessage }
  /** Decompress the buffers of a batch: each is a piece of the result. Its memory is transferred. */
  | { readonly kind: 'unpack'; readonly batch: PackedBatch }
  /** Index the only fragment of the snapshot. */
  | { readonly kind: 'index'; readonly index: IndexDefinition; readonly snapshot: SnapshotMessage };

/** Progress of an index task as JSON: rows done, finally the file. */
export type IndexStep = { readonly rows: number } | { readonly file: FragmentIndex };

/** Messages to a thread. Tasks have numbers. */
export type ToThread =
  | { readonly kind: 'begin'; readonly id: number; readonly task: Task }
  /** Requests one more piece. */
  | { readonly kind: 'more'; readonly id: number }
  | { readonly kind: 'rows'; readonly id: number; readonly call: number; readonly found: RowsReply }
  | { readonly kind: 'cancel'; readonly id: number };

/** Messages from a thread: pieces of a result, then its end. */
export type FromThread =
  | { readonly kind: 'piece'; readonly id: number; readonly bytes: Uint8Array }
  | {
      readonly kind: 'want';
      readonly id: number;
      readonly call: number;
      readonly wanted: WantedRows;
    }
  /** A file that the task read does not match its seal. */
  | { readonly kind: 'damage'; readonly damage: DamageMessage }
  | { readonly kind: 'end'; readonly id: number; readonly spent: number }
  | {
      readonly kind: 'fault';
      readonly id: number;
      readonly spent: number;
      readonly fault: FaultMessage;
    };

/** A `DamagedFile` as plain data. */
export type DamageMessage = Pick<DamagedFile, 'path' | 'part'>;

/** An error as plain data: a CatalogError by name, or any other error. */
interface FaultMessage {
  /** Name in the error table; null for other errors. */
  readonly name: string | null;
  readonly message: string;
  readonly detail: string | undefined;
  readonly stack: string | undefined;
  /** The limit that was passed, where it was that. */
  readonly over: Pick<OverBudget, 'key' | 'limit'> | null;
  /** The damage, where it was that. */
  readonly damage: DamageMessage | null;
}

/** An error as data that can be sent to another thread. */
export function faultMessage(error: unknown): FaultMessage {
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? error.stack : undefined;
  const over = error instanceof OverBudget ? { key: error.key, limit: error.limit } : null;
  const damage = error instanceof DamagedFile ? { path: error.path, part: error.part } : null;
  if (!(error instanceof CatalogError)) {
    return { name: null, message, detail: undefined, stack, over, damage };
  }
  return { name: error.row.name, message, detail: error.detail, stack, over, damage };
}

/** The error that was sent: a refusal stays one. */
export function errorOf({ name, message, detail, stack, over, damage }: FaultMessage): Error {
  if (over !== null) return new OverBudget(over.key, over.limit);
  if (damage !== null) return new DamagedFile(damage.path, damage.part);
  const row = errorTable.find((each) => each.name === name);
  const error =
    row === undefined ? new Error(message) : new CatalogError(row.name, message, detail);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** A snapshot as plain data, which can be sent to a thread. */
type SnapshotMessage = Omit<Snapshot, 'schema' | 'storage' | 'lists'> & {
  readonly schema: Uint8Array;
};

export function snapshotMessage(snapshot: Snapshot): SnapshotMessage {
  const { storage: _, lists: __, ...data } = snapshot;
  return { ...data, schema: encodeSchema(snapshot.schema) };
}

export function snapshotOf(message: SnapshotMessage, storage: Storage): Snapshot {
  return { ...message, storage, schema: decodeSchema(message.schema) };
}

/** The snapshot of a query or a count: these are planned over visible ones only. */
export function visibleOf(message: SnapshotMessage, storage: Storage): VisibleSnapshot {
  return asVisible(snapshotOf(message, storage));
}
