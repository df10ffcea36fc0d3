import { join } from 'node:path';
import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { Action } from '../../../protocol/operations/operation.ts';
import { stringifyJson } from '../../../protocol/json.ts';
import { encodeTable } from '../../catalog/records/records-codec.ts';
import type { Write } from '../../../store/store.ts';
import { Flushes } from '../../../storage/flushes.ts';
import type { Storage } from '../../../storage/storage.ts';
import { itemAt } from '../../base/items.ts';
import type { Fields } from '../../base/fields.ts';
import { statementOf } from '../../base/statement.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import type { LanceManifest } from '../../format/lance/lance-manifest.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import type { CommitSummary } from '../../../protocol/commit-summary.ts';
import { filesOfFragment } from '../../versions/managed/lance-files.ts';
import type {
  LanceRowChange,
  LanceCounts,
  LanceLibrary,
  LanceVersions,
} from '../../versions/managed/lance-library.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import type { Gates, JudgeStaged } from '../../versions/managed/staged-manifest.ts';
import type { PlannedVersion } from '../../versions/managed/version-creation.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call } from '../call/handler.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import { branchParameter } from '../call/parameters.ts';
import { committedVersions, gatesOf, versionRequest, waiting } from '../versions/create-version.ts';
import { versionEntry } from '../versions/table-versions.ts';
import { libraryTable, type LanceAccess } from './library-reads.ts';

/** Parts of the changes of Lance tables. */
export interface LibraryChanges extends ManagedParts {
  readonly library: LanceLibrary;
  readonly lance?: LanceAccess | undefined;
}

/** A change of rows and how it is answered. */
export interface RowChange {
  readonly change: LanceRowChange;
  /** The rows of the change as an Arrow file; null if it has none. */
  readonly rows: Uint8Array | null;
  /** Called before each commit. @throws CatalogError for a change that is given up. */
  readonly check?: () => void;
  /** Actions that the change counts as beside those of its manifest. */
  readonly classes?: ReadonlySet<Action>;
  /** Properties of the table from then on; its own unless given. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
  /** The body of the answer beside the version. */
  readonly body: (summary: CommitSummary, counts: LanceCounts) => object;
}

/**
 * Changes the rows of a Lance table: the library writes the files and stages a manifest, and the
 * catalog commits it as it commits those of Lance clients, as a part of this request.
 * @throws CatalogError as a commit of a Lance client is refused, and as the library refuses.
 */
export async function changeLanceTable(
  parts: LibraryChanges,
  call: Call,
  table: Stored<TableRecord>,
  { change, rows, body, check, classes, properties }: RowChange,
): Promise<Answer> {
  const branch = branchParameter(call);
  const place = await libraryTable(parts, call, table, {});
  let made: PlannedVersion | undefined;
  const answer = ({ record, summary }: PlannedVersion, counts: LanceCounts): Answer =>
    jsonAnswer(
      call,
      { version: record.version, ...body(summary, counts) },
      { commit: { ...summary, kind: change.kind } },
    );
  const seal = call.once.seal((all: readonly PlannedVersion[]) => answer(itemAt(all, 0), {}));
  const gates = durableGates(call, branch, change, classes);
  const more = properties === undefined ? undefined : () => [withProperties(table, properties)];
  const versions: LanceVersions = {
    newest: (name) => entryOf(parts, table.content, name),
    at: (name, version) => entryOf(parts, table.content, name, BigInt(Number(version))),
    create: async (name, fields) => {
      check?.();
      if (name !== branch) throw new CatalogError('InvalidInput', `the change is one of ${branch}`);
      const request = versionRequest(call.request.object, fields as Fields, branch);
      const by = waiting(parts, call);
      const planned = committedVersions(by, [request], seal, gates, more);
      made = (await planned.catch(unlessOvertaken))?.[0];
      return made && versionText(made);
    },
  };
  const counts = await parts.library.change(place, change, rows, versions, statementOf(call));
  if (made !== undefined) return answer(made, counts);
  throw new CatalogError('Internal', 'the Lance library ended the change without a commit');
}

/** Another version is the next one: the library changes it instead. */
function unlessOvertaken(error: unknown): undefined {
  if (error instanceof CatalogError && error.row.name === 'ConcurrentModification')
    return undefined;
  throw error;
}

async function entryOf(
  { tables }: LibraryChanges,
  table: TableRecord,
  branch: string,
  version?: bigint,
): Promise<object> {
  const chain = await tables.chain(table, branch);
  return numbersOf(versionEntry(table, (await tables.version(table, version, chain)).content));
}

function withProperties(
  { key, content }: Stored<TableRecord>,
  properties: Readonly<Record<string, string>>,
): Write {
  return { key, value: encodeTable({ ...content, properties }) };
}

/** A committed version as the library reads it. */
export function versionText({ table, record }: PlannedVersion): object {
  return numbersOf(versionEntry(table, record));
}

/** A value with numbers in place of integers of any size. */
function numbersOf(value: object): object {
  return JSON.parse(stringifyJson(value)) as object;
}

/** Gates of a commit whose files the gateway itself acknowledges: they are on stable storage before it. */
export function durableGates(
  call: Call,
  branch: string,
  change: LanceRowChange,
  classes?: ReadonlySet<Action>,
): Gates {
  const { judge, ...gates } = gatesOf(call, classes);
  const judgeDurable: JudgeStaged = async (staged) => {
    const { storage, table, base, manifest } = staged;
    const location = locationOf(table);
    const before = base && (await manifestOf(storage, location, base));
    const replaces = change.kind === 'overwrite' && classes?.has('drop') !== true;
    if (replaces && before !== undefined && !hasFieldsOf(manifest, before)) {
      call.permit.require('schema', call.request.object, branch);
    }
    await judge?.(staged);
    await flushFiles(storage, staged.file, manifest, before);
  };
  return { ...gates, judge: judgeDurable };
}

async function manifestOf(
  storage: Storage,
  location: string,
  { manifest }: VersionRecord,
): Promise<LanceManifest> {
  return (await readManifestFile(storage, join(location, manifest))).manifest;
}

function hasFieldsOf(one: LanceManifest, other: LanceManifest): boolean {
  const [left, right] = [one, other].map(({ fields }) =>
    JSON.stringify(fields.map(({ name, type, nullable }) => [name, type, nullable])),
  );
  return left === right;
}

/** Puts the files that a version has and the one before has not on stable storage, with their names. */
async function flushFiles(
  storage: Storage,
  file: string,
  { fragments }: LanceManifest,
  before: LanceManifest | undefined,
): Promise<void> {
  const line = join(file, '..', '..');
  const old = new Set(before?.fragments.flatMap((each) => filesOfFragment(line, each)).map(pathOf));
  const fresh = fragments
    .flatMap((each) => filesOfFragment(line, each))
    .map(pathOf)
    .filter((path) => !old.has(path));
  const flushes = new Flushes();
  for (const path of fresh) flushes.add(flushFile(storage, path));
  for (const folder of new Set(fresh.map((path) => join(path, '..')))) {
    flushes.add(storage.flush(folder));
    flushes.add(storage.flush(join(folder, '..')));
  }
  await flushes.settled();
}

function pathOf({ file }: { readonly file: string }): string {
  return file;
}

async function flushFile(storage: Storage, path: string): Promise<void> {
  const file = await storage.open(path, 'all');
  try {
    await file.sync();
  } finally {
    file.close();
  }
}
