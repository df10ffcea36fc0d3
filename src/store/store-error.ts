/**
 * Kind of a store error: `key` an invalid key, `closed` a closed store, `failed` an error of the disk or the server,
 * `unavailable` a server that does not answer or a file that is missing, `busy` another writer that did not end in
 * time, `address` an invalid address, `occupied` a store that should be empty, `damaged` a value or a set of keys that
 * does not match its checksum.
 */
type StoreFault =
  | 'key'
  | 'closed'
  | 'failed'
  | 'unavailable'
  | 'busy'
  | 'address'
  | 'occupied'
  | 'damaged';

/** An error of the store. Nothing was written. */
export class StoreError extends Error {
  readonly kind: StoreFault;

  constructor(kind: StoreFault, message: string) {
    super(message);
    this.name = 'StoreError';
    this.kind = kind;
  }
}

/** Whether an error is about something in the store that does not match its checksum. */
export function isStoreDamage(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === 'damaged';
}

/** Message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
