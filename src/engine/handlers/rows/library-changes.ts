import type { Answer } from '../../../protocol/backend.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import type { Action } from '../../../protocol/operations/operation.ts';
import { stringifyJson } from '../../../protocol/json.ts';
import type { CommitSummary } from '../../../protocol/commit-summary.ts';
import { encodeTable } from '../../catalog/records/records-codec.ts';
import type { Write } from '../../../store/store.ts';
import { itemAt } from '../../base/items.ts';
import type { Fields } from '../../base/fields.ts';
import { statementOf } from '../../base/statement.ts';
import { sealOf, type Seal } from '../../catalog/records/seal.ts';
import type { LanceManifest } from '../../format/lance/lance-manifest.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import { durableGates } from '../../versions/managed/durable-files.ts';
import type {
  LanceTableChange,
  LanceCounts,
  LanceLibrary,
  LancePlace,
  LanceRowsFile,
  LanceStatement,
  LanceVersions,
} from '../../versions/managed/lance-library.ts';
import { locationOf } from '../../versions/managed/managed-versions.ts';
import { changeInParts } from '../../versions/managed/parted-change.ts';
import type { Gates, JudgeStaged } from '../../versions/managed/staged-manifest.ts';
import type { BranchStart } from '../../versions/managed/managed-line.ts';
import type { PlannedVersion } from '../../versions/managed/version-creation.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call } from '../call/handler.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import { branchParameter } from '../call/parameters.ts';
import {
  committedVersions,
  gatesOf,
  versionRequest,
  waiting,
  type Beside,
} from '../versions/create-version.ts';
import { versionEntry } from '../versions/table-versions.ts';
import { requireApplicable } from '../call/restricted-reads.ts';
import { libraryTable, type LanceAccess } from './library-reads.ts';
import type { RowsParts } from './rows-file.ts';

/** Parts of the changes of Lance tables. */
export interface LibraryChanges extends ManagedParts {
  readonly library: LanceLibrary;
  readonly lance?: LanceAccess | undefined;
}

/** The change that a request asks for. @throws CatalogError InvalidInput and others for its body. */
export type ChangeOf = (call: Call, parts: RowsParts) => TableChange | Promise<TableChange>;

/** A change of a Lance table and how it is answered. */
export interface TableChange {
  /** The change; some depend on the version that it starts from. `create` is for declared tables alone. */
  readonly change: LanceTableChange | ((at: bigint) => LanceTableChange);
  /** The rows of the change, or its columns; null if it has none. */
  readonly rows: LanceRowsFile | null;
  /** Where the version stands that the change starts from; the newest unless given. */
  readonly from?: Fields;
  /** Called with each version before its commit. @throws CatalogError for a change that is given up. */
  readonly check?: ((version: bigint) => void) | undefined;
  /** Judges the manifest of each version before its commit. @throws CatalogError */
  readonly requireManifest?: ((manifest: LanceManifest) => void) | undefined;
  /** Whether restrictions that bind the caller are applied: it changes rows alone that the caller sees. */
  readonly isVisible?: boolean;
  /** Actions that the change counts as beside those of its manifest. */
  readonly classes?: ReadonlySet<Action>;
  /** Properties of the table from then on; its own unless given. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
  /** The body of the answer beside the version; nothing unless given. */
  readonly body?: (made: MadeVersion, counts: LanceCounts) => object;
}

/** The version that a change made. */
export interface MadeVersion {
  readonly summary: CommitSummary;
  readonly manifest: LanceManifest;
}

/**
 * Changes a Lance table: the library writes the files and stages a manifest, and the catalog
 * commits it as it commits those of Lance clients, as a part of this request.
 * @throws CatalogError as a commit of a Lance client is refused, and as the library refuses.
 */
export async function changeLanceTable(
  parts: LibraryChanges,
  call: Call,
  table: Stored<TableRecord>,
  asked: TableChange,
): Promise<Answer> {
  const { change: changeOf, rows, from = {}, body, check, classes, properties } = asked;
  const restrictions = call.permit.restrictionsOn(call.request.object);
  if (restrictions !== null && asked.isVisible !== true)
    requireApplicable(call, table.content, restrictions);
  const branch = branchParameter(call);
  const { place, version } = await placeOf(parts, call, table, from);
  const change = typeof changeOf === 'function' ? changeOf(version) : changeOf;
  const answer = ({ planned, manifest }: Committed, counts: LanceCounts): Answer => {
    const { record, summary } = planned;
    return jsonAnswer(
      call,
      { version: record.version, ...body?.({ summary, manifest }, counts) },
      { commit: { ...summary, kind: change.kind } },
    );
  };
  const replaces = change.kind === 'overwrite' && classes?.has('drop') !== true;
  const gates = withSchemaRight(gatesOf(call, classes), call, branch, replaces);
  const writes = properties === undefined ? [] : [withProperties(table, properties)];
  const outcome = await commitsOfLibrary(
    { ...parts, ...waiting(parts, call) },
    {
      table: table.content,
      place,
      branch,
      change,
      rows,
      check,
      gates: withManifest(gates, asked.requireManifest),
      beside: async () => ({ checks: [], writes }),
      seal: call.once.seal((committed: Committed) => answer(committed, {})),
      statement: statementOf(call),
    },
  );
  return answer(onlyVersion(outcome), outcome.counts);
}

/** Where a change of a table begins: a declared one has no version. */
async function placeOf(
  parts: LibraryChanges,
  call: Call,
  table: Stored<TableRecord>,
  from: Fields,
): Promise<{ readonly place: LancePlace; readonly version: bigint }> {
  const { id, kind } = table.content;
  if (kind === 'declared') {
    const { branch } = await parts.tables.chain(table.content, branchParameter(call));
    const location = locationOf(table.content);
    return { place: { id, path: call.request.object, location, branch }, version: 0n };
  }
  const place = await libraryTable(parts, call, table, from);
  return { place, version: place.at.version };
}

/** The version of a change that makes one. @throws CatalogError Internal if it made none */
export function onlyVersion({ made: [first] }: LibraryOutcome): Committed {
  if (first !== undefined) return first;
  throw new CatalogError('Internal', 'the Lance library ended the change without a commit');
}

/** A version that the library made and the catalog committed. */
interface Committed {
  readonly planned: PlannedVersion;
  readonly manifest: LanceManifest;
}

/** A change that the library makes and the catalog commits. */
interface LibraryCommit {
  readonly table: TableRecord;
  readonly place: LancePlace;
  /** The line that gets the version. */
  readonly branch: string;
  readonly change: LanceTableChange;
  readonly rows: LanceRowsFile | null;
  readonly check?: ((version: bigint) => void) | undefined;
  /** Origin of the branch that the change begins. */
  readonly origin?: BranchStart;
  readonly gates: Gates;
  readonly seal?: Seal<Committed> | undefined;
  readonly beside?: Beside;
  readonly statement: LanceStatement;
}

/** What came of a change: its versions, and the numbers of the library. */
interface LibraryOutcome {
  readonly made: readonly Committed[];
  readonly counts: LanceCounts;
}

/** Has the library change a table, and commits the versions that it makes. @throws CatalogError */
export async function commitsOfLibrary(
  parts: LibraryChanges,
  {
    table,
    place,
    branch,
    change,
    rows,
    check,
    origin,
    gates,
    seal,
    beside,
    statement,
  }: LibraryCommit,
): Promise<LibraryOutcome> {
  const { path } = place;
  const made: Committed[] = [];
  let manifest: LanceManifest | undefined;
  const committed = (planned: PlannedVersion): Committed => ({ planned, manifest: manifest! });
  const sealed = sealOf(seal, (all: readonly PlannedVersion[]) => committed(itemAt(all, 0)));
  const durable = durableGates(gates, (staged) => {
    ({ manifest } = staged);
  });
  const isFirst = change.kind === 'create';
  const first = (): object | undefined => made[0] && versionText(made[0].planned);
  const versions: LanceVersions = {
    newest: async (name) => (isFirst ? first() : entryOf(parts, table, name)),
    at: (name, version) => entryOf(parts, table, name, BigInt(Number(version))),
    create: async (name, fields) => {
      if (name !== branch) throw new CatalogError('InvalidInput', `the change is one of ${branch}`);
      const request = { ...versionRequest(path, fields as Fields, branch), origin };
      check?.(request.version);
      // The library overwrites a version that it finds in the folder.
      if (isFirst && request.version !== 1n) throw notFirst(path);
      const all = await committedVersions(parts, [request], sealed, durable, beside).catch(
        // The library can change a newer version, but not create a table that is there.
        isFirst ? refused : unlessOvertaken,
      );
      if (all === undefined) return undefined;
      const planned = itemAt(all, 0);
      made.push(committed(planned));
      return versionText(planned);
    },
  };
  const counts = await changeInParts(parts, { place, change, versions, statement }, rows);
  return { made, counts };
}

function notFirst(path: ObjectPath): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `table ${canonicalPath(path)} has got its first version meanwhile`,
  );
}

function refused(error: unknown): never {
  throw error;
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

/** Gates of a change, of which one that gives the table other columns needs the right to that. */
function withSchemaRight(
  { judge, ...gates }: Gates,
  call: Call,
  branch: string,
  replaces: boolean,
): Gates {
  const judgeRight: JudgeStaged = async (staged) => {
    const before = replaces ? (await staged.before())?.manifest : undefined;
    if (before !== undefined && !hasFieldsOf(staged.manifest, before)) {
      call.permit.require('schema', call.request.object, branch);
    }
    await judge?.(staged);
  };
  return { ...gates, judge: judgeRight };
}

function withManifest(gates: Gates, requireManifest: TableChange['requireManifest']): Gates {
  if (requireManifest === undefined) return gates;
  const judge: JudgeStaged = async (staged) => {
    requireManifest(staged.manifest);
    await gates.judge?.(staged);
  };
  return { ...gates, judge };
}

function hasFieldsOf(one: LanceManifest, other: LanceManifest): boolean {
  const [left, right] = [one, other].map(({ fields }) =>
    JSON.stringify(fields.map(({ name, type, nullable }) => [name, type, nullable])),
  );
  return left === right;
}
