import type { Storage } from '../../../storage/storage.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import type { ObjectPath } from '../../../protocol/identifier.ts';
import type { Write } from '../../../store/store.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { commitLoop, type Committer, type Plan } from '../../catalog/records/commit-loop.ts';
import { externalKey } from '../../catalog/records/keys.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import type { LanceVersion } from '../../format/lance/versions.ts';
import { MAIN } from '../../format/chain.ts';
import { versionWrites } from '../lines/version-store.ts';
import type { FoundLine } from './back-fill.ts';
import { externalLine, type ExternalLine, type LineReads } from './external-line.ts';
import {
  adoptsExternalWrites,
  encodeRefused,
  refusedBehind,
  unsoundness,
  type RefusedVersion,
} from './external-versions.ts';
import { syncManifests, recordOfExternal } from './managed-manifests.ts';
import { locationOf } from './managed-versions.ts';
import { requireRecorded } from './manifest-identity.ts';

/** The request that made the catalog look for external versions. */
export interface AdoptionCause {
  readonly operation: string;
  readonly requestId: string;
  readonly decisionId: string;
}

/** An external version that is judged, with the line that it would be the next of. */
export interface ExternalStep {
  readonly storage: Storage;
  readonly path: ObjectPath;
  readonly table: TableRecord;
  readonly cause: AdoptionCause;
  /** The line, whose `found` are the versions before this one, and the line that it came from. */
  readonly lines: readonly FoundLine[];
  readonly line: FoundLine;
  readonly version: VersionRecord;
}

/** @throws CatalogError for a version that a commit rule refuses. */
export type JudgeExternal = (step: ExternalStep) => Promise<void>;

/** Summary of an adoption, by names of the audit log. */
export type AdoptionDetails = Readonly<Record<string, string>>;

/** An adoption that is to be recorded in the audit log before it begins and after it ended. */
export interface AdoptionAct {
  readonly path: ObjectPath;
  readonly branch: string;
  readonly cause: AdoptionCause;
}

/** Does the work of an adoption between its two audit records. @throws what the work or the audit log throws. */
export type RecordAdoption = (
  act: AdoptionAct,
  work: () => Promise<AdoptionDetails>,
) => Promise<void>;

/** Dependencies of an adoption. */
export interface AdoptionParts extends LineReads {
  readonly catalog: Pick<Catalog, 'requireTable'>;
  readonly committer: Committer;
  readonly judge: JudgeExternal;
  /** Without it nothing is recorded in an audit log. */
  readonly record?: RecordAdoption | undefined;
}

/**
 * Adopts external versions: those that Lance clients wrote to a table's folder without the
 * catalog. While the catalog has no version of a line, or where the table's property
 * `external_writes` is `adopt`, requests look for them, judge them by the commit rules and
 * record them. Nothing on disk is changed.
 */
export class Adoption {
  readonly #parts: AdoptionParts;
  /** The adoptions in progress, by table and branch. */
  readonly #running = new Map<string, Promise<RefusedVersion | undefined>>();

  constructor(parts: AdoptionParts) {
    this.#parts = parts;
  }

  /**
   * The table of a read after its external versions are adopted.
   * @param branch The line that the read is of.
   */
  async beforeRead(
    path: ObjectPath,
    stored: Stored<TableRecord>,
    branch: string,
    cause: AdoptionCause,
  ): Promise<Stored<TableRecord>> {
    return (await this.#adopted(path, stored, branch, cause)).table;
  }

  /**
   * The same before a commit to the line.
   * @throws CatalogError TableSchemaValidationError while a version of the line is refused.
   */
  async beforeCommit(
    path: ObjectPath,
    stored: Stored<TableRecord>,
    branch: string,
    cause: AdoptionCause,
  ): Promise<Stored<TableRecord>> {
    const { table, refused } = await this.#adopted(path, stored, branch, cause);
    if (refused !== undefined) throw refusedBehind(path, branch, refused);
    return table;
  }

  async #adopted(
    path: ObjectPath,
    stored: Stored<TableRecord>,
    branch: string,
    cause: AdoptionCause,
  ): Promise<{ table: Stored<TableRecord>; refused?: RefusedVersion | undefined }> {
    let table = stored;
    for (const name of branch === MAIN ? [MAIN] : [MAIN, branch]) {
      if (!(await this.#looks(table.content, name))) continue;
      const refused = await this.#shared({ path, branch: name, cause }, table);
      // A declared table becomes a Lance table with its first version.
      if (table.content.kind === 'declared') table = await this.#parts.catalog.requireTable(path);
      if (name === branch) return { table, refused };
    }
    return { table };
  }

  /** Whether a line may have external versions that are to be adopted. */
  async #looks(table: TableRecord, branch: string): Promise<boolean> {
    const { kind, location } = table;
    if (kind === 'engine' || location === null) return false;
    if (branch === MAIN) return kind === 'declared' || adoptsExternalWrites(table);
    if (kind === 'declared') return false;
    if (adoptsExternalWrites(table)) return true;
    return (await this.#parts.branches.find(table.id, branch)) === undefined;
  }

  /** Requests that come meanwhile get the same result. */
  async #shared(act: AdoptionAct, table: Stored<TableRecord>): Promise<RefusedVersion | undefined> {
    const key = `${table.content.id} ${act.branch}`;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const begun = this.#run(act, table).finally(() => this.#running.delete(key));
    this.#running.set(key, begun);
    return begun;
  }

  async #run(act: AdoptionAct, table: Stored<TableRecord>): Promise<RefusedVersion | undefined> {
    const line = await externalLine(this.#parts, table, act.branch);
    if (line === undefined || line.external.length === 0) return undefined;
    if (line.refused !== undefined) return line.refused;
    let refused: RefusedVersion | undefined;
    const work = async (): Promise<AdoptionDetails> => {
      const result = await this.#commit(act);
      ({ refused } = result);
      return detailsOf(result);
    };
    const { record } = this.#parts;
    await (record === undefined ? work() : record(act, work));
    return refused;
  }

  async #commit(act: AdoptionAct): Promise<Judged> {
    const { storage, committer } = this.#parts;
    return commitLoop<Judged>(committer, async (): Promise<Plan<Judged>> => {
      const table = await this.#parts.catalog.requireTable(act.path);
      const { kind } = table.content;
      const line =
        kind === 'engine' ? undefined : await externalLine(this.#parts, table, act.branch);
      if (line === undefined || line.external.length === 0)
        return { kind: 'done', result: NOTHING };
      if (line.refused !== undefined) {
        return { kind: 'done', result: { adopted: [], refused: line.refused } };
      }
      const { head } = line;
      if (head !== undefined)
        await requireRecorded(storage, locationOf(table.content), head.content);
      const result = await this.#judged(act, table.content, line);
      // The judged bytes are the recorded ones.
      for (const one of result.adopted)
        await requireRecorded(storage, locationOf(table.content), one);
      await syncManifests(storage, locationOf(table.content), result.adopted);
      const writes = writesOf(table.content, line, result);
      return { kind: 'commit', checks: line.checks, writes, result };
    });
  }

  /** The external versions of a line up to the first that may not be adopted. */
  async #judged(act: AdoptionAct, table: TableRecord, line: ExternalLine): Promise<Judged> {
    const adopted: VersionRecord[] = [];
    for (const one of line.external) {
      const reason = await unsoundness(this.#parts.storage, locationOf(table), one);
      if (reason !== undefined) return { adopted, refused: { version: one.version, reason } };
      const refused = await this.#refusal({ act, table, line, adopted }, one);
      if (typeof refused === 'string') {
        return { adopted, refused: { version: one.version, reason: refused } };
      }
      adopted.push(refused);
    }
    return { adopted };
  }

  /** The record of a version; why not, for one that a rule refuses. */
  async #refusal(
    { act, table, line, adopted }: Judging,
    one: LanceVersion,
  ): Promise<VersionRecord | string> {
    const { path, cause } = act;
    const { chain, head, origin } = line;
    const version = await recordOfExternal(this.#parts.storage, locationOf(table), one);
    const own: FoundLine = {
      chain,
      head: head?.content,
      found: adopted,
      ...(origin === undefined ? {} : { origin }),
    };
    try {
      const lines = origin === undefined ? [own] : [await this.#above(table, origin), own];
      await this.#parts.judge({
        storage: this.#parts.storage,
        path,
        table,
        cause,
        lines,
        line: own,
        version,
      });
      return version;
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      if (error.row.name !== 'TableSchemaValidationError') throw error;
      return error.message;
    }
  }

  /** The line that a branch came from, of which the catalog has all versions that count. */
  async #above(
    table: TableRecord,
    { parentBranch }: NonNullable<FoundLine['origin']>,
  ): Promise<FoundLine> {
    const { branches, versions } = this.#parts;
    const chain = { ...(await branches.chain(table.id, parentBranch)), lineage: [] };
    return { chain, head: (await versions.head(table.id, chain))?.content, found: [] };
  }
}

interface Judging {
  readonly act: AdoptionAct;
  readonly table: TableRecord;
  readonly line: ExternalLine;
  readonly adopted: readonly VersionRecord[];
}

/** Result for the external versions of a line. */
interface Judged {
  readonly adopted: readonly VersionRecord[];
  readonly refused?: RefusedVersion;
}

const NOTHING: Judged = { adopted: [] };

function writesOf(
  { id }: TableRecord,
  { chain, claims, keepsRefusal }: ExternalLine,
  { adopted, refused }: Judged,
): readonly Write[] {
  const key = externalKey(id, chain.key);
  const last = refused === undefined ? null : encodeRefused(refused);
  return [
    ...lineWrites(id, chain.key, adopted, claims),
    ...(refused === undefined && !keepsRefusal ? [] : [{ key, value: last }]),
  ];
}

/**
 * The writes that record further versions of a line.
 * @param claims What makes the line exist, written with its first version.
 */
export function lineWrites(
  tableId: string,
  chain: string,
  versions: readonly VersionRecord[],
  claims: readonly Write[],
): readonly Write[] {
  if (versions.length === 0) return [];
  const [head] = versionWrites(tableId, versions.at(-1)!, chain);
  const records = versions.map((record) => versionWrites(tableId, record, chain)[1]!);
  return [...claims, head!, ...records];
}

function detailsOf({ adopted, refused }: Judged): AdoptionDetails {
  return {
    versions: adopted.map(({ version }) => version).join(', '),
    ...(refused === undefined ? {} : { refused: String(refused.version), reason: refused.reason }),
  };
}
