import type { Logger } from 'pino';
import type { AuditRecord } from '../audit/record/record.ts';
import type { AuditLog } from '../audit/writer.ts';
import { CatalogError } from '../protocol/errors.ts';
import { Attempt, type Authorized, type RefusedRequest, type Recorded } from './decision/steps.ts';
import { attemptRecord, backendOf, outcomeRecord, type RecordOptions } from './audit-record.ts';
import type { RequestOutcome } from './outcome.ts';
import { advance } from './passage.ts';

interface RecorderOptions extends RecordOptions {
  readonly audit: AuditLog;
  readonly log: Logger;
  /** Records that are on disk before the answer. */
  readonly durable: 'mutations' | 'all';
  /** Whether the data folder cannot be written, so that no change is possible; never when absent. */
  readonly readOnly?: () => boolean;
}

/** The refusal of credentials while the audit log cannot be written. */
export function withheldCredentials(): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'the audit log cannot be written, so no credentials are issued',
  );
}

/** The refusal of a change while the data folder cannot be written. */
export function readOnlyRefusal(): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'the service is in read-only mode, because its data folder cannot be written; nothing is changed',
  );
}

/**
 * "Pending" is a change whose outcome will be written later, "withheld" an answer with credentials
 * that must not be sent, since it could not be recorded.
 */
type OutcomeState = 'recorded' | 'pending' | 'withheld';

/**
 * Writes the attempt and the outcome of each request to the audit log. While the log cannot be written, reads continue and
 * changes do not.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  /** Outcomes of changes that took effect, but could not be written yet. */
  readonly #owed: AuditRecord[] = [];
  #paying: Promise<boolean> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Name of the backend of a request. */
  backendOf(request: RefusedRequest): string {
    return backendOf(request, this.#options) ?? 'none';
  }

  /** Why changes are refused now, if they are. */
  fault(): string | undefined {
    const owed = this.#owed.length;
    return (
      this.#options.audit.healthy() ??
      (owed > 0 ? `${owed} outcomes are still to be written` : undefined)
    );
  }

  /** Why tampering with records could go unnoticed; undefined if it could not. */
  weakness(): string | undefined {
    return this.#options.audit.weakness();
  }

  /**
   * Records that an allowed request begins; for a change, durably. A body may arrive
   * meanwhile: its end, without which nothing takes effect, is held back until the record
   * is on disk. Operations that are staged wait for the record themselves. The attempt of a
   * read is handed to the log synchronously.
   * @throws CatalogError ServiceUnavailable for a change that cannot be recorded
   */
  attempt(authorized: Authorized): Recorded | Promise<Recorded> {
    const record = attemptRecord(authorized, this.#options);
    if (this.#mayReceive(authorized)) {
      const written = this.#insist(record);
      authorized.body.holdEnd(written);
      return attempted(authorized, written);
    }
    const written = authorized.route.operation.mutates
      ? this.#insist(record)
      : this.#try(record, this.#isDurable(authorized));
    return typeof written === 'boolean'
      ? attempted(authorized)
      : written.then(() => attempted(authorized));
  }

  /**
   * Records how a request ended; with its attempt, if it was refused before it
   * had one. Synchronous if the record need not be durable.
   */
  outcome(
    outcome: RequestOutcome,
    bytesOut: bigint | number | null,
  ): OutcomeState | Promise<OutcomeState> {
    const { request } = outcome;
    const { attempt } = request;
    // A record that need not be durable is handed over synchronously.
    const atOnce = attempt !== undefined && attempt.settled === undefined;
    if (!atOnce || outcome.answer.vended !== undefined || this.#isDurable(request))
      return this.#settledOutcome(outcome, bytesOut);
    const written = this.#try(outcomeRecord(outcome, bytesOut, this.#options), false);
    return written instanceof Promise ? written.then(() => 'recorded') : 'recorded';
  }

  async #settledOutcome(
    outcome: RequestOutcome,
    bytesOut: bigint | number | null,
  ): Promise<OutcomeState> {
    const { request } = outcome;
    const { vended } = outcome.answer;
    const durable = vended !== undefined || this.#isDurable(request);
    await request.attempt?.settled;
    const begun = request.attempt?.failed === false;
    if (!begun) await this.#try(attemptRecord(request, this.#options, outcome), false);
    const record = outcomeRecord(outcome, bytesOut, this.#options);
    if (await this.#try(record, durable)) return 'recorded';
    const isChange = begun && request.route?.operation.mutates === true;
    if (isChange) this.#owed.push(record);
    if (vended !== undefined) return 'withheld';
    return isChange ? 'pending' : 'recorded';
  }

  /** Changes by identified callers. Others must not be able to force flushes. */
  #isDurable(request: RefusedRequest): boolean {
    // Nothing changes, and nothing can be written.
    if (this.#options.readOnly?.() === true) return false;
    if (this.#options.durable === 'all') return true;
    return request.principal !== undefined && request.route?.operation.mutates === true;
  }

  /** Whether the body may arrive before the record is on disk: only while the log works. */
  #mayReceive({ route, body }: Authorized): boolean {
    const { mutates, staged, body: kind } = route.operation;
    const mayCome = mutates && (kind === 'arrow' || staged === true);
    const works = this.fault() === undefined && this.#options.readOnly?.() !== true;
    return mayCome && !body.waiting && works;
  }

  async #insist(record: AuditRecord): Promise<void> {
    if (this.#options.readOnly?.() === true) throw readOnlyRefusal();
    const paid = this.#owed.length === 0 || (await this.#payOwed());
    if (paid && (await this.#try(record, true))) return;
    throw new CatalogError(
      'ServiceUnavailable',
      'the audit log cannot be written, so nothing is changed',
    );
  }

  /** Writes the outcomes that are owed before anything new may take effect. */
  #payOwed(): Promise<boolean> {
    this.#paying ??= this.#pay().finally(() => {
      this.#paying = undefined;
    });
    return this.#paying;
  }

  async #pay(): Promise<boolean> {
    for (let next = this.#owed[0]; next !== undefined; next = this.#owed[0]) {
      if (!(await this.#try(next, true))) return false;
      this.#owed.shift();
    }
    return true;
  }

  /** Synchronous if the record need not be durable. */
  #try(record: AuditRecord, durable: boolean): boolean | Promise<boolean> {
    try {
      const written = this.#options.audit.write(record, durable);
      return written === undefined ? true : this.#tried(written);
    } catch (error) {
      return this.#failed(error);
    }
  }

  async #tried(written: Promise<void>): Promise<boolean> {
    try {
      await written;
      return true;
    } catch (error) {
      return this.#failed(error);
    }
  }

  #failed(error: unknown): false {
    this.#options.log.error({ err: error }, 'an audit record could not be written');
    return false;
  }
}

function attempted(authorized: Authorized, written?: Promise<void>): Recorded {
  return advance(authorized, { attempt: new Attempt(authorized.decisionId, written) });
}
