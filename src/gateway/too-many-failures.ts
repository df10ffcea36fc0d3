import { CatalogError } from '../protocol/errors.ts';

/** A request from where too many wrong credentials came (code 21). */
export class TooManyFailures extends CatalogError {
  /** After so many seconds the same request may be let through; at least 1. */
  readonly retryAfter: number;

  constructor(retryAfterMillis: number) {
    super('Throttling', 'too many credentials from this address or its network were wrong');
    this.retryAfter = Math.max(1, Math.ceil(retryAfterMillis / 1000));
  }
}
