import type { ObjectPath } from './identifier.ts';

/** A read-only table that the service itself answers for, such as `system$audit`. */
export interface VirtualTable {
  readonly path: ObjectPath;
  /** The rows as an Arrow IPC stream, schema first. */
  open(): AsyncIterable<Uint8Array>;
}
