import { OverBudget, type BudgetMessage } from '../../protocol/budget.ts';
import type { FormulaMessage } from './formula-task.ts';
import type { FragmentIndex, IndexDefinition, Snapshot } from '../format/snapshot.ts';
import type { QueryRequest } from '../request/request.ts';
import { CatalogError, errorTable } from '../../protocol/errors.ts';
import type { PackedBatch } from '../../arrow/ipc/body.ts';
import { decodeSchema, encodeSchema } from '../../arrow/ipc/schema-encoding.ts';

/** What a task may use, and whom it is for. */
export interface TaskBudget {
  readonly budget?: BudgetMessage;
}

/** Where the rows of a task come from. */
interface CallerRows {
  /** Whether the task asks its caller for them: they lie in no files of a table. */
  readonly virtual?: boolean;
}

/** Rows that a task asks its caller for. */
export interface WantedRows {
  /** Position of the part. */
  readonly part: number;
  /** Position of the batch in it; null asks how many rows each batch has. */
  readonly batch: number | null;
  readonly columns: readonly string[];
}

/** What a caller answers: the row counts, or an Arrow IPC stream of one batch. */
export type FoundRows =
  | { readonly counts: readonly number[] }
  | { readonly stream: readonly Uint8Array[] }
  | { readonly fault: FaultMessage };

/** Work that a thread can do, as plain data: what was asked, and the version of the table that it is asked of. */
export type Task = TaskBudget & TaskWork;

type TaskWork =
  | (CallerRows & {
      readonly kind: 'query';
      readonly request: QueryRequest;
      readonly snapshot: SnapshotMessage;
    })
  | { readonly kind: 'analyze'; readonly request: QueryRequest; readonly snapshot: SnapshotMessage }
  | (CallerRows & {
      readonly kind: 'count';
      readonly predicate: string;
      readonly snapshot: SnapshotMessage;
    })
  | { readonly kind: 'formula'; readonly formula: FormulaMessage }
  /** Decompress the buffers of a batch: each is a piece of the result. The memory of the batch goes along. */
  | { readonly kind: 'unpack'; readonly batch: PackedBatch }
  /** Index the only fragment. */
  | { readonly kind: 'index'; readonly index: IndexDefinition; readonly snapshot: SnapshotMessage };

/** What a thread tells of a fragment that it indexes, as JSON: rows that are done, and at last the file. */
export type IndexStep = { readonly rows: number } | { readonly file: FragmentIndex };

/** What a thread is told. A task is known by its number. */
export type ToThread =
  | { readonly kind: 'begin'; readonly id: number; readonly task: Task }
  /** One more piece may be sent. */
  | { readonly kind: 'more'; readonly id: number }
  | { readonly kind: 'rows'; readonly id: number; readonly call: number; readonly found: FoundRows }
  | { readonly kind: 'cancel'; readonly id: number };

/** What a thread answers: the bytes of the task's result in pieces, and then how it ended. */
export type FromThread =
  | { readonly kind: 'piece'; readonly id: number; readonly bytes: Uint8Array }
  | {
      readonly kind: 'want';
      readonly id: number;
      readonly call: number;
      readonly wanted: WantedRows;
    }
  | { readonly kind: 'end'; readonly id: number; readonly spent: number }
  | {
      readonly kind: 'fault';
      readonly id: number;
      readonly spent: number;
      readonly fault: FaultMessage;
    };

/** An error on its way between threads: a refusal by its name, or anything else. */
export interface FaultMessage {
  /** Of the error table; null for what is no refusal. */
  readonly name: string | null;
  readonly message: string;
  readonly detail: string | undefined;
  readonly stack: string | undefined;
  /** The limit that was passed, where it was that. */
  readonly over: Pick<OverBudget, 'key' | 'limit'> | null;
}

/** An error as data that can be sent to another thread. */
export function faultMessage(error: unknown): FaultMessage {
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? error.stack : undefined;
  const over = error instanceof OverBudget ? { key: error.key, limit: error.limit } : null;
  if (!(error instanceof CatalogError)) {
    return { name: null, message, detail: undefined, stack, over };
  }
  return { name: error.row.name, message, detail: error.detail, stack, over };
}

/** The error that was sent: a refusal stays one. */
export function errorOf({ name, message, detail, stack, over }: FaultMessage): Error {
  if (over !== null) return new OverBudget(over.key, over.limit);
  const row = errorTable.find((known) => known.name === name);
  const error =
    row === undefined ? new Error(message) : new CatalogError(row.name, message, detail);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** A table at one version as data that can be sent to a thread: only its schema is no plain data. */
type SnapshotMessage = Omit<Snapshot, 'schema'> & { readonly schema: Uint8Array };

export function snapshotMessage(snapshot: Snapshot): SnapshotMessage {
  return { ...snapshot, schema: encodeSchema(snapshot.schema) };
}

export function snapshotOf(message: SnapshotMessage): Snapshot {
  return { ...message, schema: decodeSchema(message.schema) };
}
