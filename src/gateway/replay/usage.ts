import type { DecidedRecord, DecidedRequest } from '../../audit/decided/request.ts';
import type { LookedAt } from '../../policy/conditions/circumstances.ts';
import { valuesLookedAt } from '../../policy/values-looked-at.ts';
import { linesOfText, lineOfRule } from '../../policy/lines/line-text.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import { RoleGraph } from '../../policy/lines/role-graph.ts';
import { EVERYONE } from '../../policy/lines/pattern.ts';
import { judgeNeed, SnapshotPermit } from '../decision/permit.ts';
import { needsOf } from '../decision/needs.ts';
import { circumstancesOfRecord, kindOfRequest } from './recorded-circumstances.ts';
import {
  recordedQuestion,
  restrictedRequestOf,
  type RecordedQuestion,
} from './recorded-question.ts';

/** Maximum number of request kinds that are remembered as counted. */
const KEPT_KINDS = 200_000;

interface UsageOptions {
  /** The policy whose lines are looked at. */
  readonly policy: LoadedPolicy;
  /** An earlier policy by its digest; undefined if it is not archived. */
  readonly before: (digest: string) => Promise<LoadedPolicy | undefined>;
}

/** Notes which lines of a policy the requests of the audit log used. */
export class Usage {
  readonly #options: UsageOptions;
  readonly #lookedAt: LookedAt;
  readonly #graph: RoleGraph;
  readonly #numbers = new Map<string, number[]>();
  readonly #subjects: ReadonlyMap<number, string>;
  readonly #kinds = new Set<string>();
  readonly #closures = new Map<string, ReadonlySet<string>>();
  /** Numbers of the `p` and `g` lines that decided something, or led to a line that did. */
  readonly lines = new Set<number>();
  /** Names that apply to a caller: its own, its groups and its roles, to any depth. */
  readonly names = new Set<string>();
  readonly credentials = new Set<string>();
  /** Names of restrictions that bound the caller of a request. */
  readonly restrictions = new Set<string>();
  /** Columns that a bound caller read, by the name of each restriction. */
  readonly columnsRead = new Map<string, Set<string>>();
  /** Policies that decided, and whose text was not kept. */
  readonly unknown = new Set<string>();
  #requests = 0;

  constructor(options: UsageOptions) {
    const { policy } = options;
    this.#options = options;
    this.#lookedAt = valuesLookedAt(policy);
    this.#graph = new RoleGraph(policy.roles);
    this.#subjects = new Map(policy.policies.map(({ line, subject }) => [line, subject]));
    for (const [at, text] of linesOfText(policy.texts.policy).entries()) {
      const numbers = this.#numbers.get(text);
      if (numbers === undefined) this.#numbers.set(text, [at + 1]);
      else numbers.push(at + 1);
    }
  }

  get requests(): number {
    return this.#requests;
  }

  /** @throws RecordFault for a record that cannot be read */
  async add(requests: readonly DecidedRequest[]): Promise<void> {
    for (const request of requests) {
      this.#requests += 1;
      const columns = this.#isRestricted ? request.readColumns() : null;
      const key = `${kindOfRequest(request, this.#lookedAt)}${columns?.join('\0') ?? ''}`;
      if (this.#kinds.has(key)) continue;
      if (this.#kinds.size >= KEPT_KINDS) this.#kinds.clear();
      this.#kinds.add(key);
      await this.#note(request.record(), request, columns ?? []);
    }
  }

  get #isRestricted(): boolean {
    return this.#options.policy.snapshot.restrictions.restrictions.length > 0;
  }

  async #note(
    record: DecidedRecord,
    request: DecidedRequest,
    columns: readonly string[],
  ): Promise<void> {
    if (record.credential !== null) this.credentials.add(record.credential);
    if (record.principal === null) return;
    const { subject, groups, roles } = record.principal;
    const own = [subject, ...groups, ...roles, EVERYONE];
    for (const name of this.#graph.closure(own)) this.names.add(name);
    if (record.rule !== null && record.policy_digest !== null) {
      const lines = await this.#linesOf(record.rule, record.policy_digest);
      for (const line of lines) this.#use(line, own);
    }
    const question = recordedQuestion(record);
    if ('why' in question) return;
    for (const line of this.#further(question, request)) this.#use(line, own);
    this.#bind(question, columns);
  }

  /** The lines, as they are now, of what decided then. */
  async #linesOf(rule: string, digest: string): Promise<readonly number[]> {
    const line = lineOfRule(rule);
    if (line === undefined) return [];
    const { policy, before } = this.#options;
    if (digest === policy.snapshot.digest) return [line];
    const then = await before(digest);
    if (then === undefined) {
      this.unknown.add(digest);
      return [];
    }
    const text = linesOfText(then.texts.policy)[line - 1];
    return (text === undefined ? undefined : this.#numbers.get(text)) ?? [];
  }

  /** Notes the restrictions that bind the caller, as they are now, and what it read under them. */
  #bind({ principal, asking }: RecordedQuestion, columns: readonly string[]): void {
    if (asking.operation.object !== 'table') return;
    const { restrictions } = this.#options.policy.snapshot;
    for (const { name } of restrictions.binding(principal, asking.object)) {
      this.restrictions.add(name);
      const read = this.columnsRead.get(name) ?? new Set();
      this.columnsRead.set(name, read);
      for (const column of columns) read.add(column);
    }
  }

  /** The lines that decide extra rights: a record names only the line of the operation. */
  #further(question: RecordedQuestion, request: DecidedRequest): readonly number[] {
    const { principal, asking, rights } = question;
    const { worst } = circumstancesOfRecord(request, this.#lookedAt);
    const permit = new SnapshotPermit(
      this.#options.policy.snapshot,
      principal,
      '',
      worst,
      restrictedRequestOf(question),
    );
    const verdicts = [
      ...needsOf(asking)
        .slice(1)
        .map((need) => judgeNeed(need, permit)),
      ...rights.map(({ action, object, branch }) => permit.verdict(action, object, branch)),
    ];
    return verdicts.flatMap(({ rule }) => (rule === null ? [] : (lineOfRule(rule) ?? [])));
  }

  /** Notes a line, and the memberships that lead to it. */
  #use(line: number, own: readonly string[]): void {
    this.lines.add(line);
    const subject = this.#subjects.get(line);
    if (subject === undefined || own.includes(subject)) return;
    const reached = this.#graph.closure(own);
    for (const { line: number, member, role } of this.#options.policy.roles) {
      if (reached.has(member) && this.#closure(role).has(subject)) this.lines.add(number);
    }
  }

  #closure(name: string): ReadonlySet<string> {
    let cached = this.#closures.get(name);
    if (cached === undefined) this.#closures.set(name, (cached = this.#graph.closure([name])));
    return cached;
  }
}
