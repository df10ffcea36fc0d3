import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { CatalogRequest } from '../../protocol/backend.ts';
import type { Permit } from '../../protocol/permit.ts';
import { rulesOn, type CommitFacts } from '../../rules/commit-facts.ts';
import {
  RuleRefusal,
  type CommitRule,
  type RuleSet,
  type Webhook,
} from '../../rules/commit-rule.ts';
import { brokenBy } from '../../rules/requirements.ts';
import { callWebhook, type WebhookVerdict } from '../../rules/webhook.ts';
import type { Notes } from '../../store/notes.ts';
import { ownStatement, type FormulaThreads, type Statement } from '../base/statement.ts';
import { FragmentReader } from '../query/scan/fragment-reader.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { checkFault } from './check-rows.ts';
import { JudgedRows, type KnownFaults } from './judged-rows.ts';
import { uniqueFault } from './unique-rows.ts';
import { SharedVerdicts } from './shared-verdicts.ts';
import { sameColumns } from '../../rules/table-change.ts';

/** How many verdicts are remembered at most. */
const MOST = 10_000;

interface Remembered<Verdict> {
  readonly verdict: Promise<Verdict>;
  /** Milliseconds since 1970. */
  until: number;
}

/**
 * What became of commits, for a while: whoever tries the same commit again is told
 * the same, and nobody is asked about it twice. One that asks while the answer is on
 * its way gets that answer.
 */
class VerdictMemory<Verdict> {
  readonly #known = new Map<string, Remembered<Verdict>>();
  readonly #keepMillis: number;
  readonly #clock: () => number;

  constructor(keepMillis: number, clock: () => number = Date.now) {
    this.#keepMillis = keepMillis;
    this.#clock = clock;
  }

  /** The verdict on a commit that was judged lately. */
  known(key: string): Promise<Verdict> | undefined {
    const found = this.#known.get(key);
    if (found === undefined || found.until > this.#clock()) return found?.verdict;
    this.#known.delete(key);
    return undefined;
  }

  /** The verdict on a commit; it is asked for once. A failure is not remembered. */
  ask(key: string, judge: () => Promise<Verdict>): Promise<Verdict> {
    const known = this.known(key);
    if (known !== undefined) return known;
    const verdict = judge();
    const entry = { verdict, until: Infinity };
    this.#keep(key, entry);
    verdict.then(
      () => (entry.until = this.#clock() + this.#keepMillis),
      () => this.#known.delete(key),
    );
    return verdict;
  }

  #keep(key: string, entry: Remembered<Verdict>): void {
    this.#known.set(key, entry);
    const now = this.#clock();
    for (const [old, { until }] of this.#known) {
      if (until > now && this.#known.size <= MOST) break;
      this.#known.delete(old);
    }
  }
}

/** Where rules come from: the policy in force. */
interface RuleSource {
  /** The rules that bind every caller. */
  binding(principal: Permit['principal']): RuleSet;
  /** Every rule. */
  readonly all: RuleSet;
}

/** What commits are judged with. */
export interface Judging {
  readonly source: () => RuleSource;
  /** The key of a webhook's signatures, by the name of its variable. */
  readonly secret: (name: string) => string | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** What became of the commits of the last minute. */
  /** Where long checks are evaluated; here when absent. */
  readonly threads?: FormulaThreads | undefined;
  readonly refusals: VerdictMemory<RuleRefusal | null>;
  readonly webhooks: VerdictMemory<WebhookVerdict>;
  /** The same for all processes; absent where there is one. */
  readonly shared?: SharedVerdicts;
}

/** How long the verdict on a commit is remembered, in milliseconds. */
const REMEMBERED_MILLIS = 60_000;

/** A catalog without rules. */
export const noRules: RuleSource = {
  all: { digest: '', rules: [] },
  binding: () => noRules.all,
};

export function judging(
  source: () => RuleSource,
  secret: Judging['secret'],
  clock: () => number,
  verdicts?: Notes,
  threads?: FormulaThreads,
): Judging {
  return {
    source,
    secret,
    clock,
    threads,
    refusals: new VerdictMemory(REMEMBERED_MILLIS, clock),
    webhooks: new VerdictMemory(REMEMBERED_MILLIS, clock),
    ...(verdicts && { shared: new SharedVerdicts(verdicts, REMEMBERED_MILLIS, clock) }),
  };
}

/** A commit as its operation knows it. */
export interface Commit extends Omit<
  CommitFacts,
  'operation' | 'classes' | 'now' | 'context' | 'branch'
> {
  readonly branch?: string;
  /** The request's own unless it is given: a batch, or a namespace that goes, does several things. */
  readonly operation?: OperationName;
  readonly classes?: CommitFacts['classes'];
  /** The new version, where its rows can be read. */
  readonly snapshot?: Snapshot;
  /** What tells it from others, however often its client tries it. */
  readonly transaction?: string | undefined;
  /** A path whose rules have judged it. */
  readonly unless?: ObjectPath;
}

/** What a request says of what it commits. */
type CommitRequest = Pick<CatalogRequest, 'operation' | 'requestId' | 'clientRequestId'> & {
  /** Null where nobody knows any more. */
  readonly context: CatalogRequest['context'] | null;
  /** What the request may use; absent where none waits for the commit. */
  readonly budget?: CatalogRequest['budget'];
  readonly signal?: CatalogRequest['signal'];
};

/** Judges whatever one request commits, and remembers which rules did. */
export class CommitJudge {
  readonly #judging: Judging;
  #binding: RuleSet | undefined;
  readonly #request: CommitRequest;
  readonly #permit: Pick<Permit, 'principal' | 'decisionId'>;
  /** For each rule that judged, the tables that broke it and were let in. */
  readonly #judged = new Map<string, Set<string>>();
  readonly #faults: KnownFaults = new Map();
  #asked: VerdictMemory<WebhookVerdict> | undefined;

  /** @param rules Those that bind the caller, unless they are given: of a change, those that do so now. */
  constructor(
    parts: Judging,
    request: CommitRequest,
    permit: Pick<Permit, 'principal' | 'decisionId'>,
    rules = request.operation.mutates ? parts.source().binding(permit.principal) : undefined,
  ) {
    this.#judging = parts;
    this.#request = request;
    this.#permit = permit;
    this.#binding = rules;
  }

  get #statement(): Statement {
    const { budget, signal } = this.#request;
    const own = ownStatement(budget);
    return {
      ...own,
      threads: this.#judging.threads ?? null,
      owner: this.#permit.principal.subject,
      signal: signal ?? own.signal,
    };
  }

  /** What only reads is judged by none, and most requests do. */
  get #rules(): RuleSet {
    return (this.#binding ??= this.#judging.source().binding(this.#permit.principal));
  }

  /** The names of the rules that judged; of a rule that was broken and only warns, with ` (warned)`. */
  get names(): readonly string[] {
    return [...this.#judged].map(([name, warned]) =>
      warned.size === 0 ? name : `${name} (warned)`,
    );
  }

  /** Whether some rule is about a table. */
  covers(table: ObjectPath): boolean {
    return this.#rules.rules.some((rule) => rule.covers(table));
  }

  /** @throws RuleRefusal for the first rule that does not let it in. */
  async judge(commit: Commit): Promise<void> {
    if (!this.covers(commit.table)) return;
    const { transaction } = commit;
    if (transaction === undefined) return this.#judge(commit);
    const key = `${this.#rules.digest} ${canonicalPath(commit.table)} ${transaction}`;
    const known = await this.#judging.refusals.known(key);
    if (known !== undefined && known !== null) throw known;
    try {
      await this.#judge(commit);
    } catch (error) {
      if (error instanceof RuleRefusal) {
        await this.#judging.refusals.ask(key, async () => error);
      }
      throw error;
    }
  }

  async #judge(commit: Commit): Promise<void> {
    const facts: CommitFacts = {
      branch: 'main',
      operation: this.#request.operation.name,
      ...commit,
      classes: commit.classes ?? new Set(),
      now: this.#judging.clock(),
      context: this.#request.context,
    };
    const rules = rulesOn(this.#rules.rules, facts, commit.unless);
    const broken = new Set<CommitRule>();
    for (const rule of rules) {
      const fault = brokenBy(rule, facts) ?? (await this.#rowFault(rule, facts, commit.snapshot));
      if (this.#take(rule, facts, fault)) broken.add(rule);
    }
    for (const rule of rules) {
      if (rule.webhook === null || broken.has(rule)) continue;
      this.#take(rule, facts, await this.#webhookFault(rule, facts, commit.transaction));
    }
  }

  /** Writes down what a rule says. @throws RuleRefusal when it says no. */
  #take(rule: CommitRule, { table }: CommitFacts, fault: string | undefined): boolean {
    const warned = this.#judged.get(rule.name) ?? new Set<string>();
    this.#judged.set(rule.name, warned);
    if (fault === undefined) {
      warned.delete(canonicalPath(table));
      return false;
    }
    if (rule.enforced) throw new RuleRefusal(rule, table, fault);
    warned.add(canonicalPath(table));
    return true;
  }

  async #rowFault(
    { require: { check, unique } }: CommitRule,
    { change }: CommitFacts,
    snapshot: Snapshot | undefined,
  ): Promise<string | undefined> {
    if (change === null || snapshot === undefined) return undefined;
    if (check === undefined && unique === undefined) return undefined;
    const reader = new FragmentReader(snapshot.storage);
    try {
      const rows = new JudgedRows(snapshot, reader, this.#faults, this.#statement);
      const fault = check === undefined ? undefined : await checkFault(check, change, rows);
      if (fault !== undefined || unique === undefined) return fault;
      return await uniqueFault(unique, change, rows);
    } finally {
      await reader.close();
    }
  }

  async #webhookFault(
    rule: CommitRule,
    facts: CommitFacts,
    transaction: string | undefined,
  ): Promise<string | undefined> {
    const webhook = rule.webhook!;
    if (facts.unknown !== undefined) return noVerdict(webhook, facts.unknown);
    const { requestId, clientRequestId } = this.#request;
    const { principal, decisionId } = this.#permit;
    const { subject } = principal;
    const summary = webhookSummary(rule.name, facts, { subject, requestId, decisionId });
    const ask = () =>
      callWebhook(webhook, this.#judging.secret(webhook.secretEnv), summary, facts.now);
    const place = [facts.table, facts.target ?? []].map(canonicalPath).join(' ');
    const own = [rule.name, place, facts.branch, transaction ?? ''].join(' ');
    const again = clientRequestId && `${subject} ${clientRequestId} ${facts.operation}`;
    const id = transaction ?? (again && `${again} ${countsOf(facts)}`);
    this.#asked ??= new VerdictMemory<WebhookVerdict>(Infinity);
    const verdict = await this.#asked.ask(own, () =>
      id === undefined
        ? ask()
        : this.#askOnce(`${this.#rules.digest} ${own} ${id}`, webhook.timeoutMillis, ask),
    );
    if (verdict.kind === 'allowed') return undefined;
    if (verdict.kind === 'refused') return `its webhook says no${said(verdict.reason)}`;
    return noVerdict(webhook, verdict.why);
  }

  /** Asks what no process has asked within the last minute. */
  #askOnce(
    key: string,
    patience: number,
    ask: () => Promise<WebhookVerdict>,
  ): Promise<WebhookVerdict> {
    const { webhooks, shared } = this.#judging;
    return webhooks.ask(key, () => shared?.ask(key, patience, ask) ?? ask());
  }
}

function noVerdict({ onFailure }: Webhook, why: string): string | undefined {
  return onFailure === 'open' ? undefined : `its webhook gives no verdict: ${why}`;
}

function said(reason: string): string {
  return reason === '' ? '' : `: ${reason}`;
}

/** What tells a commit from another that was sent under the same id. */
function countsOf({ change }: CommitFacts): string {
  if (change === null) return '';
  const { rowsAdded, rowsRemoved, rowsChanged, bytesAdded } = change;
  return [rowsAdded, rowsRemoved, rowsChanged, bytesAdded].join(' ');
}

/** Commit rules, and what they need of the world. */
export interface RulesOptions {
  readonly source: () => RuleSource;
  /** The key by which what a webhook is told is signed, by the name of its variable. */
  readonly secret: (name: string) => string | undefined;
  /** Where all processes of the catalog write down what webhooks were asked; each for itself when absent. */
  readonly verdicts?: Notes;
}

/** Who commits, as a webhook is told. */
interface Committing {
  readonly subject: string;
  readonly requestId: string;
  readonly decisionId: string;
}

/**
 * What a webhook is told of a commit, as JSON text: names, counts and columns,
 * never rows, nor values of the context. Counts are texts, since they may have more digits than a
 * number keeps.
 */
function webhookSummary(
  rule: string,
  { table, target, tag, operation, action, branch, change }: CommitFacts,
  { subject, requestId, decisionId }: Committing,
): string {
  return JSON.stringify({
    rule,
    table: canonicalPath(table),
    ...(target !== undefined && { target: canonicalPath(target) }),
    operation,
    action,
    branch,
    ...(tag !== undefined && { tag }),
    subject,
    request_id: requestId,
    decision_id: decisionId,
    ...(change !== null && {
      change: {
        rows_before: String(change.rowsBefore),
        rows_added: String(change.rowsAdded),
        rows_removed: String(change.rowsRemoved),
        rows_changed: String(change.rowsChanged),
        bytes_added: String(change.bytesAdded),
        schema_changed:
          change.before === null || !sameColumns(change.before.columns, change.after.columns),
        columns: change.after.columns.map(({ name, plain: type, nullable }) => ({
          name,
          type,
          nullable,
        })),
      },
    }),
  });
}
