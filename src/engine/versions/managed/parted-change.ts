import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath } from '../../../protocol/identifier.ts';
import type { Storage } from '../../../storage/storage.ts';
import { integerField, textField, type Fields } from '../../base/fields.ts';
import { tookNoEffect } from '../../catalog/records/commit-loop.ts';
import {
  addedFragments,
  extendedManifest,
  type AddedFragments,
} from '../../format/lance/extended-manifest.ts';
import type { LanceManifest } from '../../format/lance/lance-manifest.ts';
import { LanceManifestError } from '../../format/lance/lance-message.ts';
import { transactionMessage } from '../../format/lance/lance-transaction.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import { LANCE_TRANSACTIONS } from '../../format/lance/versions.ts';
import { filesOfFragment } from './lance-files.ts';
import type {
  LanceCounts,
  LanceLibrary,
  LancePlace,
  LanceRowsFile,
  LanceStatement,
  LanceTableChange,
  LanceTableVersion,
  LanceVersions,
} from './lance-library.ts';
import { pathIn, stagedPlace, storeKey } from './place.ts';

/** A change of a table by the library. */
interface LibraryChange {
  readonly place: LancePlace | LanceTableVersion;
  readonly change: LanceTableChange;
  readonly versions: LanceVersions;
  readonly statement: LanceStatement;
}

/**
 * Changes a table by the library, which takes the rows of a change as one file in its memory. Of rows in
 * several files the library writes the later ones first: each by a change of which the data files stay, and
 * whose commit is refused. The commit of the first file then names the data files of all.
 * @throws as `LanceLibrary.change` does
 */
export async function changeInParts(
  { storage, library }: { readonly storage: Storage; readonly library: LanceLibrary },
  { place, change, versions, statement }: LibraryChange,
  rows: LanceRowsFile | null,
): Promise<LanceCounts> {
  const later = rows?.later ?? [];
  if (later.length === 0) return library.change(place, change, rows, versions, statement);
  const loose = new LooseFragments(storage, place);
  try {
    const pinned = pinnedVersions(versions);
    for (const part of later) {
      await loose.note((noting) => library.change(place, change, part, noting, statement), pinned);
    }
    return await library.change(place, change, rows, loose.joined(versions), statement);
  } catch (error) {
    await loose.remove();
    throw error;
  }
}

/** The same versions, of which the newest ones stay those that were asked for first. */
function pinnedVersions(versions: LanceVersions): LanceVersions {
  const newest = new Map<string, Promise<object | undefined>>();
  return {
    ...versions,
    newest: async (branch) => {
      const known = newest.get(branch) ?? versions.newest(branch);
      newest.set(branch, known);
      return known;
    },
  };
}

/** Refuses the commit of a change whose data files were noted. */
class Noted extends CatalogError {
  constructor() {
    super('Internal', 'the files of the change are noted');
  }
}

/** A manifest that the library has staged, with its transaction. */
interface Staged {
  /** Absolute path. */
  readonly path: string;
  /** All bytes of the file. */
  readonly file: Buffer;
  readonly manifest: LanceManifest;
  readonly transaction: Uint8Array;
  readonly added: AddedFragments;
}

/** A manifest that was staged anew. */
interface Restaged {
  /** Fields of the request for its commit. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Absolute paths of what was written. */
  readonly files: readonly string[];
}

/** Fragments whose files the library has written, and that no version names. */
class LooseFragments {
  readonly #storage: Storage;
  readonly #place: LancePlace;
  /** Messages `DataFragment` without ids. */
  readonly #fragments: Uint8Array[] = [];
  /** Absolute paths of all files that the change wrote. */
  readonly #files: string[] = [];
  /** The fields of the table, encoded. */
  #fields: Buffer | undefined;
  /** Whether a version may name the files. */
  #isNamed = false;

  constructor(storage: Storage, place: LancePlace) {
    this.#storage = storage;
    this.#place = place;
  }

  /** Notes what a change writes. @param change Runs with versions that refuse its commit. */
  async note(
    change: (versions: LanceVersions) => Promise<unknown>,
    versions: LanceVersions,
  ): Promise<void> {
    const noted = new Noted();
    const create: LanceVersions['create'] = async (branch, body) => {
      await this.#add(await this.#staged(branch, body));
      throw noted;
    };
    try {
      await change({ ...versions, create });
    } catch (error) {
      if (error === noted) return;
      throw error;
    }
    throw new CatalogError('Internal', 'the Lance library ended the change without a commit');
  }

  /** The same versions, to which each commit adds the fragments behind its own. */
  joined(versions: LanceVersions): LanceVersions {
    const create: LanceVersions['create'] = async (branch, body) => {
      const next = await this.#restaged(await this.#staged(branch, body));
      this.#isNamed = true;
      try {
        const made = await versions.create(branch, { ...body, ...next.fields });
        if (made === undefined) await this.#forget(next);
        return made;
      } catch (error) {
        if (tookNoEffect(error)) await this.#forget(next);
        throw error;
      }
    };
    return { ...versions, create, isRewritten: true };
  }

  /** Removes the files, unless a version may name them. */
  async remove(): Promise<void> {
    if (this.#isNamed) return;
    for (const file of this.#files) await this.#storage.discard(file);
  }

  async #add(staged: Staged): Promise<void> {
    const { added } = staged;
    this.#files.push(...filesOf(staged));
    await this.#discard(staged);
    if (added.hasRowIds) throw stableRowIds(this.#place);
    await this.#requireFields(staged);
    this.#fragments.push(...added.fragments);
  }

  /** Stages a manifest anew, with the fragments. */
  async #restaged(staged: Staged): Promise<Restaged> {
    const { path, file, manifest, transaction } = staged;
    this.#files.push(...filesOf(staged));
    await this.#requireFields(staged);
    const id = randomUUID();
    const { transactionFile } = manifest;
    const name = `${transactionFile?.split('-', 1)[0]}-${id}.txn`;
    const whole = extendedManifest(file, transaction, this.#fragments, name);
    const next = path.replace(/-[^/]*$/, `-${id}`);
    const log = join(lineOf(path), LANCE_TRANSACTIONS, name);
    if (transactionFile !== null) await this.#storage.write(log, whole.transaction, 'folders');
    await this.#storage.write(next, whole.file, 'folders');
    await this.#discard(staged);
    const { location } = this.#place;
    const manifest_path = storeKey(location, next.slice(location.length + 1));
    const fields = { manifest_path, manifest_size: whole.file.byteLength, e_tag: null };
    return { fields, files: [next, log] };
  }

  /** No version names the fragments. */
  async #forget({ files }: Restaged): Promise<void> {
    this.#isNamed = false;
    for (const file of files) await this.#storage.discard(file);
  }

  /** @throws CatalogError ConcurrentModification where they are not those of the first part. */
  async #requireFields(staged: Staged): Promise<void> {
    const { fields } = staged.added;
    this.#fields ??= fields;
    if (this.#fields.equals(fields)) return;
    await this.#discard(staged);
    throw new CatalogError(
      'ConcurrentModification',
      `the columns of table ${canonicalPath(this.#place.path)} were changed while rows were written to it: repeat the request`,
    );
  }

  async #staged(branch: string, body: Readonly<Record<string, unknown>>): Promise<Staged> {
    const fields = body as Fields;
    const { location } = this.#place;
    const { staging } = stagedPlace(location, {
      branch,
      version: integerField(fields, 'version') ?? 0n,
      manifestPath: textField(fields, 'manifest_path') ?? '',
      namingScheme: textField(fields, 'naming_scheme'),
    });
    const path = pathIn(location, staging);
    try {
      const { manifest } = await readManifestFile(this.#storage, path);
      const file = await this.#storage.read(path, 'folders');
      const transaction = await transactionMessage(this.#storage, path, manifest);
      if (transaction === null) throw new LanceManifestError('it records no transaction');
      return { path, file, manifest, transaction, added: addedFragments(file, transaction) };
    } catch (error) {
      throw error instanceof LanceManifestError ? unknownManifest(this.#place, error) : error;
    }
  }

  async #discard({ path, manifest: { transactionFile } }: Staged): Promise<void> {
    await this.#storage.discard(path);
    if (transactionFile === null) return;
    await this.#storage.discard(join(lineOf(path), LANCE_TRANSACTIONS, transactionFile));
  }
}

/** Absolute paths of the files that a manifest adds: its last fragments are new. */
function filesOf({ path, manifest: { fragments }, added }: Staged): readonly string[] {
  const fresh = fragments.slice(fragments.length - added.fragments.length);
  return fresh.flatMap((one) => filesOfFragment(lineOf(path), one)).map(({ file }) => file);
}

/** The folder of the line whose manifest lies at a path. */
function lineOf(path: string): string {
  return dirname(dirname(path));
}

function stableRowIds({ path }: LancePlace): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `table ${canonicalPath(path)} has stable row ids, and the Lance library takes the rows of one request for it as a whole: send at most an eighth of lance.memory at once`,
  );
}

function unknownManifest({ path }: LancePlace, { message }: Error): CatalogError {
  return new CatalogError(
    'Internal',
    `the Lance library staged a manifest for table ${canonicalPath(path)} that is not known here: ${message}. Send the rows in parts of at most an eighth of lance.memory, and report this with the version of the library`,
  );
}
