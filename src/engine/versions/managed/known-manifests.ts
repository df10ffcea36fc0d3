import { LRUCache } from 'lru-cache';
import type { VersionRecord } from '../../format/records.ts';
import type { ManifestContent } from '../../format/lance/manifest-file.ts';

/** Manifests are kept whose files are so large together, in bytes. */
const CAPACITY_BYTES = 4 * 2 ** 20;
/** A manifest whose file is larger is read again. */
const MOST_BYTES = 256 * 2 ** 10;

/**
 * Cache of manifests that were read while they were staged: the next version is compared with the one
 * before.
 */
export class KnownManifests {
  /** By the second name of the staged manifest, which nothing else ever has. */
  readonly #manifests = new LRUCache<string, ManifestContent>({ maxSize: CAPACITY_BYTES });

  remember({ staging, manifestBytes }: VersionRecord, content: ManifestContent): void {
    if (manifestBytes > MOST_BYTES) return;
    this.#manifests.set(staging, content, { size: Math.max(1, manifestBytes) });
  }

  /** The manifest of a version; undefined for one that must be read. */
  of({ staging }: Pick<VersionRecord, 'staging'>): ManifestContent | undefined {
    return this.#manifests.get(staging);
  }
}
