import type { StoredFile } from '../../../arrow/sealed/file-seal.ts';
import { readDeletions } from '../../format/deletion-file.ts';
import { OpenFiles } from '../../format/memory/open-files.ts';
import { ColumnCache } from '../../format/memory/column-cache.ts';
import { MemoryBudget } from '../../format/memory/memory-budget.ts';
import {
  storedIn,
  type DataFile,
  type Fragment,
  type IndexDefinition,
  type TableFolder,
} from '../../format/snapshot.ts';
import { TextReader } from '../../index/text/text-reader.ts';
import { unlessMissing } from '../../../storage/storage-error.ts';
import { checkCodes, holdsCodes } from '../../index/vectors/code-file.ts';
import { findingOf } from './finding.ts';

/** Facts of a file that manifests state; a text is the reason why they are unknown. */
type Facts<Known> = Known | string;

interface DataFacts {
  readonly bytes: number;
  readonly rows: number;
  readonly columns: number;
}

interface DeletionFacts {
  readonly rows: number;
  /** The greatest; -1 when there is none. */
  readonly last: number;
  readonly ascending: boolean;
}

/** A file as a manifest names it. */
type NamedFile = Pick<DataFile, 'path' | 'seal'>;

/** A fault of a file, in words that continue after its name. */
export interface FileFault {
  readonly file: string;
  readonly fault: string;
}

/** Compares the files of one table's folder with what manifests say of them. Each is read once. */
export class FileCheck {
  readonly #table: TableFolder;
  readonly #open: OpenFiles;
  readonly #data = new Map<string, Promise<Facts<DataFacts>>>();
  readonly #deletions = new Map<string, Promise<Facts<DeletionFacts>>>();
  #bytes = 0;

  constructor(table: TableFolder) {
    this.#table = table;
    this.#open = new OpenFiles(table.storage);
  }

  /** How many files were looked at. */
  get files(): number {
    return this.#data.size + this.#deletions.size;
  }

  /** Total size of the data files in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Faults of the files of a fragment. @param indices Those of the version, whose checksums are compared. */
  async faultsOf(
    fragment: Fragment,
    indices: readonly IndexDefinition[] = [],
  ): Promise<readonly FileFault[]> {
    const faults: FileFault[] = [];
    for (const [position, file] of fragment.files.entries()) {
      const ids = fragment.storedRowIds && position === 0 ? 1 : 0;
      const facts = await this.#dataFacts(file);
      for (const fault of dataFaults(facts, file, fragment.physicalRows, ids)) {
        faults.push({ file: file.path, fault });
      }
    }
    for (const index of fragment.indices ?? []) {
      const isText = indices.some(({ uuid, type }) => uuid === index.index && type === 'FTS');
      const facts = await this.#dataFacts(index, isText);
      const damage = typeof facts === 'string' ? undefined : await this.#codeDamage(index);
      if (damage !== undefined) faults.push({ file: index.path, fault: damage });
      const wrong =
        typeof facts === 'string' ? [facts] : differs('bytes', facts.bytes, index.bytes);
      for (const fault of wrong) faults.push({ file: index.path, fault });
    }
    const { deletions, deletionsSeal } = fragment;
    if (deletions !== null) {
      const facts = await this.#deletionFacts({ path: deletions, seal: deletionsSeal });
      for (const fault of deletionFaults(facts, fragment)) faults.push({ file: deletions, fault });
    }
    return faults;
  }

  async close(): Promise<void> {
    await this.#open.close();
  }

  #dataFacts(file: NamedFile, isText = false): Promise<Facts<DataFacts>> {
    const { path } = file;
    const stored = storedIn(this.#table.folder, file);
    const cached = this.#data.get(path) ?? this.#readData(stored, isText);
    this.#data.set(path, cached);
    return cached;
  }

  async #readData(stored: StoredFile, isText: boolean): Promise<Facts<DataFacts>> {
    const stats = await this.#table.storage.stat(stored.path);
    if (stats === undefined) return 'is missing';
    try {
      const facts = await this.#open.use(stored, ({ file, size }) =>
        Promise.resolve({ bytes: size, rows: file.rows, columns: file.schema.fields.length }),
      );
      if (isText)
        await new TextReader(this.#open, new ColumnCache(new MemoryBudget(0))).check(stored);
      this.#bytes += facts.bytes;
      return facts;
    } catch (error) {
      return `cannot be read: ${findingOf(error)}`;
    }
  }

  /** Code files have checksums that only this check reads. */
  async #codeDamage(file: NamedFile): Promise<string | undefined> {
    try {
      await this.#open.use(storedIn(this.#table.folder, file), async (opened) =>
        holdsCodes(opened) ? checkCodes(opened) : undefined,
      );
      return undefined;
    } catch (error) {
      return `cannot be used: ${findingOf(error)}`;
    }
  }

  #deletionFacts(file: NamedFile): Promise<Facts<DeletionFacts>> {
    const cached = this.#deletions.get(file.path) ?? this.#readDeletions(file);
    this.#deletions.set(file.path, cached);
    return cached;
  }

  async #readDeletions(file: NamedFile): Promise<Facts<DeletionFacts>> {
    const { storage, folder } = this.#table;
    try {
      const rows = await unlessMissing(readDeletions(storage, storedIn(folder, file)));
      if (rows === undefined) return 'is missing';
      const ascending = rows.every((row, at) => at === 0 || row > rows[at - 1]!);
      return { rows: rows.length, last: rows.at(-1) ?? -1, ascending };
    } catch (error) {
      return `cannot be read: ${findingOf(error)}`;
    }
  }
}

function dataFaults(
  facts: Facts<DataFacts>,
  file: DataFile,
  rows: number,
  ids: number,
): readonly string[] {
  if (typeof facts === 'string') return [facts];
  const columns = file.fields.length + ids;
  return [
    ...differs('bytes', facts.bytes, file.bytes),
    ...differs('rows', facts.rows, rows),
    ...(facts.columns < columns ? differs('columns', facts.columns, columns) : []),
  ];
}

function deletionFaults(facts: Facts<DeletionFacts>, fragment: Fragment): readonly string[] {
  if (typeof facts === 'string') return [facts];
  const { physicalRows, rows } = fragment;
  return [
    ...differs('deleted rows', facts.rows, physicalRows - rows),
    ...(facts.ascending ? [] : ['does not list its rows in order']),
    ...(facts.last < physicalRows ? [] : [`deletes row ${facts.last} of ${physicalRows} rows`]),
  ];
}

function differs(what: string, found: number, said: number): readonly string[] {
  return found === said ? [] : [`has ${found} ${what}, but the manifest says ${said}`];
}
