import type { DecidedRecord, DecidedRequest } from '../../audit/decided/request.ts';
import { allowedByPolicy } from '../../audit/record/record.ts';
import type { LookedAt } from '../../policy/conditions/circumstances.ts';
import { valuesLookedAt } from '../../policy/values-looked-at.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import type { PolicySnapshot } from '../../policy/decide/snapshot.ts';
import { sightChanges } from '../../policy/settings/sight.ts';
import { branchOfRoute } from '../../protocol/branch.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { circumstancesOfRecord, kindOfRequest } from './recorded-circumstances.ts';
import { recordedQuestion, type RecordedQuestion } from './recorded-question.ts';
import { replayedVerdict, type ReplayedVerdict } from './replayed-verdict.ts';
import { ReplayReport, type Replayed } from './replay-report.ts';

/** Result of a replayed record; administrative acts are not requests. */
type Found = Replayed | 'act';

/** Maximum number of request kinds whose results are cached. */
const KEPT_KINDS = 200_000;

const UNKNOWN_RESTRICTIONS =
  'the policy of then is not archived, so its row filters and column masks are not known';

interface ReplayOptions {
  readonly proposed: LoadedPolicy;
  /** An earlier policy by its digest; undefined if it is not archived. */
  readonly before: (digest: string) => Promise<LoadedPolicy | undefined>;
}

/**
 * Decides requests of the audit log by a proposed policy, and compares that with what
 * was decided. Requests that are alike are decided once.
 */
export class Replay {
  readonly report = new ReplayReport();
  readonly #options: ReplayOptions;
  readonly #lookedAt: LookedAt;
  readonly #kinds = new Map<string, Found>();

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#lookedAt = valuesLookedAt(options.proposed);
  }

  /** @throws RecordFault for a record that cannot be read */
  async add(requests: readonly DecidedRequest[]): Promise<void> {
    for (const request of requests) {
      const key = kindOfRequest(request, this.#lookedAt);
      const cached = this.#kinds.get(key) ?? (await this.#decide(key, request));
      if (cached !== 'act') this.report.add(cached, request);
    }
  }

  async #decide(key: string, request: DecidedRequest): Promise<Found> {
    const record = request.record();
    const replayed = isAct(record) ? 'act' : await this.#replay(record, request);
    if (this.#kinds.size >= KEPT_KINDS) this.#kinds.clear();
    this.#kinds.set(key, replayed);
    return replayed;
  }

  async #replay(record: DecidedRecord, request: DecidedRequest): Promise<Replayed> {
    const question = recordedQuestion(record);
    if ('why' in question) return { kind: 'skipped', why: question.why };
    const { snapshot } = this.#options.proposed;
    const found = verdictUnder(question, snapshot, request, this.#lookedAt);
    if ('why' in found) return { kind: 'skipped', why: found.why };
    if (found.allowed === allowedByPolicy(record.decision)) {
      return found.allowed ? this.#seen(record, question) : { kind: 'same' };
    }
    if (found.allowed && !(await this.#wasOfPolicy(record, question, request))) {
      return { kind: 'skipped', why: 'it was not the policy that refused the request' };
    }
    return { kind: found.allowed ? 'gain' : 'lose', change: changeOf(record, question, found) };
  }

  /** What the caller would see of the table, compared with what it saw. */
  async #seen(
    { policy_digest }: DecidedRecord,
    { principal, asking }: RecordedQuestion,
  ): Promise<Replayed> {
    const { operation, object } = asking;
    const { snapshot } = this.#options.proposed;
    if (operation.object !== 'table' || policy_digest === snapshot.digest) return { kind: 'same' };
    const now = snapshot.restrictions.binding(principal, object);
    const before = policy_digest === null ? undefined : await this.#options.before(policy_digest);
    if (before === undefined) {
      return now.length === 0 ? { kind: 'same' } : { kind: 'skipped', why: UNKNOWN_RESTRICTIONS };
    }
    const changes = sightChanges(before.snapshot.restrictions.binding(principal, object), now);
    if (changes.length === 0) return { kind: 'same' };
    const place = { subject: principal.subject, object: canonicalPath(object) };
    return { kind: 'sees', changes: changes.map((change) => ({ ...change, ...place })) };
  }

  /** Whether the policy of then, where it is kept, refused the request: others may refuse one, too. */
  async #wasOfPolicy(
    { policy_digest }: DecidedRecord,
    question: RecordedQuestion,
    request: DecidedRequest,
  ): Promise<boolean> {
    const before = policy_digest === null ? undefined : await this.#options.before(policy_digest);
    if (before === undefined) return true;
    const found = verdictUnder(question, before.snapshot, request, valuesLookedAt(before));
    return 'why' in found || !found.allowed;
  }
}

/** The verdict of a policy on a request, or the reason why a redacted value prevents one. */
function verdictUnder(
  question: RecordedQuestion,
  snapshot: PolicySnapshot,
  request: DecidedRequest,
  lookedAt: LookedAt,
): ReplayedVerdict | { readonly why: string } {
  const { worst, best, hidden } = circumstancesOfRecord(request, lookedAt);
  const found = replayedVerdict(question, snapshot, worst);
  if (best === undefined || replayedVerdict(question, snapshot, best).allowed === found.allowed) {
    return found;
  }
  return { why: `a condition looks at ${hidden.join(' and ')}, which is redacted in the log` };
}

function changeOf(
  record: DecidedRecord,
  { asking, rights }: RecordedQuestion,
  found: ReplayedVerdict,
) {
  const refused = allowedByPolicy(record.decision) ? undefined : rights.at(-1);
  const { name, objectsInBody } = asking.operation;
  // An unread body may name more objects, or a branch.
  const isOpen = branchOfRoute(asking.operation, asking.query) === null;
  return {
    subject: record.principal?.subject ?? '',
    action: found.allowed ? (refused?.action ?? name) : found.action,
    object: found.allowed && refused !== undefined ? pathOf(record) : found.object,
    was: { rule: record.rule, policy: record.policy_digest },
    now: { rule: found.rule, reason: found.reason },
    partly: found.allowed && (isOpen || (refused === undefined && objectsInBody !== undefined)),
  };
}

/** The object of the last required right. */
function pathOf({ rights, object }: DecidedRecord): string {
  return rights.at(-1)?.objects.at(-1) ?? object ?? '';
}

/** Acts of administrators come from no address, and no policy decides them. */
function isAct({ source_ip }: DecidedRecord): boolean {
  return source_ip === null;
}
