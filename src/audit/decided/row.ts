import type { Data, RecordBatch } from 'apache-arrow';
import { structValues } from '../../arrow/value-column.ts';
import type { DecidedRecord, DecidedRequest, ConditionInputs } from './request.ts';
import { recordKinds as kinds } from '../record/columns.ts';
import { decisionOf, phaseOf } from '../record/decoding.ts';
import type { ExtraRights, Phase } from '../record/record.ts';
import { timeOf } from '../record/time.ts';

interface Row {
  readonly phase: string;
  readonly time: bigint;
  readonly duration_us: bigint | null;
  readonly decision_id: string;
  readonly principal: DecidedRecord['principal'];
  readonly credential: string | null;
  readonly source_ip: string | null;
  readonly operation: string | null;
  readonly object: string | null;
  readonly mode: string | null;
  readonly branch: string | null;
  readonly backend: string | null;
  readonly decision: string;
  readonly rule: string | null;
  readonly policy_digest: string | null;
  readonly rights: readonly ExtraRights[];
  readonly context: readonly { readonly key: string; readonly value: string }[];
}

const rows = structValues<Row>({
  phase: kinds.phase,
  time: kinds.time,
  duration_us: kinds.duration_us,
  decision_id: kinds.decision_id,
  principal: kinds.principal,
  credential: kinds.credential,
  source_ip: kinds.source_ip,
  operation: kinds.operation,
  object: kinds.object,
  mode: kinds.mode,
  branch: kinds.branch,
  backend: kinds.backend,
  decision: kinds.decision,
  rule: kinds.rule,
  policy_digest: kinds.policy_digest,
  rights: kinds.rights,
  context: kinds.context,
});

/** Columns to read for requests, in this order: those of `Row`, then `user_agent` and `read`. */
export const requestColumns: readonly string[] = [
  ...rows.type.children.map(({ name }: { readonly name: string }) => name),
  'user_agent',
  'read',
];

/** Requests of a batch with these columns. */
export function requestsOfBatch({ data, numRows }: RecordBatch): readonly DecidedRequest[] {
  return Array.from({ length: numRows }, (_, row) => new RequestRow(data, row));
}

const [phaseAt, timeAt, idAt, agentAt, readAt] = [
  'phase',
  'time',
  'decision_id',
  'user_agent',
  'read',
].map((name) => requestColumns.indexOf(name));

class RequestRow implements DecidedRequest {
  readonly #data: Data;
  readonly #at: number;
  #read: Row | undefined;

  constructor(data: Data, at: number) {
    this.#data = data;
    this.#at = at;
  }

  /** All fields, decoded on first use. */
  get #row(): Row {
    return (this.#read ??= rows.read(this.#data, this.#at)!);
  }

  get phase(): Phase {
    return phaseOf(kinds.phase.read(this.#data.children[phaseAt!]!, this.#at)!);
  }

  get decisionId(): string {
    return kinds.decision_id.read(this.#data.children[idAt!]!, this.#at)!;
  }

  get time(): string {
    return timeOf(kinds.time.read(this.#data.children[timeAt!]!, this.#at)!);
  }

  get key(): string {
    const { principal, operation, object, mode, branch, backend, decision, rule } = this.#row;
    const { policy_digest, rights } = this.#row;
    return JSON.stringify([
      principal,
      operation,
      object,
      mode,
      branch,
      backend,
      decision,
      rule,
      policy_digest,
      rights,
    ]);
  }

  conditionInputs(): ConditionInputs {
    const { source_ip, context, duration_us } = this.#row;
    return {
      ip: source_ip,
      context: Object.fromEntries(context.map(({ key, value }) => [key, value])),
      time: this.time,
      durationMicros: duration_us ?? 0n,
    };
  }

  userAgent(): string | null {
    return kinds.user_agent.read(this.#data.children[agentAt!]!, this.#at);
  }

  readColumns(): readonly string[] | null {
    return kinds.read.read(this.#data.children[readAt!]!, this.#at)?.columns ?? null;
  }

  record(): DecidedRecord {
    return {
      ...this.#row,
      phase: this.phase,
      time: this.time,
      decision: decisionOf(this.#row.decision),
      context: this.conditionInputs().context,
    };
  }
}
