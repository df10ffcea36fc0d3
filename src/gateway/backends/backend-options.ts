import type { Dialect } from '../../protocol/dialect.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Pattern } from '../../policy/lines/pattern.ts';
import type { BodyLimits } from './bounded-body.ts';

/** The dialects of the protocol that a backend understands. */
export type BackendDialect = 'both' | Dialect;

/** Address and settings of a remote catalog. Times in milliseconds. */
export interface RemoteOptions {
  readonly name: string;
  /** Base URL; its path precedes all others. */
  readonly url: URL;
  readonly namespaces: readonly Pattern[];
  /** Prefix that the backend's own names do not have: `[]` if the names are equal. */
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
  /** Number of consecutive failures that opens the circuit breaker. */
  readonly breaker: { readonly failures: number; readonly open: number };
}
