/**
 * Why a store refuses: a key it cannot hold, a store that is closed, a failure
 * of the disk or the memory beneath it, a server that does not answer (a file
 * that is gone), an address that names none, or something in it where nothing may be.
 */
export type StoreFault = 'key' | 'closed' | 'failed' | 'unavailable' | 'address' | 'occupied';

/** A refusal of the store. Nothing was written. */
export class StoreError extends Error {
  readonly kind: StoreFault;

  constructor(kind: StoreFault, message: string) {
    super(message);
    this.name = 'StoreError';
    this.kind = kind;
  }
}

/** What anything that was thrown says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
