import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { HeldLog } from '../../audit/held-log.ts';
import type { AuditLog } from '../../audit/writer.ts';
import type { Engine } from '../../engine/engine.ts';
import type { EngineReadings } from '../../engine/readings.ts';
import { readOnlyRefusal } from '../../gateway/record.ts';
import type { Answer, Backend, CatalogRequest } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Permit } from '../../protocol/permit.ts';
import { messageOf } from '../../store/store-error.ts';
import { Opened } from './opened.ts';

/** How often the data folder is examined, in ms. */
const PROBE_MILLIS = 1000;
/** Pause after a start of the writing parts that failed, in ms: each makes an instance of the audit log. */
const FAILED_MILLIS = 15_000;
/** How long requests in flight are awaited before the store is opened for writing, in ms. */
export const SETTLE_MILLIS = 10_000;

type OnFault = Parameters<Engine['startWork']>[0];

/** The catalog, opened for reading. */
export interface OpenedReading {
  readonly engine: Engine;
  /** Closes the store at once; the engine closes when its answers are sent. */
  close(): Promise<{ readonly rest: Promise<void> }>;
}

interface ReadOnlyOptions {
  /** Why the data folder cannot be written. */
  readonly fault: string;
  readonly log: Logger;
  /** Why it cannot be written now; undefined if it can. */
  readonly examine: () => Promise<string | undefined>;
  readonly openReading: () => Promise<OpenedReading>;
  /** Opens the log for writing. */
  readonly openAudit: (opened: Opened) => Promise<AuditLog>;
  /** Opens the catalog for writing. */
  readonly openEngine: (opened: Opened) => Promise<Engine>;
  /** Called with the opened parts, before the first change. */
  readonly resolve: (audit: AuditLog, engine: Engine) => Promise<void>;
}

/**
 * A service whose data folder cannot be written: reads are served, changes are refused with 503.
 * The folder is examined each second; once it can be written, the audit log and the catalog are
 * opened for writing, and nothing needs a restart.
 */
export class ReadOnlyMode {
  readonly #options: ReadOnlyOptions;
  readonly #opened = new Opened();
  readonly #rests: Promise<void>[] = [];
  readonly audit = new HeldLog();
  #fault: string | undefined;
  #reading: OpenedReading | undefined;
  #writing: Engine | undefined;
  #onFault: OnFault | undefined;
  #timer: NodeJS.Timeout | undefined;
  #switching: Promise<void> | undefined;
  #calls = 0;
  #closed = false;

  private constructor(options: ReadOnlyOptions, reading: OpenedReading) {
    this.#options = options;
    this.#fault = options.fault;
    this.#reading = reading;
    this.#later(PROBE_MILLIS);
  }

  static async open(options: ReadOnlyOptions): Promise<ReadOnlyMode> {
    return new ReadOnlyMode(options, await options.openReading());
  }

  /** Why changes are refused; undefined once they are not. */
  fault(): string | undefined {
    return this.#fault;
  }

  /** The catalog, whichever way it is open. */
  readonly engine: Engine = this.#asEngine();

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#switching;
    const { missing } = this.audit;
    if (missing > 0) this.#options.log.error({ records: missing }, 'audit records are lost');
    await this.#closeReading();
    await Promise.all(this.#rests);
    await this.#opened.close();
  }

  #asEngine(): Engine {
    const current = (): Engine | undefined => this.#writing ?? this.#reading?.engine;
    const backend: Backend = {
      name: 'embedded',
      handle: (request, permit) => this.#handle(request, permit),
      health: async () => (await this.#settled())?.backend.health() ?? 'the catalog is not open',
      weakness: async () => current()?.backend.weakness(),
    };
    const upkeep = (): Engine['upkeep'] => this.#writing?.upkeep ?? null;
    return {
      backend,
      get upkeep() {
        return upkeep();
      },
      startWork: (onFault) => {
        this.#onFault = onFault;
        current()?.startWork(onFault);
      },
      readings: (): EngineReadings | null => current()?.readings() ?? null,
      close: () => this.close(),
    };
  }

  /** The open catalog, after a change of its way; undefined while it cannot be opened. */
  async #settled(): Promise<Engine | undefined> {
    await this.#switching;
    return this.#writing ?? this.#reading?.engine;
  }

  async #handle(request: CatalogRequest, permit: Permit): Promise<Answer> {
    const engine = await this.#settled();
    if (engine === undefined) {
      throw new CatalogError('ServiceUnavailable', 'the catalog cannot be served now');
    }
    if (engine !== this.#writing && request.operation.mutates) throw readOnlyRefusal();
    this.#calls += 1;
    try {
      return await engine.backend.handle(request, permit);
    } finally {
      this.#calls -= 1;
    }
  }

  #later(millis: number): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#examine(), millis).unref();
  }

  async #examine(): Promise<void> {
    const fault = await this.#options.examine().catch(messageOf);
    if (this.#closed) return;
    if (fault !== undefined) {
      this.#fault = fault;
      this.#later(PROBE_MILLIS);
      return;
    }
    this.#switching = this.#leave().finally(() => {
      this.#switching = undefined;
    });
    await this.#switching;
    if (this.#fault !== undefined) this.#later(FAILED_MILLIS);
  }

  /** Opens everything for writing; after a failure everything is open for reading as before. */
  async #leave(): Promise<void> {
    const { log, openAudit, openEngine, openReading, resolve } = this.#options;
    const opened = new Opened();
    try {
      const audit = await openAudit(opened);
      await this.#idle();
      await this.#closeReading();
      const engine = await openEngine(opened);
      const records = await this.audit.continueIn(audit);
      await resolve(audit, engine);
      this.#opened.add(() => opened.close());
      this.#writing = engine;
      this.#fault = undefined;
      if (this.#onFault !== undefined) engine.startWork(this.#onFault);
      log.info({ records }, 'the data folder can be written: the read-only mode ends');
    } catch (error) {
      this.#fault = `the data folder cannot be opened for writing: ${messageOf(error)}`;
      log.error({ err: error }, 'the read-only mode goes on');
      await opened.close().catch(() => undefined);
      this.#reading ??= await openReading().catch(() => undefined);
    }
  }

  /** Waits for requests in flight: LMDB must not be open twice in a process. */
  async #idle(): Promise<void> {
    for (let waited = 0; this.#calls > 0 && waited < SETTLE_MILLIS; waited += 10) await sleep(10);
  }

  async #closeReading(): Promise<void> {
    const reading = this.#reading;
    this.#reading = undefined;
    if (reading !== undefined) this.#rests.push((await reading.close()).rest);
  }
}
