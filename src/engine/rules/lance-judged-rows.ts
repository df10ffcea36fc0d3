import { randomUUID } from 'node:crypto';
import { join, relative } from 'node:path';
import { Schema, type Field, type RecordBatch } from 'apache-arrow';
import { batchesIn } from '../../arrow/ipc/held-file.ts';
import { OverBudget, RequestBudget } from '../../protocol/budget.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { TableState } from '../../rules/commit-facts.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Statement } from '../base/statement.ts';
import { MAIN, MAIN_CHAIN } from '../format/chain.ts';
import type { VersionRecord } from '../format/records.ts';
import type { LanceManifest } from '../format/lance/lance-manifest.ts';
import { arrowFields } from '../format/lance/lance-schema.ts';
import { partialManifest } from '../format/lance/partial-manifest.ts';
import { versionFile } from '../format/lance/version-file.ts';
import type { VersionStore } from '../versions/lines/version-store.ts';
import type { LanceLibrary, LanceTableVersion } from '../versions/managed/lance-library.ts';
import { firstFaultOf, type JudgedRows } from './judged-rows.ts';

/** Bounds of what one rule may read of one commit of a Lance table. */
export interface JudgingLimits {
  /** Bytes of the values that are compared. */
  readonly bytes: number;
  /** Time in which the library works, in ms. */
  readonly millis: number;
}

/** The rows of a commit cannot be read within the limits. The message is a part of a sentence. */
export class JudgingLimit extends Error {}

/** A version of a Lance table that is judged; its manifest may only be staged. */
interface JudgedVersion {
  /** Id of the table. */
  readonly table: string;
  readonly path: ObjectPath;
  readonly location: string;
  readonly branch: string;
  readonly manifest: LanceManifest;
  /** Absolute path of the file with the manifest. */
  readonly file: string;
  /** Its fragments are those of the manifest, in its order. */
  readonly state: TableState;
  /** A version of main, through which a branch is read; the newest of the catalog if undefined. */
  readonly main?: VersionRecord | undefined;
}

interface ReadParts {
  readonly library: LanceLibrary;
  readonly storage: Storage;
  readonly versions: Pick<VersionStore, 'head'>;
  /** Folder for files that are there as long as rows are read; what a crash leaves is collected. */
  readonly folder: string;
  readonly limits: JudgingLimits;
}

/** Opens the rows of versions of Lance tables for rules, through the library. */
export class LanceRowReads {
  readonly #parts: ReadParts;

  constructor(parts: ReadParts) {
    this.#parts = parts;
  }

  /** The rows of a version; each rule has limits of its own. */
  open(version: JudgedVersion): (statement: Statement) => JudgedRows {
    return (statement) => new LanceJudgedRows(this.#parts, version, statement);
  }
}

/**
 * Rows that lie in the files of a Lance table. The library opens a manifest that names only the
 * fragments to be read, so that neither others are read nor the version is taken for committed.
 */
class LanceJudgedRows implements JudgedRows {
  readonly fields: readonly Field[];
  readonly statement: Statement;
  readonly #parts: ReadParts;
  readonly #version: JudgedVersion;
  readonly #budget: RequestBudget;
  #left: number;

  constructor(parts: ReadParts, version: JudgedVersion, statement: Statement) {
    const { limits, spent } = statement.budget;
    this.#parts = parts;
    this.#version = version;
    this.fields = new Schema([...arrowFields(version.manifest.fields)]).fields;
    this.statement = statement;
    this.#left = parts.limits.bytes;
    const time = Math.min(parts.limits.millis, limits.time - spent);
    this.#budget = new RequestBudget({ ...limits, time });
  }

  batches(keys: ReadonlySet<string>, columns: readonly string[]): AsyncGenerator<RecordBatch> {
    return this.#rows((key) => keys.has(key), columns);
  }

  others(keys: ReadonlySet<string>, columns: readonly string[]): AsyncGenerator<RecordBatch> {
    return this.#rows((key) => !keys.has(key), columns);
  }

  firstFault(
    _: string,
    keys: ReadonlySet<string>,
    columns: readonly string[],
    judge: (batch: RecordBatch) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    return firstFaultOf(this.batches(keys, columns), judge);
  }

  async close(): Promise<void> {
    this.statement.budget.add(this.#budget.spent);
  }

  async *#rows(
    isWanted: (key: string) => boolean,
    columns: readonly string[],
  ): AsyncGenerator<RecordBatch> {
    const { fragments } = this.#version.state;
    if (!fragments.some(({ key }) => isWanted(key))) return;
    const folder = join(this.#parts.folder, randomUUID());
    try {
      const place = await this.#place(folder, (at) => isWanted(fragments[at]?.key ?? ''));
      // A predicate without columns is judged once for each row.
      const names = columns.length > 0 ? columns : this.fields.slice(0, 1).map(({ name }) => name);
      yield* this.#scan(place, names);
    } finally {
      await this.#parts.storage.removeTree(folder, { retained: [] });
    }
  }

  async #place(folder: string, keeps: (at: number) => boolean): Promise<LanceTableVersion> {
    const { storage, versions } = this.#parts;
    const { table: id, path, location, branch, manifest, file } = this.#version;
    const name = join(folder, versionFile(manifest.version, 'V2'));
    await storage.folders?.make(folder);
    await storage.note(name, partialManifest(await storage.read(file, 'folders'), keeps));
    const at = { version: manifest.version, manifest: relative(location, name) };
    const newest = this.#version.main ?? (await versions.head(id, MAIN_CHAIN))?.content;
    const main = branch === MAIN ? at : newest;
    return { id, path, location, branch, at, main: main ?? at };
  }

  async *#scan(place: LanceTableVersion, columns: readonly string[]): AsyncGenerator<RecordBatch> {
    const statement = { ...this.statement, budget: this.#budget };
    try {
      for await (const file of await this.#parts.library.scan(place, columns, statement)) {
        this.#count(file.byteLength);
        yield* batchesIn(file);
      }
    } catch (error) {
      throw this.#isOwnTime(error) ? overTime(this.#parts.limits) : error;
    }
  }

  #count(bytes: number): void {
    this.#left -= bytes;
    if (this.#left >= 0) return;
    throw new JudgingLimit(
      `more than ${this.#parts.limits.bytes} bytes of the table would have to be read (lance.rules.bytes)`,
    );
  }

  #isOwnTime(error: unknown): boolean {
    const isTime = error instanceof OverBudget && error.key === 'time';
    return isTime && this.#parts.limits.millis <= this.#budget.limits.time;
  }
}

function overTime({ millis }: JudgingLimits): JudgingLimit {
  return new JudgingLimit(`reading the rows takes longer than ${millis} ms (lance.rules.time)`);
}
