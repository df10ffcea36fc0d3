import type { Storage } from '../../storage/storage.ts';
import { join } from 'node:path';
import { CatalogError } from '../../protocol/errors.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { VersionRecord } from '../format/records.ts';
import { isDetached } from '../format/lance/version-file.ts';
import type { BackFill, FoundLine } from '../versions/managed/back-fill.ts';
import { OwnFiles } from '../versions/managed/lance-files.ts';
import { locationOf } from '../versions/managed/managed-versions.ts';
import type { VersionStore } from '../versions/lines/version-store.ts';
import type { Commit, CommitJudge } from './commit-judge.ts';
import {
  lanceCommit,
  manifestIn,
  stateBefore,
  Unread,
  type StateBefore,
  type StepReads,
} from './lance-judge.ts';
import type { JudgedTable } from './place-judge.ts';

/** A Lance table that gets a name. */
interface RegisteredTable {
  readonly id: string;
  readonly path: ObjectPath;
  readonly location: string;
}

/**
 * Judges the registration of a Lance table as if the newest version of each line created it: rules
 * about rows are judged of all rows.
 * @throws RuleRefusal
 */
export async function judgeRegistering(
  rules: CommitJudge,
  table: RegisteredTable,
  { storage, lines }: Pick<BackFill, 'storage' | 'lines'>,
): Promise<void> {
  const { path, location } = table;
  if (!rules.covers(path)) return;
  const [main] = lines.map(({ found }) => newestOf(found));
  for (const { chain, found } of lines) {
    const newest = newestOf(found);
    // Only the location of a table without versions can be judged.
    if (newest === undefined && chain.branch !== lines[0]?.chain.branch) continue;
    const reads = rules.lanceRows && { reads: rules.lanceRows, path, location, main };
    await rules.judge({
      table: path,
      action: 'register',
      branch: chain.branch,
      location,
      ...(await creation(storage, table, { branch: chain.branch, newest, reads })),
    });
  }
}

function newestOf(found: readonly VersionRecord[]): VersionRecord | undefined {
  return found.findLast(({ version }) => !isDetached(version));
}

interface RegisteredLine {
  readonly branch: string;
  readonly newest: VersionRecord | undefined;
  readonly reads: StepReads | undefined;
}

async function creation(
  storage: Storage,
  { id, path, location }: RegisteredTable,
  { branch, newest, reads }: RegisteredLine,
): Promise<Pick<Commit, 'change' | 'unknown' | 'keeper' | 'rows'>> {
  if (newest === undefined) return { change: null, keeper: 'elsewhere' };
  const file = join(location, newest.manifest);
  const manifest = await manifestIn(storage, file, newest.version);
  const isRead = !(manifest instanceof Unread);
  const isOwn = isRead && (await hasOwnFiles(storage, { id, path, location, at: newest }));
  const step = { table: id, branch, before: null, manifest, file };
  const facts = await lanceCommit(storage, { ...step, reads: isOwn ? reads : undefined });
  const { change, unknown, keeper, rows } = facts;
  return { change, keeper, rows, ...(unknown !== undefined && { unknown }) };
}

/** Whether the rows may be shown: those of another table are not. */
async function hasOwnFiles(
  storage: Storage,
  place: Parameters<OwnFiles['require']>[0],
): Promise<boolean> {
  return new OwnFiles(storage).require(place).then(
    () => true,
    (error: unknown) => {
      if (error instanceof CatalogError) return false;
      throw error;
    },
  );
}

type VersionReads = Pick<VersionStore, 'list'>;

/**
 * Judges versions of a known table that Lance clients wrote without the catalog, on main and
 * branches, each as a commit.
 * @throws RuleRefusal
 */
export async function judgeRegisteringAgain(
  rules: CommitJudge,
  versions: VersionReads,
  { path, record }: JudgedTable,
  { storage, lines }: Pick<BackFill, 'storage' | 'lines'>,
): Promise<void> {
  if (!rules.covers(path)) return;
  const location = locationOf(record);
  if (record.kind === 'declared')
    return judgeRegistering(rules, { id: record.id, path, location }, { storage, lines });
  const placed = { table: path, keeper: 'elsewhere', location } as const;
  await rules.judge({ ...placed, action: 'register', change: null });
  const reads = rules.lanceRows && { reads: rules.lanceRows, path, location };
  const past = new PastLines(storage, versions, record.id, location, lines, reads);
  for (const line of lines) {
    const { branch } = line.chain;
    for (const one of line.found) {
      await rules.judge({ ...placed, branch, ...(await past.commit(line, one)) });
    }
  }
}

/** Versions found in a table's folder, each as the commit that made it. */
export class PastLines {
  readonly #storage: Storage;
  readonly #versions: VersionReads;
  readonly #tableId: string;
  readonly #location: string;
  readonly #lines: ReadonlyMap<string, FoundLine>;
  readonly #reads: StepReads | undefined;

  constructor(
    storage: Storage,
    versions: VersionReads,
    tableId: string,
    location: string,
    lines: readonly FoundLine[],
    reads: StepReads | undefined,
  ) {
    this.#reads = reads;
    this.#storage = storage;
    this.#versions = versions;
    this.#tableId = tableId;
    this.#location = location;
    this.#lines = new Map(lines.map((line) => [line.chain.branch, line]));
  }

  /** Facts of a version's change. */
  async commit(
    line: FoundLine,
    one: VersionRecord,
  ): Promise<Awaited<ReturnType<typeof lanceCommit>>> {
    const before = await this.#before(line, one);
    const file = join(this.#location, one.manifest);
    const manifest = await manifestIn(this.#storage, file, one.version);
    const { branch } = line.chain;
    const reads = this.#reads;
    const step = { table: this.#tableId, branch, before, manifest, file, reads };
    return lanceCommit(this.#storage, step);
  }

  /** A detached version is compared with the newest known version of the line. */
  async #before(line: FoundLine, { version }: VersionRecord): Promise<StateBefore> {
    const { head, origin } = line;
    if (isDetached(version) && head !== undefined)
      return stateBefore(this.#storage, this.#location, head);
    const last = isDetached(version)
      ? line.found.findLast((one) => !isDetached(one.version))
      : await this.#newest(line, version - 1n);
    if (last !== undefined) return stateBefore(this.#storage, this.#location, last);
    return origin === undefined ? null : this.#from(origin);
  }

  /** The newest version of a line up to a given one, with or without a record. */
  async #newest({ chain, found }: FoundLine, upTo: bigint): Promise<VersionRecord | undefined> {
    const beside = found.findLast(({ version }) => !isDetached(version) && version <= upTo);
    const page = { limit: 1, descending: true, after: upTo + 1n };
    const [existing] = await this.#versions.list(this.#tableId, page, chain);
    if (beside === undefined || existing === undefined) return beside ?? existing;
    return beside.version > existing.version ? beside : existing;
  }

  /** The origin of a branch: the version itself, or the newest earlier one that exists. */
  async #from({
    parentBranch,
    parentVersion,
  }: NonNullable<FoundLine['origin']>): Promise<StateBefore> {
    const parent = this.#lines.get(parentBranch);
    const from = parent && (await this.#newest(parent, parentVersion));
    if (from !== undefined) return stateBefore(this.#storage, this.#location, from);
    return new Unread(
      `version ${parentVersion} of ${parentBranch}, from which its branch came, is not there`,
    );
  }
}
