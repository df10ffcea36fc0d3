import type { Storage } from '../../../storage/storage.ts';
import { randomUUID } from 'node:crypto';
import type { Check, Store, Write } from '../../../store/store.ts';
import { encodeBranch, encodeTable } from '../../catalog/records/records-codec.ts';
import { branchKey } from '../../catalog/records/keys.ts';
import { absent, unchanged } from '../../catalog/records/reader.ts';
import type { Stored, TableRecord, VersionRecord } from '../../format/records.ts';
import type { LanceVersion } from '../../format/lance/versions.ts';
import { branchChain, isRemoved, type Branches } from '../lines/branches.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../../format/chain.ts';
import { headCheck, type VersionStore } from '../lines/version-store.ts';
import type { FoundLine } from './back-fill.ts';
import { externalVersions, refusedVersion, type RefusedVersion } from './external-versions.ts';
import { branchRecord, branchRefs } from './lance-refs.ts';
import { locationOf } from './managed-versions.ts';

/** Dependencies of the search for external versions. */
export interface LineReads {
  readonly storage: Storage;
  readonly store: Pick<Store, 'get'>;
  readonly versions: VersionStore;
  readonly branches: Branches;
}

/** A line of versions of a Lance table that may have external versions. */
export interface ExternalLine {
  readonly chain: Chain;
  readonly head: Stored<VersionRecord> | undefined;
  readonly origin?: FoundLine['origin'];
  /** Checks of the commit that records a version. */
  readonly checks: readonly Check[];
  /** Writes that create the line in the catalog with its first version. */
  readonly claims: readonly Write[];
  /** The versions on disk beyond the head, in ascending order. */
  readonly external: readonly LanceVersion[];
  /** The refused version, while its manifest is there. */
  readonly refused: RefusedVersion | undefined;
  /** Whether the catalog keeps a refusal of this line, also of a version that is gone. */
  readonly keepsRefusal: boolean;
}

/**
 * The line of a branch as the catalog and the table's folder have it; undefined for a branch
 * that neither the catalog nor a Lance client wrote down.
 */
export async function externalLine(
  reads: LineReads,
  stored: Stored<TableRecord>,
  branch: string,
): Promise<ExternalLine | undefined> {
  const table = stored.content;
  const found = branch === MAIN ? mainLine(stored) : await branchLine(reads, table, branch);
  if (found === undefined) return undefined;
  const { chain } = found;
  const head = await reads.versions.head(table.id, chain);
  const external = await externalVersions(
    reads.storage,
    locationOf(table),
    branch,
    head?.content.version ?? 0n,
  );
  const retained =
    external.length === 0 ? undefined : await refusedVersion(reads.store, table.id, chain.key);
  const isThere = external.some(({ version }) => version === retained?.version);
  return {
    ...found,
    head,
    checks: [unchanged(stored), headCheck(table.id, head, chain.key), ...found.checks],
    external,
    refused: isThere ? retained : undefined,
    keepsRefusal: retained !== undefined,
  };
}

type Line = Pick<ExternalLine, 'chain' | 'checks' | 'claims' | 'origin'>;

/** The first version makes a declared table one that Lance clients write. */
function mainLine({ key, content }: Stored<TableRecord>): Line {
  const claim = { key, value: encodeTable({ ...content, kind: 'lance' }) };
  return { chain: MAIN_CHAIN, checks: [], claims: content.kind === 'declared' ? [claim] : [] };
}

async function branchLine(
  { storage, branches }: LineReads,
  table: TableRecord,
  name: string,
): Promise<Line | undefined> {
  const stored = await branches.record(table.id, name);
  // Its files are left of a removal that is not finished.
  if (stored !== undefined && isRemoved(stored.content)) return undefined;
  const ref = (await branchRefs(storage, locationOf(table))).get(name);
  if (stored !== undefined) {
    const chain = { ...branchChain(name, stored), lineage: [] };
    return { chain, checks: chain.checks, claims: [], ...(ref && { origin: ref }) };
  }
  if (ref === undefined) return undefined;
  const above = (await branches.find(table.id, ref.parentBranch))?.content.id ?? MAIN;
  const id = randomUUID();
  const key = branchKey(table.id, name);
  return {
    chain: { branch: name, key: id, lineage: [], checks: [] },
    checks: [absent(key)],
    claims: [{ key, value: encodeBranch(branchRecord(id, ref, above)) }],
    origin: ref,
  };
}
