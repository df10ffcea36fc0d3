import type { Storage } from '../../../storage/storage.ts';
import { dirname, join } from 'node:path';
import type { VersionRecord } from '../../format/records.ts';
import type { LanceManifest } from '../../format/lance/lance-manifest.ts';
import { filesOfFragment } from '../../versions/managed/lance-files.ts';
import { danglingReference } from '../../format/lance/manifest-references.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import { sameBytes } from '../../versions/managed/managed-manifests.ts';
import { manifestDigest } from '../../versions/managed/manifest-identity.ts';
import type { FileFault } from './file-check.ts';
import { findingOf } from './finding.ts';

/** Faults of a version. */
interface LanceFaults {
  readonly manifest: readonly FileFault[];
  readonly files: readonly FileFault[];
}

const NOTHING: LanceFaults = { manifest: [], files: [] };

/**
 * Compares what lies in the folder of a table that Lance clients write with the
 * records of its versions, and with what their manifests say. Data and deletions are
 * there and as large as said; their insides are their clients'. So is the e-tag
 * of a record: clients go by the size, and a copy of the folder has other ones.
 */
export class LanceCheck {
  readonly #storage: Storage;
  readonly #folder: string;
  /** The size of each file; null for one that is missing. */
  readonly #sizes = new Map<string, Promise<bigint | null>>();
  #files = 0;
  #bytes = 0n;

  constructor(storage: Storage, folder: string) {
    this.#storage = storage;
    this.#folder = folder;
  }

  /** How many files were found beside manifests. */
  get files(): number {
    return this.#files;
  }

  /** Their total size in bytes. */
  get bytes(): number {
    return Number(this.#bytes);
  }

  /**
   * What is wrong with a version.
   * @param isNeeded Whether a manifest that is gone should be there: clients remove
   * old versions, and branches, on their own.
   */
  async faultsOf(record: VersionRecord, isNeeded: () => Promise<boolean>): Promise<LanceFaults> {
    const { version, manifest: name } = record;
    const found = await this.#placeOf(record);
    if (found === 'absent') {
      if (!(await isNeeded())) return NOTHING;
      return faulty(name, `is missing, but version ${version} needs it`);
    }
    if (found === 'linked') return faulty(name, 'leads through a link');
    try {
      const content = await readManifestFile(this.#storage, join(this.#folder, found.name));
      const { manifest } = content;
      const wrong = [
        ...manifestFaults(record, content),
        ...(await this.#identityFaults(record, found.name)),
      ];
      if (wrong.length > 0) {
        return { manifest: wrong.map((fault) => ({ file: name, fault })), files: [] };
      }
      const files = await this.#fileFaults(dirname(dirname(name)), manifest);
      // A client may be cleaning the version up.
      const isGone = files.length > 0 && (await this.#placeOf(record)) === 'absent';
      return isGone ? await this.faultsOf(record, isNeeded) : { manifest: [], files };
    } catch (error) {
      return faulty(name, `cannot be read: ${findingOf(error)}`);
    }
  }

  /** Whether what lies under a manifest's name is what was committed, as far as that is known. */
  async #identityFaults(record: VersionRecord, name: string): Promise<readonly string[]> {
    const { digest, staging, manifest } = record;
    if (
      digest !== undefined &&
      (await manifestDigest(this.#storage, join(this.#folder, name))) !== digest
    ) {
      return ['is not the manifest that was recorded'];
    }
    if (name !== manifest || staging === manifest) return [];
    if ((await this.#storage.ownership(this.#folder, staging)) !== 'own') return [];
    const isOther = !(await sameBytes(this.#storage, this.#folder, manifest, staging));
    return isOther && (await this.#storage.ownership(this.#folder, staging)) === 'own'
      ? [`is not the manifest that was committed, which is ${staging}`]
      : [];
  }

  /** Path of the manifest: after a crash, or during a commit, it may be under its staging name. */
  async #placeOf({ manifest, staging }: VersionRecord) {
    for (const name of [manifest, staging, manifest]) {
      const whose = await this.#storage.ownership(this.#folder, name);
      if (whose === 'own') return { name };
      if (whose === 'linked') return whose;
    }
    return 'absent';
  }

  /** @param line The folder of the version's branch; `.` for that of the table. */
  async #fileFaults(line: string, { fragments }: LanceManifest): Promise<readonly FileFault[]> {
    const faults: FileFault[] = [];
    for (const fragment of fragments) {
      for (const { file, bytes } of filesOfFragment(line, fragment)) {
        const size = await this.#sizeOf(file);
        if (size === null) faults.push({ file, fault: 'is missing' });
        else if (bytes !== null && size !== bytes) {
          faults.push({ file, fault: `has ${size} bytes, but the manifest says ${bytes}` });
        }
      }
    }
    return faults;
  }

  #sizeOf(file: string): Promise<bigint | null> {
    const cached = this.#sizes.get(file) ?? this.#readSize(file);
    this.#sizes.set(file, cached);
    return cached;
  }

  async #readSize(file: string): Promise<bigint | null> {
    const stats = await this.#storage.stat(join(this.#folder, file));
    if (stats === undefined) return null;
    this.#files += 1;
    this.#bytes += BigInt(stats.bytes);
    return BigInt(stats.bytes);
  }
}

function manifestFaults(
  record: VersionRecord,
  content: Awaited<ReturnType<typeof readManifestFile>>,
): readonly string[] {
  const { manifest, bytes } = content;
  const fault = danglingReference(content);
  const version = BigInt.asIntN(64, manifest.version);
  return [
    ...(bytes === record.manifestBytes
      ? []
      : [`has ${bytes} bytes, but its record says ${record.manifestBytes}`]),
    ...(version === record.version
      ? []
      : [`is of version ${version}, but its record says ${record.version}`]),
    ...(fault === undefined ? [] : [`cannot be read by Lance: ${fault}`]),
  ];
}

function faulty(file: string, fault: string): LanceFaults {
  return { manifest: [{ file, fault }], files: [] };
}
