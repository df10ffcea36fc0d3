import type { Dialect } from '../../protocol/dialect.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Pattern } from '../../policy/lines/pattern.ts';
import type { BodyLimits } from './bounded-body.ts';

/** The dialects of the protocol that a backend understands. */
export type BackendDialect = 'both' | Dialect;

/** What a remote catalog is and how it is spoken to. Times in milliseconds. */
export interface RemoteOptions {
  readonly name: string;
  /** Where it is; a path of it stands before all others. */
  readonly url: URL;
  readonly namespaces: readonly Pattern[];
  /** What its own names lack of ours: `[]` where they are the same. */
  readonly prefix: ObjectPath;
  /** Sent in `x-api-key`, or as `Authorization` when it begins with `Bearer `. */
  readonly credential: string | undefined;
  /** The database of it that is used: its `x-lancedb-database`. */
  readonly database?: string | undefined;
  /** Operations that it guards itself, though their objects or modes stand in the body. */
  readonly trust: ReadonlySet<OperationName>;
  /** A `total` of 0 is no limit. */
  readonly timeouts: { readonly connect: number; readonly idle: number; readonly total: number };
  readonly bodies: BodyLimits;
  readonly dialect: BackendDialect;
  /** Maximum number of names on one page of a listing. */
  readonly page: number;
  /** Most connections to it at a time. */
  readonly connections: number;
  /** After so many failures in a row nothing is sent for a while. */
  readonly breaker: { readonly failures: number; readonly open: number };
}
