import { randomUUID } from 'node:crypto';
import type { RecordBatch, Schema } from 'apache-arrow';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import type { Check, Store } from '../../../store/store.ts';
import { Flushes } from '../../../storage/flushes.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { TableState } from '../../../rules/commit-facts.ts';
import { rowCountOf, sameColumns } from '../../../rules/table-change.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { ownStatement } from '../../base/statement.ts';
import { tookNoEffect, type Committer } from '../../catalog/records/commit-loop.ts';
import { MAIN, MAIN_CHAIN } from '../../format/chain.ts';
import { checkColumns } from '../../format/incoming.ts';
import { lanceFolders } from '../../format/lance/lance-folders.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import type { Snapshot } from '../../format/snapshot.ts';
import type { FragmentReader } from '../../query/scan/fragment-reader.ts';
import type { JudgeConversion } from '../../rules/conversion-judge.ts';
import { engineState } from '../../rules/engine-state.ts';
import { lanceState } from '../../rules/lance-state.ts';
import { Branches } from '../../versions/lines/branches.ts';
import { makeLocation, managedFolder, reserveLocation } from '../../versions/lines/locations.ts';
import { Tags } from '../../versions/lines/tags.ts';
import { headCheck, VersionStore } from '../../versions/lines/version-store.ts';
import { backFill } from '../../versions/managed/back-fill.ts';
import { LanceTagFolder } from '../../versions/managed/lance-refs.ts';
import { markOf } from '../../versions/managed/creation-mark.ts';
import type { LanceLibrary } from '../../versions/managed/lance-library.ts';
import { OwnFiles } from '../../versions/managed/lance-files.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import { withExternalWrites } from '../../versions/managed/external-versions.ts';
import type { TableFormat } from '../../versions/table-format.ts';
import type { Tables } from '../../versions/tables.ts';
import { indexOfJob, type JobSpec } from '../jobs/transaction.ts';
import { Transactions } from '../jobs/transactions.ts';
import {
  describedIndices,
  indicesToArrow,
  indicesToLance,
  jobCommit,
  type ConvertedIndices,
} from './converted-indices.ts';
import { writeLanceFolder } from './lance-folder.ts';
import { lanceRows } from './lance-rows.ts';

/** A conversion that is asked for. */
export interface ConversionOptions {
  readonly path: ObjectPath;
  readonly to: TableFormat;
  readonly judge: JudgeConversion;
  readonly signal: AbortSignal;
}

/** A table that has another format now. */
export interface Converted {
  readonly id: string;
  /** Id under which the table as it was can be brought back. */
  readonly before: string;
  readonly version: bigint;
  readonly rows: bigint;
  /** Names of tags that did not come along. */
  readonly tags: readonly string[];
  /** Names of indices that are built again by jobs. */
  readonly building: readonly string[];
  /** Names of indices that the format has not, with the reason as a part of a sentence. */
  readonly indices: ReadonlyMap<string, string>;
}

export interface ConversionParts {
  readonly storage: Storage;
  readonly store: Store;
  readonly committer: Committer;
  readonly catalog: Catalog;
  readonly tables: Tables;
  readonly reader: FragmentReader;
  /** The folder in which Lance tables are made. */
  readonly managed: string;
  /** Folders of the gateway itself: absolute. */
  readonly retained: readonly string[];
  /** Reads and writes Lance tables; absent with a reason if there is none. */
  readonly library: LanceLibrary | string;
}

/** How often a conversion begins again because the table was changed meanwhile. */
const ATTEMPTS = 3;

/**
 * Makes a table of the other format with the rows and columns that a table has now, in place of
 * it, while others read and write it. The table as it was counts as dropped: it can be brought back
 * under another name, and its files stay as long as those of dropped tables.
 * @throws CatalogError InvalidTableState, Unsupported, TableSchemaValidationError, RuleRefusal;
 * ConcurrentModification when the table is changed each time. Nothing has changed then.
 */
export async function convertTable(
  parts: ConversionParts,
  options: ConversionOptions,
): Promise<Converted> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await new Conversion(parts, options, await sourceOf(parts, options)).run();
    } catch (error) {
      const isOvertaken =
        error instanceof CatalogError && error.row.name === 'ConcurrentModification';
      if (!isOvertaken) throw error;
      if (attempt === ATTEMPTS) throw busy(options.path);
    }
  }
}

/** A table that is to be converted, at its newest version. */
interface Source {
  readonly table: Stored<TableRecord>;
  readonly head: Stored<VersionRecord>;
  readonly tags: readonly string[];
  /** They hold as long as nothing of the table has changed. */
  readonly checks: readonly Check[];
}

async function sourceOf(
  { storage, store, committer, catalog, tables }: ConversionParts,
  { path, to }: ConversionOptions,
): Promise<Source> {
  const table = await catalog.requireTable(path);
  const { id, kind } = table.content;
  const name = canonicalPath(path);
  if (kind === 'declared') throw refusal(`table ${name} is declared and has no data`);
  if ((kind === 'lance') === (to === 'lance')) {
    throw refusal(`table ${name} has the format ${to} already`);
  }
  const branches = await new Branches(store, committer).all(id);
  if (branches.branches.length > 0) {
    const names = branches.branches.map((branch) => JSON.stringify(branch.name)).join(', ');
    throw refusal(
      `table ${name} has branches, which a conversion does not keep: delete ${names} first`,
    );
  }
  const folder = new LanceTagFolder(storage, undefined);
  const tags = await new Tags(store, committer, folder).all(table.content);
  const head = await tables.version(table.content, undefined, MAIN_CHAIN);
  const checks = [headCheck(id, head, MAIN), ...branches.checks, ...tags.checks];
  return { table, head, tags: tags.tags.map((tag) => tag.name), checks };
}

class Conversion {
  readonly #parts: ConversionParts;
  readonly #options: ConversionOptions;
  readonly #source: Source;
  readonly #library: LanceLibrary;

  constructor(parts: ConversionParts, options: ConversionOptions, source: Source) {
    const { library } = parts;
    if (typeof library === 'string') {
      const name = canonicalPath(options.path);
      throw new CatalogError(
        'Unsupported',
        `table ${name} is converted by the Lance library: ${library}`,
      );
    }
    this.#parts = parts;
    this.#options = options;
    this.#source = source;
    this.#library = library;
  }

  run(): Promise<Converted> {
    return this.#options.to === 'lance' ? this.#toLance() : this.#toArrow();
  }

  async #toLance(): Promise<Converted> {
    const { storage, tables, retained } = this.#parts;
    const { head, table: source } = this.#source;
    const snapshot = await tables.snapshot(source.content, head.content.version, MAIN_CHAIN);
    const id = randomUUID();
    const location = await managedFolder(this.#parts, id);
    const mark = markOf(tables.folder({ id, location: null }));
    await storage.folders?.make(mark);
    try {
      const rows = await this.#lanceFrom(snapshot, id, location);
      const indices = indicesToLance(snapshot, await this.#openJobs());
      const done = await this.#asLance({ id, location, rows, indices });
      await storage.folders?.removeIfEmpty(mark);
      return done;
    } catch (error) {
      // With the mark, the garbage collector finds what is left.
      if (!tookNoEffect(error)) throw error;
      await storage.removeTree(location, { retained });
      await storage.folders?.removeIfEmpty(mark);
      throw error;
    }
  }

  /** Writes the rows of a version of the engine as a Lance table. Returns their number. */
  async #lanceFrom(snapshot: Snapshot, id: string, location: string): Promise<bigint> {
    const { storage } = this.#parts;
    const { path, signal } = this.#options;
    await makeLocation(location, { storage });
    const manifest = await writeLanceFolder(
      { storage, library: this.#library },
      { id, path, location },
      snapshot.schema,
      this.#rowsOf(snapshot),
      signal,
    );
    const { state } = await readState(storage, manifest);
    return this.#requireSame(engineState(snapshot), state);
  }

  async *#rowsOf(snapshot: Snapshot): AsyncGenerator<RecordBatch> {
    const names = snapshot.schema.fields.map(({ name }) => name);
    for (const fragment of snapshot.fragments) {
      for await (const { batch, release } of this.#parts.reader.batches(
        snapshot,
        fragment,
        names,
      )) {
        this.#options.signal.throwIfAborted();
        yield batch;
        release?.();
      }
    }
  }

  async #asLance(made: {
    readonly id: string;
    readonly location: string;
    readonly rows: bigint;
    readonly indices: ConvertedIndices;
  }): Promise<Converted> {
    const { storage, store, committer, catalog } = this.#parts;
    const { id, location, rows, indices } = made;
    const versions = new VersionStore(store);
    const branches = new Branches(store, committer);
    const found = await backFill({ storage, store, versions, branches }, id, location);
    const { path } = this.#options;
    const given = this.#source.table.content.properties;
    const properties = await withExternalWrites(catalog, path, given);
    const record = { id, kind: 'lance', location, properties, createdMillis: Date.now() } as const;
    const table = catalog.local.claimed(record);
    const place = reserveLocation(location, id);
    await this.#judge(location);
    const jobs = jobCommit({ id, path: this.#options.path }, indices);
    await catalog.createTableCommit(
      path,
      table,
      [...this.#source.checks, ...found.checks, ...place.checks, ...jobs.checks],
      [...found.writes, ...place.writes, ...jobs.writes],
      this.#source.table,
    );
    const version = found.lines[0]?.found.at(-1)?.version ?? 0n;
    return this.#converted({ id, version, rows }, indices);
  }

  async #toArrow(): Promise<Converted> {
    const { storage } = this.#parts;
    const { head, table: source } = this.#source;
    const location = locationOf(source.content);
    const { path, signal } = this.#options;
    const { id, properties } = source.content;
    const at = head.content;
    const place = { id, path, location, branch: MAIN, at, main: at };
    await new OwnFiles(storage).require(place);
    const { schema, batches } = await lanceRows(this.#library, place, storage, signal);
    checkColumns(schema);
    const table = this.#parts.catalog.local.claimed({
      id: randomUUID(),
      kind: 'engine',
      location: null,
      properties,
      createdMillis: Date.now(),
      expires: true,
    });
    const { state, names } = await readState(storage, `${location}/${at.manifest}`);
    const statement = { ...ownStatement(), signal: () => signal };
    const described = await describedIndices(this.#library, place, names, statement);
    const indices = async () => indicesToArrow(described, schema, await this.#openJobs());
    return this.#write(table, { schema, batches, indices }, state);
  }

  async #write(
    table: TableRecord,
    { schema, batches, indices: indicesOf }: NewContents,
    state: TableState,
  ): Promise<Converted> {
    const { tables, catalog } = this.#parts;
    const { checks: unchanged, table: source } = this.#source;
    const { path } = this.#options;
    let rows = 0n;
    const flushes = new Flushes();
    const files = await tables.begin(table, schema, batches, flushes);
    const indices = await indicesOf();
    const jobs = jobCommit({ id: table.id, path }, indices);
    await tables.first(
      table,
      schema,
      files,
      async (checks, writes, { manifest }) => {
        rows = this.#requireSame(state, engineState(manifest));
        await this.#judge(tables.folder(table));
        await catalog.createTableCommit(
          path,
          table,
          [...unchanged, ...checks, ...jobs.checks],
          [...writes, ...jobs.writes],
          source,
        );
      },
      flushes,
    );
    return this.#converted({ id: table.id, version: 1n, rows }, indices);
  }

  /** Work on the table that has not ended. */
  #openJobs(): Promise<readonly JobSpec[]> {
    const { store, committer } = this.#parts;
    return new Transactions(store, committer).openJobs(this.#source.table.content.id);
  }

  /** Requires that nothing was lost on the way. Returns the number of rows. */
  #requireSame(before: TableState, after: TableState): bigint {
    const name = canonicalPath(this.#options.path);
    if (!sameColumns(before.columns, after.columns)) {
      const column = before.columns.find((one, at) => {
        const other = after.columns[at];
        return other === undefined || !sameColumns([one], [other]);
      });
      throw new CatalogError(
        'TableSchemaValidationError',
        `the column ${JSON.stringify(column?.name ?? '')} of table ${name} would have another type in the format ${this.#options.to}: change its type first`,
      );
    }
    const [rows, others] = [before, after].map(rowCountOf);
    if (rows === others) return rows!;
    throw new CatalogError(
      'Internal',
      `table ${name} has ${rows} rows, and ${others} were written: nothing is changed`,
    );
  }

  #judge(location: string): Promise<void> {
    const { path, judge } = this.#options;
    return judge({ path, location, tags: this.#source.tags });
  }

  #converted(
    made: Pick<Converted, 'id' | 'version' | 'rows'>,
    { jobs, lost }: ConvertedIndices,
  ): Converted {
    const { table, tags } = this.#source;
    const building = jobs.flatMap((job) => indexOfJob(job)?.name ?? []);
    return { ...made, before: table.content.id, tags, building, indices: lost };
  }
}

/** What a table of the engine gets. */
interface NewContents {
  readonly schema: Schema;
  readonly batches: AsyncIterable<RecordBatch>;
  /** Called when the rows are written. */
  readonly indices: () => Promise<ConvertedIndices>;
}

/** What a version of a Lance table has, and the names of its indices. */
async function readState(
  storage: Storage,
  file: string,
): Promise<{ readonly state: TableState; readonly names: readonly string[] }> {
  const { manifest, segments } = await readManifestFile(storage, file);
  const state = lanceState(manifest, await lanceFolders(storage, file, manifest));
  return { state, names: [...new Set(segments.map(({ name }) => name))] };
}

function refusal(message: string): CatalogError {
  return new CatalogError('InvalidTableState', message);
}

function busy(path: ObjectPath): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `table ${canonicalPath(path)} was changed during ${ATTEMPTS} conversions: convert it while it is not written`,
  );
}
