import type { Answer, Backend } from '../protocol/backend.ts';
import { CatalogError } from '../protocol/errors.ts';

/** A backend that cannot serve: it refuses everything and says why to whoever may know. */
export class RefusingBackend implements Backend {
  readonly name = 'embedded';
  readonly #reason: string;

  /** @param reason A sentence for those who keep the service. */
  constructor(reason: string) {
    this.#reason = reason;
  }

  /** @throws CatalogError ServiceUnavailable, always. */
  async handle(): Promise<Answer> {
    throw new CatalogError('ServiceUnavailable', 'the catalog cannot be served now');
  }

  async health(): Promise<string | undefined> {
    return this.#reason;
  }
}
