import { wireLocation } from '../../storage/object-key.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { OperationName } from '../../protocol/operations/operation-name.ts';
import type { CatalogRequest } from '../../protocol/backend.ts';
import type { Permit } from '../../protocol/permit.ts';
import { rulesOn, type CommitFacts } from '../../rules/commit-facts.ts';
import {
  RuleRefusal,
  type CommitRule,
  type RequirementName,
  type RuleSet,
  type Webhook,
} from '../../rules/commit-rule.ts';
import { brokenBy } from '../../rules/requirements.ts';
import { callWebhook, type WebhookVerdict } from '../../rules/webhook.ts';
import type { Notes } from '../../store/notes.ts';
import { ownStatement, type FormulaThreads, type Statement } from '../base/statement.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { FragmentReader } from '../query/scan/fragment-reader.ts';
import { OwnJudgedRows, type JudgedRows, type KnownFaults } from './judged-rows.ts';
import type { LanceRowReads } from './lance-judged-rows.ts';
import { rowFault } from './row-fault.ts';
import { SharedVerdicts } from './shared-verdicts.ts';
import { sameColumns } from '../../rules/table-change.ts';

/** Greatest number of cached verdicts. */
const MOST = 10_000;

interface Remembered<Verdict> {
  readonly verdict: Promise<Verdict>;
  /** Milliseconds since 1970. */
  until: number;
}

/**
 * Cache of verdicts: a repeated commit gets the same verdict without a second request. Concurrent
 * requests for a verdict share one.
 */
class VerdictMemory<Verdict> {
  readonly #cache = new Map<string, Remembered<Verdict>>();
  readonly #keepMillis: number;
  readonly #clock: () => number;

  constructor(keepMillis: number, clock: () => number = Date.now) {
    this.#keepMillis = keepMillis;
    this.#clock = clock;
  }

  cached(key: string): Promise<Verdict> | undefined {
    const found = this.#cache.get(key);
    if (found === undefined || found.until > this.#clock()) return found?.verdict;
    this.#cache.delete(key);
    return undefined;
  }

  /** The verdict on a commit, requested once. Failures are not cached. */
  verdict(key: string, judge: () => Promise<Verdict>): Promise<Verdict> {
    const cached = this.cached(key);
    if (cached !== undefined) return cached;
    const verdict = judge();
    const entry = { verdict, until: Infinity };
    this.#keep(key, entry);
    verdict.then(
      () => (entry.until = this.#clock() + this.#keepMillis),
      () => this.#cache.delete(key),
    );
    return verdict;
  }

  #keep(key: string, entry: Remembered<Verdict>): void {
    this.#cache.set(key, entry);
    const now = this.#clock();
    for (const [old, { until }] of this.#cache) {
      if (until > now && this.#cache.size <= MOST) break;
      this.#cache.delete(old);
    }
  }
}

/** Source of rules: the policy in force. */
interface RuleSource {
  /** The rules that bind every caller. */
  binding(principal: Permit['principal']): RuleSet;
  /** Every rule. */
  readonly all: RuleSet;
}

/** Dependencies of judging. */
export interface Judging {
  readonly source: () => RuleSource;
  /** Signing key of a webhook by the name of its variable. */
  readonly secret: (name: string) => string | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Verdicts of the last minute. */
  /** Threads for long checks; this thread if absent. */
  readonly threads?: FormulaThreads | undefined;
  /** Reads the rows of Lance tables; absent if nothing does. */
  readonly lanceRows?: LanceRowReads | undefined;
  readonly refusals: VerdictMemory<RuleRefusal | null>;
  readonly webhooks: VerdictMemory<WebhookVerdict>;
  /** Verdicts shared by all processes; absent for a single process. */
  readonly shared?: SharedVerdicts;
}

/** Lifetime of a cached verdict, in ms. */
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
  lanceRows?: LanceRowReads,
): Judging {
  return {
    source,
    secret,
    clock,
    threads,
    lanceRows,
    refusals: new VerdictMemory(REMEMBERED_MILLIS, clock),
    webhooks: new VerdictMemory(REMEMBERED_MILLIS, clock),
    ...(verdicts && { shared: new SharedVerdicts(verdicts, REMEMBERED_MILLIS, clock) }),
  };
}

/** A commit as described by its operation. */
export interface Commit extends Omit<
  CommitFacts,
  'operation' | 'classes' | 'now' | 'context' | 'branch'
> {
  readonly branch?: string;
  /** Operation; that of the request if absent. A batch and a dropped namespace include several. */
  readonly operation?: OperationName;
  readonly classes?: CommitFacts['classes'];
  /** The new version of an engine table, if its rows can be read. */
  readonly snapshot?: Snapshot;
  /** Opens the rows of the new version of a Lance table. */
  readonly rows?: ReturnType<LanceRowReads['open']> | undefined;
  /** Identity of the commit across retries. */
  readonly transaction?: string | undefined;
  /** Path whose rules have already judged it. */
  readonly unless?: ObjectPath;
}

/** The part of a request that rules see. */
type CommitRequest = Pick<CatalogRequest, 'operation' | 'requestId' | 'clientRequestId'> & {
  /** Null if unknown. */
  readonly context: CatalogRequest['context'] | null;
  /** Budget of the request; absent if none waits for the commit. */
  readonly budget?: CatalogRequest['budget'];
  readonly signal?: CatalogRequest['signal'];
};

/** Judges the commits of one request and records the rules that did. */
export class CommitJudge {
  readonly #judging: Judging;
  #binding: RuleSet | undefined;
  readonly #request: CommitRequest;
  readonly #permit: Pick<Permit, 'principal' | 'decisionId'>;
  /** For each rule, the tables that violated it and were accepted with a warning. */
  readonly #judged = new Map<string, Set<string>>();
  readonly #faults: KnownFaults = new Map();
  #requested: VerdictMemory<WebhookVerdict> | undefined;

  /**
   * @param rules Rules that bind the caller if absent; for a change, the current ones.
   * @param rules Those that bind the caller, unless they are given: of a change, those that do so
   * now.
   */
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

  /** Reads are not judged, and most requests are reads. */
  get #rules(): RuleSet {
    return (this.#binding ??= this.#judging.source().binding(this.#permit.principal));
  }

  /** Names of the rules that judged; ` (warned)` is appended for violated rules that only warn. */
  get names(): readonly string[] {
    return [...this.#judged].map(([name, warned]) =>
      warned.size === 0 ? name : `${name} (warned)`,
    );
  }

  /** Whether a rule protects a tag of a table, for any caller. */
  protectsTag(table: ObjectPath, tag: string): boolean {
    return this.#judging
      .source()
      .all.rules.some(
        ({ enforced, covers, require }) =>
          enforced && require.protected_tags?.includes(tag) === true && covers(table),
      );
  }

  /** Reads the rows of Lance tables; undefined if nothing does. */
  get lanceRows(): LanceRowReads | undefined {
    return this.#judging.lanceRows;
  }

  /** Whether a rule covers a table. */
  covers(table: ObjectPath): boolean {
    return this.#rules.rules.some((rule) => rule.covers(table));
  }

  /** The first enforced rule on a table that has one of these requirements; undefined if there is none. */
  ruleRequiring(table: ObjectPath, names: readonly RequirementName[]): string | undefined {
    return this.#rules.rules.find(
      ({ enforced, covers, require }) =>
        enforced && covers(table) && names.some((name) => require[name] !== undefined),
    )?.name;
  }

  /**
   * @throws RuleRefusal of the first violated rule.
   * @throws RuleRefusal for the first rule that does not let it in.
   */
  async judge(commit: Commit): Promise<void> {
    if (!this.covers(commit.table)) return;
    const { transaction } = commit;
    if (transaction === undefined) return this.#judge(commit);
    const key = `${this.#rules.digest} ${canonicalPath(commit.table)} ${transaction}`;
    const cached = await this.#judging.refusals.cached(key);
    if (cached !== undefined && cached !== null) throw cached;
    try {
      await this.#judge(commit);
    } catch (error) {
      if (error instanceof RuleRefusal) {
        await this.#judging.refusals.verdict(key, async () => error);
      }
      throw error;
    }
  }

  async #judge(commit: Commit): Promise<void> {
    const facts: CommitFacts = {
      branch: 'main',
      operation: this.#request.operation.name,
      ...commit,
      ...(commit.location !== undefined && { location: wireLocation(commit.location) }),
      classes: commit.classes ?? new Set(),
      now: this.#judging.clock(),
      context: this.#request.context,
    };
    const rules = rulesOn(this.#rules.rules, facts, commit.unless);
    const broken = new Set<CommitRule>();
    for (const rule of rules) {
      const fault = brokenBy(rule, facts) ?? (await rowFault(rule, facts, this.#rowsOf(commit)));
      if (this.#take(rule, facts, fault)) broken.add(rule);
    }
    for (const rule of rules) {
      const { webhook } = rule;
      if (webhook === null || broken.has(rule)) continue;
      this.#take(rule, facts, await this.#webhookFault(rule, webhook, facts, commit.transaction));
    }
  }

  /** Opens the rows of a commit. */
  #rowsOf({ snapshot, rows }: Commit): (() => JudgedRows) | undefined {
    if (rows !== undefined) return () => rows(this.#statement);
    if (snapshot === undefined) return undefined;
    const reader = () => new FragmentReader(snapshot.storage);
    return () => new OwnJudgedRows(snapshot, reader(), this.#faults, this.#statement);
  }

  /** Records the verdict of a rule. @throws RuleRefusal if it refuses. */
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

  async #webhookFault(
    rule: CommitRule,
    webhook: Webhook,
    facts: CommitFacts,
    transaction: string | undefined,
  ): Promise<string | undefined> {
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
    this.#requested ??= new VerdictMemory<WebhookVerdict>(Infinity);
    const verdict = await this.#requested.verdict(own, () =>
      id === undefined
        ? ask()
        : this.#askOnce(`${this.#rules.digest} ${own} ${id}`, webhook.timeoutMillis, ask),
    );
    if (verdict.kind === 'allowed') return undefined;
    if (verdict.kind === 'refused') return `its webhook says no${detailOf(verdict.reason)}`;
    return noVerdict(webhook, verdict.why);
  }

  /** Requests a verdict once per minute over all processes. */
  #askOnce(
    key: string,
    patience: number,
    ask: () => Promise<WebhookVerdict>,
  ): Promise<WebhookVerdict> {
    const { webhooks, shared } = this.#judging;
    return webhooks.verdict(key, () => shared?.ask(key, patience, ask) ?? ask());
  }
}

function noVerdict({ onFailure }: Webhook, why: string): string | undefined {
  return onFailure === 'open' ? undefined : `its webhook gives no verdict: ${why}`;
}

function detailOf(reason: string): string {
  return reason === '' ? '' : `: ${reason}`;
}

/** Counts that distinguish commits sent under the same id. */
function countsOf({ change }: CommitFacts): string {
  if (change === null) return '';
  const { rowsAdded, rowsRemoved, rowsChanged, bytesAdded } = change;
  return [rowsAdded, rowsRemoved, rowsChanged, bytesAdded].join(' ');
}

/** Commit rules and their dependencies. */
export interface RulesOptions {
  readonly source: () => RuleSource;
  /** Signing key of webhook requests by the name of its variable. */
  readonly secret: (name: string) => string | undefined;
  /** Verdicts of webhooks shared by all processes; local if absent. */
  readonly verdicts?: Notes;
}

/** The committer in webhook requests. */
interface Committing {
  readonly subject: string;
  readonly requestId: string;
  readonly decisionId: string;
}

/**
 * Body of a webhook request: names, counts and columns as JSON, never rows or context values.
 * Counts are texts, since JSON numbers lose digits.
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
