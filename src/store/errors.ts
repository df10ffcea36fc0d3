/**
 * Why a store refuses: a key it cannot hold, a store that is closed, or a
 * failure of the disk or the memory beneath it.
 */
export type StoreFault = 'key' | 'closed' | 'failed';

/** A refusal of the store. Nothing was written. */
export class StoreError extends Error {
  readonly kind: StoreFault;

  constructor(kind: StoreFault, message: string) {
    super(message);
    this.name = 'StoreError';
    this.kind = kind;
  }
}
