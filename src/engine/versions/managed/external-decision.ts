import { randomUUID } from 'node:crypto';
import { basename, dirname, join, relative } from 'node:path';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import type { Write } from '../../../store/store.ts';
import { commitLoop } from '../../catalog/records/commit-loop.ts';
import { externalKey } from '../../catalog/records/keys.ts';
import type { Stored, TableRecord } from '../../format/records.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { LanceVersion } from '../../format/lance/versions.ts';
import { MAIN } from '../../format/chain.ts';
import { lineWrites, type AdoptionParts } from './adoption.ts';
import { externalLine, type ExternalLine } from './external-line.ts';
import { encodeRefused, unsoundness } from './external-versions.ts';
import { syncManifests, recordOfExternal } from './managed-manifests.ts';
import { locationOf } from './managed-versions.ts';
import { finalNames, SET_ASIDE, versionsFolder } from './place.ts';

/** An operator's decision on external versions of a line. */
export interface ExternalDecision {
  readonly path: ObjectPath;
  readonly branch: string;
  readonly version: bigint;
}

/** Result of a decision. */
export interface ExternalOutcome {
  /** The versions that were accepted or set aside, in ascending order. */
  readonly versions: readonly bigint[];
  /** The next external version, which is not decided yet. */
  readonly next: bigint | null;
}

type DecisionParts = Omit<AdoptionParts, 'judge' | 'record'>;

/**
 * Records the external versions of a line up to one, whatever the commit rules say.
 * @throws CatalogError InvalidInput where the line has no such external version, or one
 * whose manifest cannot be read.
 */
export async function acceptExternal(
  parts: DecisionParts,
  decision: ExternalDecision,
): Promise<ExternalOutcome> {
  return commitLoop(parts.committer, async () => {
    const { storage } = parts;
    const { table, line } = await decided(parts, decision);
    const location = locationOf(table.content);
    const taken = line.external.filter(({ version }) => version <= decision.version);
    for (const one of taken) await requireSound(storage, location, one);
    const records = await Promise.all(taken.map((one) => recordOfExternal(storage, location, one)));
    await syncManifests(storage, location, records);
    const next = line.external[taken.length]?.version ?? null;
    const result = { versions: taken.map(({ version }) => version), next };
    const writes = [
      ...lineWrites(table.content.id, line.chain.key, records, line.claims),
      remaining(table.content, line, next),
    ];
    return { kind: 'commit', checks: line.checks, writes, result };
  });
}

/**
 * Moves the manifests of an external version and of all later ones of its line to the folder
 * `_set_aside` beside them. Their data files stay.
 * @throws CatalogError InvalidInput where the line has no such external version.
 */
export async function setExternalAside(
  parts: DecisionParts,
  decision: ExternalDecision,
): Promise<ExternalOutcome> {
  const { storage } = parts;
  const { table, line } = await decided(parts, decision);
  const location = locationOf(table.content);
  const removed = line.external.filter(({ version }) => version >= decision.version);
  // From the newest on: what a crash leaves is a line without its end.
  for (const { version } of removed.toReversed()) {
    await moveAside(
      storage,
      location,
      await manifestsOf(storage, location, decision.branch, version),
    );
  }
  const versions = removed.map(({ version }) => version);
  return commitLoop(parts.committer, async () => {
    const { table: now, line: left } = await lineOf(parts, decision);
    const next = left?.external[0]?.version ?? null;
    const result = { versions, next };
    if (left === undefined) return { kind: 'done', result };
    const writes = [remaining(now.content, left, next)];
    return { kind: 'commit', checks: left.checks, writes, result };
  });
}

async function decided(
  parts: DecisionParts,
  decision: ExternalDecision,
): Promise<{ table: Stored<TableRecord>; line: ExternalLine }> {
  const { table, line } = await lineOf(parts, decision);
  const { path, branch, version } = decision;
  if (line?.external.some((one) => one.version === version) === true) return { table, line };
  const where = branch === MAIN ? '' : ` on the branch ${JSON.stringify(branch)}`;
  const others = (line?.external ?? []).map((one) => one.version).join(', ');
  throw new CatalogError(
    'InvalidInput',
    `the table ${canonicalPath(path)} has no version ${version}${where} that was written without the catalog; it has ${others || 'none'}`,
  );
}

async function lineOf(parts: DecisionParts, { path, branch }: ExternalDecision) {
  const table = await parts.catalog.requireTable(path);
  const { kind, location } = table.content;
  const isExternal = kind !== 'engine' && location !== null;
  return { table, line: isExternal ? await externalLine(parts, table, branch) : undefined };
}

async function requireSound(storage: Storage, location: string, one: LanceVersion): Promise<void> {
  const fault = await unsoundness(storage, location, one);
  if (fault === undefined) return;
  throw new CatalogError('InvalidInput', `version ${one.version} cannot be accepted: ${fault}`);
}

/** Writes for the remaining versions: the next one waits for a decision. */
function remaining({ id }: TableRecord, { chain }: ExternalLine, next: bigint | null): Write {
  const reason = 'no operator has accepted it or set it aside';
  const value = next === null ? null : encodeRefused({ version: next, reason });
  return { key: externalKey(id, chain.key), value };
}

/** The manifests of one version: it may have names of both schemes. */
async function manifestsOf(
  storage: Storage,
  location: string,
  branch: string,
  version: bigint,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of finalNames(versionsFolder(branch), version)) {
    if ((await storage.ownership(location, name)) !== 'absent') found.push(join(location, name));
  }
  return found;
}

async function moveAside(
  storage: Storage,
  location: string,
  manifests: readonly string[],
): Promise<void> {
  for (const path of manifests) {
    const folder = join(dirname(dirname(path)), SET_ASIDE);
    storage.folders?.makeNow(folder);
    const name = relative(location, folder);
    // An object store has no folder before it has an object there.
    if ((await storage.ownership(location, name)) === 'linked') {
      throw new CatalogError('InvalidInput', `${folder} leads through a link`);
    }
    await storage.renameIfAbsent(path, await freeName(storage, folder, basename(path)));
    await storage.flush(folder);
    await storage.flush(dirname(path));
  }
}

/** A name that nothing has: the manifest's own, or one with a further part. */
async function freeName(storage: Storage, folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  return (await storage.stat(path)) === undefined ? path : `${path}-${randomUUID()}`;
}
