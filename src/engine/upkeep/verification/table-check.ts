import { dirname, join, relative } from 'node:path';
import { isMissing, unlessMissing } from '../../../storage/storage-error.ts';
import { children } from '../../catalog/records/children.ts';
import { allVersionsOf, headKey, tagsOf, versionKey } from '../../catalog/records/keys.ts';
import type { TableRecord, VersionRecord } from '../../format/records.ts';
import { decodeTag } from '../../catalog/records/records-codec.ts';
import type { Outlook } from '../../versions/leases/horizon.ts';
import { orphansOf, type Orphan } from '../retention/orphans.ts';
import type { RetentionParts } from '../retention/parts.ts';
import { stagedOrphansOf } from '../retention/staged-orphans.ts';
import { everyVersion, type KnownVersion } from '../../catalog/records/version-walk.ts';
import { locationKey } from '../../versions/lines/locations.ts';
import { VersionReader } from '../../catalog/records/version-reader.ts';
import type { Manifest } from '../../format/manifest.ts';
import { decodeVersion } from '../../format/version-codec.ts';
import { MAIN, MAIN_CHAIN, type Chain } from '../../format/chain.ts';
import { FileCheck, type FileFault } from './file-check.ts';
import { fileOf, findingOf, type Finding, type FindingKind } from './finding.ts';
import { LanceCheck } from './lance-check.ts';
import {
  adoptsExternalWrites,
  externalVersions,
  refusedVersion,
} from '../../versions/managed/external-versions.ts';
import { Branches } from '../../versions/lines/branches.ts';
import { VersionStore } from '../../versions/lines/version-store.ts';

/** A table that is looked at. */
export interface Subject {
  /** Its name in findings. */
  readonly name: string;
  readonly record: TableRecord;
}

/** Results of a table check. */
interface TableReport {
  readonly versions: number;
  readonly files: number;
  readonly bytes: number;
  readonly findings: readonly Finding[];
  /** Files that no version names, left behind by writers that are gone. */
  readonly orphans: readonly Orphan[];
}

/**
 * Accounts for every version, manifest and file of a table. Versions may come and
 * go meanwhile: one that is gone again by the time that something of it is found
 * wrong is not spoken of.
 */
export async function checkTable(
  parts: RetentionParts,
  subject: Subject,
  outlook: Outlook,
): Promise<TableReport> {
  const check = new TableCheck(parts, subject);
  try {
    await check.location();
    if (subject.record.kind !== 'declared') await check.versions();
    await check.external();
    return await check.report(outlook);
  } finally {
    await check.close();
  }
}

type Fault = readonly [kind: FindingKind, file: string, fault: string];

class TableCheck {
  readonly #parts: RetentionParts;
  readonly #subject: Subject;
  readonly #folder: string;
  readonly #files: FileCheck;
  readonly #reader: VersionReader;
  readonly #lance: LanceCheck;
  readonly #findings = new Map<string, Finding>();
  readonly #numbers = new Set<bigint>();
  #versions = 0;

  constructor(parts: RetentionParts, subject: Subject) {
    this.#parts = parts;
    this.#subject = subject;
    this.#folder = parts.folder(subject.record);
    this.#files = new FileCheck({ storage: parts.storage, folder: this.#folder });
    this.#reader = new VersionReader(parts.storage);
    this.#lance = new LanceCheck(parts.storage, this.#folder);
  }

  /** The hold on the table's folder. */
  async location(): Promise<void> {
    const { id, kind, location } = this.#subject.record;
    if (location === null || kind !== 'engine') return;
    const holder = await this.#parts.store.get(locationKey(location));
    if (holder === undefined || Buffer.from(holder).toString() !== id) {
      this.#add('location', null, `the table does not hold its location ${location}`);
    }
  }

  async versions(): Promise<void> {
    for await (const version of everyVersion(this.#parts.store, this.#subject.record.id)) {
      this.#versions += 1;
      this.#numbers.add(version.record.version);
      await this.#version(version);
    }
    await this.#head();
    // Clients may clean up a version that has a tag.
    if (this.#isOwn()) await this.#tags();
  }

  /** Versions that Lance clients wrote without the catalog. */
  async external(): Promise<void> {
    for (const { file, fault } of await externalFaults(this.#parts, this.#subject.record)) {
      this.#add('manifest', file, fault);
    }
  }

  #isOwn(): boolean {
    return this.#subject.record.kind === 'engine';
  }

  async report(outlook: Outlook): Promise<TableReport> {
    const findings = [...this.#findings.values()];
    const { files, bytes } = this.#isOwn() ? this.#files : this.#lance;
    const orphans = await this.#orphans(outlook, findings);
    return { versions: this.#versions, files, bytes, findings, orphans };
  }

  async close(): Promise<void> {
    await this.#files.close();
  }

  async #version(version: KnownVersion): Promise<void> {
    const faults = await (this.#isOwn() ? this.#ownFaults(version) : this.#lanceFaults(version));
    if (faults.length === 0 || !(await this.#isStill(version))) return;
    for (const [kind, file, fault] of faults) this.#add(kind, file, fault);
  }

  async #lanceFaults({ key, record }: KnownVersion): Promise<readonly Fault[]> {
    const found = await this.#lance.faultsOf(record, () => this.#isHead(key));
    return [
      ...found.manifest.map(({ file, fault }) => ['manifest', file, fault] as const),
      ...found.files.map(({ file, fault }) => ['file', file, fault] as const),
    ];
  }

  /** Whether a version is the newest one of its line, and its line is still there. */
  async #isHead(key: string): Promise<boolean> {
    const { id } = this.#subject.record;
    const { store } = this.#parts;
    const chain = decodeURIComponent(key.slice(allVersionsOf(id).length).split('/')[0] ?? '');
    const head = await store.get(headKey(id, chain));
    if (head === undefined) return false;
    const { version, manifest } = decodeVersion(head);
    if (versionKey(id, chain, version) !== key) return false;
    return (
      chain === MAIN ||
      (await this.#parts.storage.ownership(this.#folder, dirname(manifest))) !== 'absent'
    );
  }

  async #ownFaults({ record }: KnownVersion): Promise<readonly Fault[]> {
    const faults: Fault[] = [];
    const manifest = await this.#manifest(record, (fault, file = record.manifest) => {
      faults.push(['manifest', file, fault]);
    });
    for (const fragment of manifest?.fragments ?? []) {
      for (const { file, fault } of await this.#files.faultsOf(fragment, manifest?.indices)) {
        faults.push(['file', file, fault]);
      }
    }
    return faults;
  }

  #bytes(name: string): Promise<Buffer | undefined> {
    return unlessMissing(this.#parts.storage.read(join(this.#folder, name), 'all'));
  }

  /** The manifest of a version; one that a crash kept from its final name has the one before. */
  async #manifest(
    record: VersionRecord,
    wrong: (fault: string, file?: string) => void,
  ): Promise<Manifest | undefined> {
    const bytes =
      (await this.#bytes(record.manifest)) ??
      (await this.#bytes(record.staging)) ??
      (await this.#bytes(record.manifest));
    if (bytes === undefined) {
      wrong(`is missing, but version ${record.version} needs it`);
      return undefined;
    }
    if (bytes.byteLength !== record.manifestBytes) {
      wrong(`has ${bytes.byteLength} bytes, but its record says ${record.manifestBytes}`);
    }
    try {
      const manifest = await this.#reader.decode(this.#folder, bytes, record, 'all');
      if (manifest.version !== record.version) {
        wrong(`is of version ${manifest.version}, but its record says ${record.version}`);
      }
      return manifest;
    } catch (error) {
      const fault = isMissing(error) ? 'is missing' : `cannot be read: ${findingOf(error)}`;
      wrong(fault, fileOf(this.#folder, error));
      return undefined;
    }
  }

  async #isStill({ key, record }: KnownVersion): Promise<boolean> {
    const value = await this.#parts.store.get(key);
    return value !== undefined && decodeVersion(value).staging === record.staging;
  }

  /** The head is a copy of the newest version's record. */
  async #head(): Promise<void> {
    const { id } = this.#subject.record;
    const { store } = this.#parts;
    const head = await store.get(headKey(id, MAIN));
    if (head === undefined && this.#versions === 0 && !this.#isOwn()) return;
    if (head === undefined) return this.#add('head', null, 'the table has no newest version');
    const { version } = decodeVersion(head);
    const [current, record, beyond] = await store.getMany([
      headKey(id, MAIN),
      versionKey(id, MAIN, version),
      versionKey(id, MAIN, version + 1n),
    ]);
    // A commit came in between: what it left is right by the same step.
    if (current === undefined || !Buffer.from(current).equals(head)) return;
    if (record === undefined || !Buffer.from(record).equals(head)) {
      this.#add('head', null, `the newest version ${version} is not among the versions`);
    }
    if (beyond !== undefined) {
      this.#add('head', null, `there is a version ${version + 1n} beyond the newest, ${version}`);
    }
  }

  async #tags(): Promise<void> {
    const { store } = this.#parts;
    for await (const { key, name, value } of children(store, tagsOf(this.#subject.record.id))) {
      const { version } = decodeTag(value);
      if (this.#numbers.has(version)) continue;
      const now = await store.get(key);
      if (now === undefined || !Buffer.from(now).equals(value)) continue;
      const known = versionKey(this.#subject.record.id, MAIN, version);
      if ((await store.get(known)) !== undefined) continue;
      this.#add(
        'tag',
        null,
        `the tag ${JSON.stringify(name)} names version ${version}, which is not there`,
      );
    }
  }

  /** Only where every manifest can be read is it known what no version names. */
  async #orphans(outlook: Outlook, findings: readonly Finding[]): Promise<readonly Orphan[]> {
    const { record } = this.#subject;
    const isLeft = (writtenMillis: number) => outlook.isLeft(writtenMillis);
    if (record.kind !== 'engine') return stagedOrphansOf(this.#parts, record, isLeft, outlook);
    if (findings.some(({ kind }) => kind === 'manifest')) return [];
    return orphansOf(this.#parts, record, isLeft);
  }

  #add(kind: FindingKind, file: string | null, fault: string): void {
    const finding = { kind, table: this.#subject.name, file, fault };
    this.#findings.set(JSON.stringify(finding), finding);
  }
}

/**
 * The manifests in a Lance table's folder that were written without the catalog and that no
 * request adopts: those of refused versions, and those of a line whose versions the catalog
 * alone commits.
 */
async function externalFaults(
  { storage, store, committer }: Pick<RetentionParts, 'storage' | 'store' | 'committer'>,
  table: TableRecord,
): Promise<readonly FileFault[]> {
  const { location } = table;
  if (table.kind === 'engine' || location === null) return [];
  const versions = new VersionStore(store);
  const faults: FileFault[] = [];
  const headOf = async (chain: Chain) =>
    (await versions.head(table.id, chain))?.content.version ?? 0n;
  for (const chain of [MAIN_CHAIN, ...(await new Branches(store, committer).chains(table.id))]) {
    const found = await externalVersions(storage, location, chain.branch, await headOf(chain));
    if (found.length === 0) continue;
    const refused = await refusedVersion(store, table.id, chain.key);
    if (refused === undefined && isAdopted(table)) continue;
    // A commit names its manifest after the store has its version.
    const head = await headOf(chain);
    for (const { version, manifest } of found) {
      if (version <= head || (await versions.at(table.id, version, chain)) !== undefined) continue;
      const why = version === refused?.version ? ` (${refused.reason})` : '';
      const fault = `is version ${version}, which was written without the catalog and is not adopted${why}`;
      faults.push({ file: relative(location, manifest), fault });
    }
  }
  return faults;
}

/** Whether the next request adopts what is found. */
function isAdopted(table: TableRecord): boolean {
  return table.kind === 'declared' || adoptsExternalWrites(table);
}
