/**
 * Kind of a store error: `key` an invalid key, `closed` a closed store, `failed` an error of the disk or the server,
 * `unavailable` a server that does not answer or a file that is missing, `address` an invalid address, `occupied` a
 * store that should be empty.
 */
type StoreFault = 'key' | 'closed' | 'failed' | 'unavailable' | 'address' | 'occupied';

/** An error of the store. Nothing was written. */
export class StoreError extends Error {
  readonly kind: StoreFault;

  constructor(kind: StoreFault, message: string) {
    super(message);
    this.name = 'StoreError';
    this.kind = kind;
  }
}

/** Message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
