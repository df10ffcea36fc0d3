import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import { compareBytewise } from '../../catalog/records/bytewise.ts';
import { droppedKey, headKey, purgedKey, tableKey } from '../../catalog/records/keys.ts';
import { tableNotFound } from '../../catalog/records/refusals.ts';
import { decodeTable } from '../../catalog/records/records-codec.ts';
import { droppedTables } from '../../catalog/table-undrop.ts';
import { walkTables } from '../../catalog/records/table-walk.ts';
import { severalAtOnce } from '../retention/entries.ts';
import { MAIN } from '../../format/chain.ts';
import type { Outlook } from '../../versions/leases/horizon.ts';
import { lostFolders, removeLost } from '../retention/orphans.ts';
import type { RetentionParts } from '../retention/parts.ts';
import { DeepCheck, type DeepCounts, type DeepOptions } from './deep-check.ts';
import { findingOf, type Finding } from './finding.ts';
import { checkJournal } from './journal-check.ts';
import { isStoreDamage } from '../../../store/store-error.ts';
import { checkDigests, checkValues, storeFinding } from './store-check.ts';
import { checkTable, type Subject } from './table-check.ts';

export interface VerifyOptions {
  /** The only table to look at; everything when absent. */
  readonly table?: ObjectPath;
  /** Called with the name of each step. */
  readonly progress?: (doing: string) => void;
  /** Compares all bytes of the files that have seals. */
  readonly deep?: DeepVerification;
}

/** The first table that a verification looks at: a path, or the first dropped table. */
export type TableCursor = ObjectPath | 'dropped';

interface DeepVerification {
  /** Most bytes that are read in a second; 0 for no limit. */
  readonly bytesPerSecond: number;
  /** Tables before this one are left out. */
  readonly from?: TableCursor;
  /** Ends the verification; it reports what it found so far. */
  readonly signal?: AbortSignal;
}

/** What a deep verification compared. */
interface Compared extends DeepCounts {
  /** Where to continue: a canonical path or `dropped`; null if the verification was not interrupted. */
  readonly next: string | null;
}

/** Something on disk that no version and no table names. */
export interface Leftover {
  /** Canonical path of the table in whose folder it lies; null for a folder of no table. */
  readonly table: string | null;
  /** Path in the table's folder, or the folder's own. */
  readonly file: string;
  readonly bytes: number;
}

/** Counts and findings of a verification. */
export interface Verified {
  readonly tables: number;
  readonly versions: number;
  readonly files: number;
  readonly bytes: number;
  /** Changes in the journal; null when it was not looked at. */
  readonly changes: number | null;
  readonly findings: readonly Finding[];
  /** Files for the next collection once they are old enough: no fault. */
  readonly orphans: readonly Leftover[];
  /** Null unless files were compared byte by byte. */
  readonly deep: Compared | null;
}

/** A table that is read, or an unsound file of it. */
interface ScrubStep {
  readonly cursor: string;
  readonly error?: unknown;
}

/** A table, and the cursor from which a verification looks at it and all later ones. */
interface Step extends Subject {
  /** The path that the table has, or had before it was dropped. */
  readonly path: ObjectPath;
  readonly cursor: string;
}

/** Tables that are looked at at a time. */
const AT_ONCE = 4;

/** Accounts for everything that the catalog says is there. Changes nothing. */
export class Verifier {
  readonly #parts: RetentionParts;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  /** @throws CatalogError TableNotFound for a table that is not there. */
  async verify(options: VerifyOptions = {}): Promise<Verified> {
    // Nothing is removed meanwhile that was there when it was begun.
    return this.#parts.horizon.running.during(() => this.#verify(options));
  }

  /**
   * Reads the files of all tables from a cursor on, and compares them with their seals. Files that
   * are removed meanwhile are not held.
   * @returns The cursor of each table, and with it each file that is not sound.
   * @throws the reason of the signal.
   */
  async *scrub(options: DeepOptions, from: TableCursor): AsyncGenerator<ScrubStep> {
    const check = new DeepCheck(this.#parts, options);
    for await (const step of this.#all(from)) {
      const { cursor } = step;
      yield { cursor };
      for await (const { error } of check.unsound(step)) yield { cursor, error };
    }
  }

  async #verify({ table, progress, deep }: VerifyOptions): Promise<Verified> {
    const outlook = await this.#parts.horizon.look();
    const from = deep?.from ?? [];
    const check = deep && new DeepCheck(this.#parts, { ...deep, progress });
    const sum = new Sum(check, from);
    if (table !== undefined) {
      await this.#tables(sum, outlook, [await this.#one(table)], progress);
      return sum.verified(null);
    }
    progress?.('looking at the store');
    sum.found(await checkValues(this.#parts.store));
    await sum.around('the tables', async () => {
      await this.#tables(sum, outlook, this.#all(from), progress);
      if (!sum.isStopped) await this.#lost(sum, outlook);
    });
    if (sum.isStopped) return sum.verified(null);
    progress?.('looking at the journal');
    const { changes, findings } = await checkJournal(
      this.#parts.storage,
      this.#parts.journal,
      this.#parts.store,
    );
    sum.found(findings);
    sum.found(await checkDigests(this.#parts.store));
    return sum.verified(changes);
  }

  async #tables(
    sum: Sum,
    outlook: Outlook,
    steps: Parameters<typeof severalAtOnce<Step>>[0],
    progress: VerifyOptions['progress'],
  ): Promise<void> {
    try {
      await severalAtOnce(steps, AT_ONCE, async (step) => {
        progress?.(`looking at ${step.name}`);
        await sum.add(this.#parts, step, outlook);
      });
    } catch (error) {
      if (!sum.isStopped) throw error;
    }
  }

  async #one(path: ObjectPath): Promise<Step> {
    const table = await this.#parts.reader.table(path);
    if (table === undefined) throw tableNotFound(path);
    const name = canonicalPath(path);
    return { name, path, cursor: name, record: table.content };
  }

  /** All tables, then those that were dropped and can be brought back. */
  async *#all(from: TableCursor): AsyncGenerator<Step> {
    const { store } = this.#parts;
    if (from !== 'dropped') yield* this.#present(from.join('/'));
    for await (const { content } of droppedTables(store)) {
      const { path, record } = content;
      if (!this.#parts.isHere(record)) continue;
      const name = `${canonicalPath(path)} (dropped, ${record.id})`;
      yield { name, path, cursor: 'dropped', record };
    }
  }

  /** @param from The least id, by its bytes. */
  async *#present(from: string): AsyncGenerator<Step> {
    const options = { delimiter: '/', after: '', chunk: 1000, opens: () => true };
    for await (const { id, path, value } of walkTables(this.#parts.store, options)) {
      if (compareBytewise(id, from) < 0) continue;
      const record = decodeTable(value);
      if (!this.#parts.isHere(record)) continue;
      const name = canonicalPath(path);
      yield { name, path, cursor: name, record };
    }
  }

  async #lost(sum: Sum, outlook: Outlook): Promise<void> {
    const isLeft = (writtenMillis: number) => outlook.isLeft(writtenMillis);
    for await (const lost of lostFolders(this.#parts, isLeft)) {
      const { bytes } = await removeLost(this.#parts, lost, true);
      sum.orphans.push({ table: null, file: lost.paths[0]!, bytes });
    }
  }
}

/** Totals of all tables. */
class Sum {
  readonly findings: Finding[] = [];
  readonly orphans: Leftover[] = [];
  readonly #deep: DeepCheck | undefined;
  /** Cursors of begun tables in their order, from the first one that is not done. */
  readonly #open: { readonly cursor: string; done: boolean }[] = [];
  /** The cursor of the last table that was taken from the list. */
  #last: string;
  #tables = 0;
  #versions = 0;
  #files = 0;
  #bytes = 0;

  constructor(deep: DeepCheck | undefined, from: TableCursor) {
    this.#deep = deep;
    this.#last = from === 'dropped' ? from : canonicalPath(from);
  }

  get isStopped(): boolean {
    return this.#deep?.isStopped === true;
  }

  /** @throws the reason of a deep check that was stopped. */
  async add(parts: RetentionParts, step: Step, outlook: Outlook): Promise<void> {
    const turn = { cursor: step.cursor, done: false };
    this.#open.push(turn);
    await this.#add(parts, step, outlook);
    turn.done = true;
    while (this.#open[0]?.done === true) this.#last = this.#open.shift()?.cursor ?? this.#last;
  }

  async #add(parts: RetentionParts, step: Step, outlook: Outlook): Promise<void> {
    this.#tables += 1;
    const findings: Finding[] = [];
    try {
      const report = await checkTable(parts, step, outlook);
      this.#versions += report.versions;
      this.#files += report.files;
      this.#bytes += report.bytes;
      for (const finding of report.findings) findings.push(finding);
      for (const orphan of report.orphans) this.orphans.push({ table: step.name, ...orphan });
      await this.#compare(step, findings);
    } catch (error) {
      if (this.isStopped) throw error;
      const fault = `the table cannot be looked at: ${findingOf(error)}`;
      findings.push({ kind: 'file', table: step.name, file: null, fault });
    }
    // Another process may have purged it after it was listed.
    if (findings.length > 0 && !(await isPurged(parts, step))) this.found(findings);
  }

  /** Compares the files of a table byte by byte; files with findings are not spoken of again. */
  async #compare(subject: Subject, findings: Finding[]): Promise<void> {
    const known = new Set(findings.map(({ file }) => file));
    for await (const { kind, file, error } of this.#deep?.unsound(subject) ?? []) {
      if (known.has(file)) continue;
      findings.push({ kind, table: subject.name, file, fault: findingOf(error) });
    }
  }

  /** Does work on the store; damage that ends it is a finding. */
  async around(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isStoreDamage(error)) throw error;
      this.found([storeFinding(`${what} cannot all be looked at: ${error.message}`)]);
    }
  }

  /** One by one: there may be more than a call takes arguments. */
  found(findings: readonly Finding[]): void {
    for (const finding of findings) this.findings.push(finding);
  }

  verified(changes: number | null): Verified {
    return {
      tables: this.#tables,
      versions: this.#versions,
      files: this.#files,
      bytes: this.#bytes,
      changes,
      findings: this.findings,
      orphans: this.orphans,
      deep: this.#deep === undefined ? null : { ...this.#deep.counts, next: this.#next() },
    };
  }

  #next(): string | null {
    return this.isStopped ? (this.#open[0]?.cursor ?? this.#last) : null;
  }
}

/** Whether a dropped table is being removed for good, or nothing is left of it. */
async function isPurged({ store }: RetentionParts, { path, record }: Step): Promise<boolean> {
  const { id } = record;
  if ((await store.get(purgedKey(id))) !== undefined) return true;
  const [table, dropped, head] = await store.getMany([
    tableKey(path),
    droppedKey(id),
    headKey(id, MAIN),
  ]);
  const isAtPath = table !== undefined && decodeTable(table).id === id;
  return !isAtPath && dropped === undefined && head === undefined;
}
