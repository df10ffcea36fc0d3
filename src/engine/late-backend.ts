import { CatalogError } from '../protocol/errors.ts';
import type { Answer, Backend, CatalogRequest } from '../protocol/backend.ts';
import type { Permit } from '../protocol/permit.ts';
import type { OnFault } from './upkeep/jobs/job-runner.ts';

/** Something whose work in the background can begin. */
interface Worker {
  startWork(onFault: OnFault): void;
}

/** Starts an engine that opens asynchronously. */
export class LateWork {
  #worker: Worker | undefined;
  #onFault: OnFault | undefined;

  start(onFault: OnFault): void {
    this.#onFault = onFault;
    this.#worker?.startWork(onFault);
  }

  /** Takes an engine once it is open; gives back what it was given. */
  of<Opened extends Worker | string>(opened: Opened): Opened {
    if (typeof opened === 'string') return opened;
    this.#worker = opened;
    if (this.#onFault !== undefined) opened.startWork(this.#onFault);
    return opened;
  }
}

const AGAIN_MILLIS = 1000;

/** Something that serves and that is closed in the end. */
interface OpenBackend {
  readonly backend: Backend;
  close(): Promise<void>;
}

/** Opens what serves; or says why it cannot be opened now and may be later. */
type Opening = () => Promise<OpenBackend | string>;

/**
 * A backend whose store was unavailable, or was not its own, when it was opened. It
 * refuses everything and tries again each second, so that it needs no restart.
 */
export class LateBackend implements Backend {
  readonly name = 'embedded';
  readonly #open: Opening;
  #opened: OpenBackend | undefined;
  #reason: string;
  #timer: NodeJS.Timeout | undefined;
  #trying: Promise<void> = Promise.resolve();
  #closed = false;

  /** @param reason Why it could not be opened: a sentence for those who keep the service. */
  constructor(reason: string, open: Opening) {
    this.#reason = reason;
    this.#open = open;
    this.#later();
  }

  /** @throws CatalogError ServiceUnavailable until it is open. */
  async handle(request: CatalogRequest, permit: Permit): Promise<Answer> {
    if (this.#opened !== undefined) return this.#opened.backend.handle(request, permit);
    throw new CatalogError('ServiceUnavailable', 'the catalog cannot be served now');
  }

  async health(): Promise<string | undefined> {
    return this.#opened === undefined ? this.#reason : this.#opened.backend.health();
  }

  async weakness(): Promise<string | undefined> {
    return this.#opened?.backend.weakness();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#trying;
    await this.#opened?.close();
  }

  #later(): void {
    this.#timer = setTimeout(() => {
      this.#trying = this.#try();
    }, AGAIN_MILLIS);
    this.#timer.unref();
  }

  async #try(): Promise<void> {
    const outcome = await this.#open().catch((error: unknown) => String(error));
    if (typeof outcome === 'string') this.#reason = outcome;
    else this.#opened = outcome;
    if (this.#opened === undefined && !this.#closed) this.#later();
  }
}
