import { CatalogError, type ErrorName } from '../../protocol/errors.ts';

/** A remote backend that cannot answer: 503 code 17 unless another code is given. Carries `retry-after` if it is known. */
export class BackendUnavailable extends CatalogError {
  /** Whole seconds, or an HTTP date (RFC 9110 section 10.2.3). */
  readonly retryAfter: string | undefined;

  constructor(message: string, retryAfter?: string, name: ErrorName = 'ServiceUnavailable') {
    super(name, message);
    this.retryAfter = retryAfter;
  }
}
