import { randomUUID } from 'node:crypto';
import type { AuditRecord } from './record.ts';
import { timeOf } from './time.ts';

/** Operations of commands and of the service itself, besides those of the protocol. */
export const administrativeOperations = [
  'KeysCreate',
  'KeysRevoke',
  'KeysRotate',
  'KeysFreeze',
  'KeysThaw',
  'KeysMove',
  'PolicyReload',
  'AuditRotateKey',
  'AuditReview',
  'AuditVerify',
  'CatalogRebuild',
  'CatalogGc',
  'CatalogExpire',
  'CatalogUndrop',
  'CatalogCompact',
  'CatalogBackup',
  'CatalogUpgrade',
  'CatalogAdopt',
  'CatalogConvert',
] as const;

type AdministrativeOperation = (typeof administrativeOperations)[number];

/** An administrative act, which is recorded like a request: at its start and at its end. */
export interface Act {
  readonly operation: AdministrativeOperation;
  /** The actor: `user:<name of the operating system>`, `system:<part>` for a part of the service, or null. */
  readonly subject: string | null;
  /** Id of the actor's credential; that of the operating system if absent. */
  readonly credential?: string | undefined;
  /** Address that the actor came from. */
  readonly sourceIp?: string | undefined;
  /** Canonical path of the table that it concerns. */
  readonly object?: string | undefined;
  /** Names and numbers of the operation's subject; never a secret. */
  readonly details: Readonly<Record<string, string>>;
  readonly policyDigest?: string | undefined;
}

/** Result of an act; `failed` includes refusals. */
type ActEnd = 'done' | 'failed';

/** The records of an act, which share a decision id. */
export class ActRecords {
  readonly #act: Act;
  readonly #id = randomUUID();
  readonly #beganMicros = BigInt(Date.now()) * 1000n;
  readonly #beganNanos = process.hrtime.bigint();

  constructor(act: Act) {
    this.#act = act;
  }

  attempt(): AuditRecord {
    return { ...this.#shared(), phase: 'attempt', time: timeOf(this.#beganMicros) };
  }

  /** @param details Details that are only known at the end. */
  outcome(end: ActEnd, details: Readonly<Record<string, string>> = {}): AuditRecord {
    const shared = this.#shared();
    const micros = (process.hrtime.bigint() - this.#beganNanos) / 1000n;
    return {
      ...shared,
      phase: 'outcome',
      time: timeOf(this.#beganMicros + micros),
      duration_us: micros,
      decision: end === 'done' ? 'allow' : 'invalid',
      context: { ...shared.context, ...details },
    };
  }

  #shared(): AuditRecord {
    const { operation, subject, object, details, policyDigest, sourceIp } = this.#act;
    const local = subject?.startsWith('user:') === true ? 'local' : null;
    return {
      phase: 'attempt',
      time: '',
      request_id: this.#id,
      decision_id: this.#id,
      principal: subject === null ? null : { subject, groups: [], roles: [] },
      subject,
      credential: this.#act.credential ?? local,
      source_ip: sourceIp ?? null,
      user_agent: null,
      operation,
      object: object ?? null,
      mode: null,
      branch: null,
      backend: null,
      decision: 'allow',
      rule: null,
      policy_digest: policyDigest ?? null,
      context: details,
    };
  }
}
