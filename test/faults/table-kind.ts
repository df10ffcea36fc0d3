import type { ChangeKind } from './accounts.ts';

/** What became of a change, as its answer says. */
export type Answered =
  /** The version of the table that it made, where it is one. */
  | { readonly kind: 'made'; readonly version: number | undefined }
  /** It took no effect. */
  | { readonly kind: 'refused' }
  /** Nobody can say. */
  | { readonly kind: 'unknown' };

/** A change of a group of rows. */
export interface GroupChange {
  readonly kind: ChangeKind;
  readonly group: number;
}

/** Tells the audit log which change of which table a request makes: a batch names no table in its route. */
export function changeHeaders(
  table: string,
  { kind, group }: GroupChange,
): Readonly<Record<string, string>> {
  return {
    'x-service-ctx-table': table,
    'x-service-ctx-change': kind,
    'x-service-ctx-group': String(group),
  };
}

/** A kind of table, as the writers of the fault tests see it. */
export interface TableKind {
  readonly name: string;
  /** What can be done to its rows. */
  readonly changes: readonly ChangeKind[];
  /** Most groups at a time; unbounded when absent. */
  readonly most?: number;
  create(url: string, table: string): Promise<void>;
  /** Sends a change, with its `changeHeaders`. Rejects when the connection is lost. */
  change(url: string, table: string, change: GroupChange): Promise<Answered>;
  /** The marks of each group that is there. @throws Error when one is there by halves. */
  read(url: string, table: string): Promise<ReadonlyMap<number, number>>;
  /** Whether its changes reach the gateway without `changeHeaders`. */
  readonly isForeign?: boolean;
  /** Ends the processes in which it works beside this one; their changes reject. */
  cut?(): Promise<void>;
}
