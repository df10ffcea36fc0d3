import type { VersionRecord } from '../../format/records.ts';
import type { LanceManifest } from '../../format/lance/lance-manifest.ts';
import { LruCache } from '../../base/lru-cache.ts';

/** Manifests are kept whose files are so large together, in bytes. */
const CAPACITY_BYTES = 4 * 2 ** 20;
/** A manifest whose file is larger is read again. */
const MOST_BYTES = 256 * 2 ** 10;

/**
 * What the manifests of versions say that were read when they were staged: whoever
 * makes the next version compares it with the one before.
 */
export class KnownManifests {
  /** By the second name of the staged manifest, which nothing else ever has. */
  readonly #manifests = new LruCache<LanceManifest>(CAPACITY_BYTES);

  remember({ staging, manifestBytes }: VersionRecord, manifest: LanceManifest): void {
    if (manifestBytes <= MOST_BYTES) this.#manifests.set(staging, manifest, manifestBytes);
  }

  /** The manifest of a version; undefined for one that must be read. */
  of({ staging }: VersionRecord): LanceManifest | undefined {
    return this.#manifests.get(staging);
  }
}
