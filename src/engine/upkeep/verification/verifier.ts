import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import { tableNotFound } from '../../catalog/records/refusals.ts';
import { decodeTable } from '../../catalog/records/records-codec.ts';
import { droppedTables } from '../../catalog/table-undrop.ts';
import { walkTables } from '../../catalog/records/table-walk.ts';
import { severalAtOnce } from '../retention/entries.ts';
import type { Outlook } from '../../versions/leases/horizon.ts';
import { lostFolders, removeLost } from '../retention/orphans.ts';
import type { RetentionParts } from '../retention/parts.ts';
import { findingOf, type Finding } from './finding.ts';
import { checkJournal } from './journal-check.ts';
import { checkTable, type Subject } from './table-check.ts';

export interface VerifyOptions {
  /** The only table to look at; everything when absent. */
  readonly table?: ObjectPath;
  /** Told of what is being looked at. */
  readonly progress?: (doing: string) => void;
}

/** Something on disk that no version and no table names. */
export interface Leftover {
  /** Canonical path of the table in whose folder it lies; null for a folder of no table. */
  readonly table: string | null;
  /** Path in the table's folder, or the folder's own. */
  readonly file: string;
  readonly bytes: number;
}

/** What was looked at, and what was found. */
export interface Verified {
  readonly tables: number;
  readonly versions: number;
  readonly files: number;
  readonly bytes: number;
  /** Changes in the journal; null when it was not looked at. */
  readonly changes: number | null;
  readonly findings: readonly Finding[];
  /** What the next collection removes once it is old: no fault. */
  readonly orphans: readonly Leftover[];
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

  async #verify({ table, progress }: VerifyOptions): Promise<Verified> {
    const outlook = await this.#parts.horizon.look();
    const sum = new Sum();
    const subjects = table === undefined ? this.#all() : [await this.#one(table)];
    await severalAtOnce(subjects, AT_ONCE, async (subject) => {
      progress?.(`looking at ${subject.name}`);
      await sum.add(this.#parts, subject, outlook);
    });
    if (table !== undefined) return sum.verified(null);
    await this.#lost(sum, outlook);
    progress?.('looking at the journal');
    const { changes, findings } = await checkJournal(
      this.#parts.storage,
      this.#parts.journal,
      this.#parts.store,
    );
    sum.found(findings);
    return sum.verified(changes);
  }

  async #one(path: ObjectPath): Promise<Subject> {
    const table = await this.#parts.reader.table(path);
    if (table === undefined) throw tableNotFound(path);
    return { name: canonicalPath(path), record: table.content };
  }

  /** All tables, then those that were dropped and can be brought back. */
  async *#all(): AsyncGenerator<Subject> {
    const { store } = this.#parts;
    const options = { delimiter: '/', after: '', chunk: 1000, opens: () => true };
    for await (const { path, value } of walkTables(store, options)) {
      yield { name: canonicalPath(path), record: decodeTable(value) };
    }
    for await (const { content } of droppedTables(store)) {
      const { path, record } = content;
      yield { name: `${canonicalPath(path)} (dropped, ${record.id})`, record };
    }
  }

  async #lost(sum: Sum, outlook: Outlook): Promise<void> {
    const isLeft = (writtenMillis: number) => outlook.isLeft(writtenMillis);
    for await (const lost of lostFolders(this.#parts, isLeft)) {
      const { bytes } = await removeLost(this.#parts, lost, true);
      sum.orphans.push({ table: null, file: lost.path, bytes });
    }
  }
}

/** What the tables come to together. */
class Sum {
  readonly findings: Finding[] = [];
  readonly orphans: Leftover[] = [];
  #tables = 0;
  #versions = 0;
  #files = 0;
  #bytes = 0;

  async add(parts: RetentionParts, subject: Subject, outlook: Outlook): Promise<void> {
    this.#tables += 1;
    const { name } = subject;
    try {
      const report = await checkTable(parts, subject, outlook);
      this.#versions += report.versions;
      this.#files += report.files;
      this.#bytes += report.bytes;
      this.found(report.findings);
      for (const orphan of report.orphans) this.orphans.push({ table: name, ...orphan });
    } catch (error) {
      const fault = `the table cannot be looked at: ${findingOf(error)}`;
      this.findings.push({ kind: 'file', table: name, file: null, fault });
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
    };
  }
}
