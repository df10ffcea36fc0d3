import { DamagedFile } from '../../arrow/sealed/file-seal.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { rulesOn, type CommitFacts } from '../../rules/commit-facts.ts';
import type { CommitRule } from '../../rules/commit-rule.ts';
import { brokenBy } from '../../rules/requirements.ts';
import { versionChange } from '../../rules/table-change.ts';
import type { Store } from '../../store/store.ts';
import { decodeTable } from '../catalog/records/records-codec.ts';
import type { TableRecord, VersionRecord } from '../format/records.ts';
import { walkTables } from '../catalog/records/table-walk.ts';
import { LanceManifestError } from '../format/lance/lance-message.ts';
import { locationOf } from '../versions/managed/managed-versions.ts';
import type { Chain } from '../format/chain.ts';
import type { Snapshot } from '../format/snapshot.ts';
import { FragmentReader } from '../query/scan/fragment-reader.ts';
import { OwnJudgedRows } from './judged-rows.ts';
import type { Tables } from '../versions/tables.ts';
import { enginePast, lancePast, type PastVersion } from './past-version.ts';
import { rowFault } from './row-fault.ts';

/** A past commit that rules would have refused or that cannot be judged. */
export interface PastCommit {
  readonly table: ObjectPath;
  readonly branch: string;
  readonly version: bigint;
  readonly timestampMillis: number;
  /** Null if the commit is unknown. */
  readonly rule: string | null;
  readonly fault: string;
}

/** Result of judging the past. */
export interface History {
  readonly tables: number;
  readonly commits: number;
  /** Commits that rules would have refused. */
  readonly refused: readonly PastCommit[];
  /** Commits that could not be judged completely. */
  readonly unjudged: readonly PastCommit[];
}

export interface HistoryOptions {
  readonly rules: readonly CommitRule[];
  /** The only table to judge; all if absent. */
  readonly table?: ObjectPath;
  readonly onTable?: (path: ObjectPath) => void;
  /** Ends the judging, which is refused with its reason. */
  readonly signal?: AbortSignal;
}

interface HistoryParts {
  readonly store: Store;
  readonly tables: Tables;
}

/** Page size of listed versions. */
const PAGE = 1000;

/**
 * Judges existing versions as if the rules had been in force at their commits. Facts that versions
 * do not record are left out: committer and context, drops, renames and tags. Webhooks are not
 * called.
 */
export async function judgeHistory(parts: HistoryParts, options: HistoryOptions): Promise<History> {
  const history = {
    tables: 0,
    commits: 0,
    refused: [] as PastCommit[],
    unjudged: [] as PastCommit[],
  };
  for await (const { path, record } of tablesOf(parts.store, options.table)) {
    if (record.kind === 'declared') continue;
    history.tables++;
    options.onTable?.(path);
    const rules = options.rules.filter((rule) => rule.covers(path));
    if (rules.length === 0) continue;
    for (const chain of await parts.tables.chains(record)) {
      const line = new PastLine(parts, { path, record, chain, rules });
      for await (const found of line.judged()) {
        options.signal?.throwIfAborted();
        history.commits++;
        history.refused.push(...found.refused);
        history.unjudged.push(...found.unjudged);
      }
    }
  }
  return history;
}

async function* tablesOf(store: Store, only: ObjectPath | undefined) {
  const options = { delimiter: '/', after: '', chunk: 1000, opens: () => true };
  const wanted = only === undefined ? undefined : JSON.stringify(only);
  for await (const { path, value } of walkTables(store, options)) {
    if (wanted !== undefined && JSON.stringify(path) !== wanted) continue;
    yield { path, record: decodeTable(value) };
  }
}

interface Line {
  readonly path: ObjectPath;
  readonly record: TableRecord;
  readonly chain: Chain;
  readonly rules: readonly CommitRule[];
}

interface Judged {
  readonly refused: readonly PastCommit[];
  readonly unjudged: readonly PastCommit[];
}

/** One line of versions of a table, oldest first. */
class PastLine {
  readonly #parts: HistoryParts;
  readonly #line: Line;

  constructor(parts: HistoryParts, line: Line) {
    this.#parts = parts;
    this.#line = line;
  }

  async *judged(): AsyncGenerator<Judged> {
    let before: { readonly version: bigint; readonly past: PastVersion } | undefined;
    for (const record of await this.#records()) {
      const past = await this.#read(record);
      if (past === undefined) {
        before = undefined;
        yield { refused: [], unjudged: [this.#of(record, null, 'its manifest cannot be read')] };
        continue;
      }
      const isNext = before?.version === record.version - 1n;
      // The origin of a branch was judged as a commit of its own.
      if (record.version > this.#origin) {
        yield record.version === 1n || isNext
          ? await this.#judge(record, past, before?.past ?? null)
          : { refused: [], unjudged: [this.#of(record, null, 'the version before is gone')] };
      }
      before = { version: record.version, past };
    }
  }

  get #origin(): bigint {
    return this.#line.chain.lineage[0]?.version ?? 0n;
  }

  async #records(): Promise<readonly VersionRecord[]> {
    const { record, chain } = this.#line;
    const all: VersionRecord[] = [];
    for (let after: bigint | undefined; ;) {
      const page = await this.#parts.tables.versions(
        record,
        { limit: PAGE, descending: false, ...(after !== undefined && { after }) },
        chain,
      );
      all.push(...page);
      after = page.at(-1)?.version;
      if (page.length < PAGE) return all.filter(({ version }) => version > 0n);
    }
  }

  async #judge(
    record: VersionRecord,
    past: PastVersion,
    before: PastVersion | null,
  ): Promise<Judged> {
    const { path, chain, rules, record: table } = this.#line;
    const change = versionChange(before?.state ?? null, past.state, past.rows(before));
    const facts: CommitFacts = {
      table: path,
      operation: 'CreateTableVersion',
      action: past.action(before),
      classes: past.classes(change),
      branch: chain.branch,
      keeper: table.kind === 'engine' ? 'here' : 'elsewhere',
      change,
      location: this.#parts.tables.folder(table),
      now: record.timestampMillis,
      context: null,
    };
    const refused: PastCommit[] = [];
    const unjudged: PastCommit[] = [];
    for (const rule of rulesOn(rules, facts)) {
      const fault = brokenBy(rule, facts) ?? (await this.#rowFault(rule, facts, past.snapshot));
      if (fault instanceof Error) unjudged.push(this.#of(record, rule.name, fault.message));
      else if (fault !== undefined) refused.push(this.#of(record, rule.name, fault));
    }
    return { refused, unjudged };
  }

  async #rowFault(
    rule: CommitRule,
    facts: CommitFacts,
    snapshot: Snapshot | undefined,
  ): Promise<string | Error | undefined> {
    try {
      const open = () => {
        const reader = new FragmentReader(snapshot!.storage);
        return new OwnJudgedRows(snapshot!, reader, new Map());
      };
      return await rowFault(rule, facts, snapshot && open);
    } catch (error) {
      if (error instanceof Error && 'syscall' in error) return new Error('its files are gone');
      if (error instanceof DamagedFile) return error;
      throw error;
    }
  }

  async #read(version: VersionRecord): Promise<PastVersion | undefined> {
    const { record, chain } = this.#line;
    try {
      if (record.kind !== 'engine')
        return await lancePast(this.#parts.tables.storage, locationOf(record), version);
      return enginePast(await this.#parts.tables.snapshot(record, version.version, chain));
    } catch (error) {
      if (isUnreadable(error)) return undefined;
      throw error;
    }
  }

  #of({ version, timestampMillis }: VersionRecord, rule: string | null, fault: string): PastCommit {
    const { path, chain } = this.#line;
    return { table: path, branch: chain.branch, version, timestampMillis, rule, fault };
  }
}

/** Whether a version cannot be read: its files are gone or damaged, whatever became of other versions. */
function isUnreadable(error: unknown): boolean {
  const isIoError = error instanceof Error && 'syscall' in error;
  const isDamage = error instanceof DamagedFile || error instanceof LanceManifestError;
  return isIoError || isDamage || (error instanceof CatalogError && error.row.name === 'Internal');
}
