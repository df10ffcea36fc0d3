import type { VersionRecord } from '../catalog/records.ts';
import type { Chain } from './chain.ts';
import type { ManifestStore } from './manifest-store.ts';
import type { VersionStore } from './version-store.ts';

/** What an attempt to commit a version made. */
interface Made {
  readonly record: VersionRecord;
}

/** Where the version of a table is to be. */
export interface AttemptPlace {
  readonly tableId: string;
  readonly folder: string;
  readonly chain: Chain;
}

/** The attempts to commit a version, each with a manifest under a staging name of its own. */
export class Attempts<Attempt extends Made> {
  readonly #manifests: ManifestStore;
  readonly #versions: VersionStore;
  readonly #place: AttemptPlace;
  readonly #all: Attempt[] = [];

  constructor(manifests: ManifestStore, versions: VersionStore, place: AttemptPlace) {
    this.#manifests = manifests;
    this.#versions = versions;
    this.#place = place;
  }

  get none(): boolean {
    return this.#all.length === 0;
  }

  add(attempt: Attempt): void {
    this.#all.push(attempt);
  }

  /** Removes the staged manifest of the last attempt, which is known to have had no effect. */
  async unstageLast(): Promise<void> {
    const last = this.#all.at(-1);
    if (last !== undefined) await this.#manifests.unstage(this.#place.folder, last.record);
  }

  /** The attempt that took effect after all. One of unknown outcome may do so while later ones are made. */
  async taken(): Promise<Attempt | undefined> {
    const { tableId, chain } = this.#place;
    for (const attempt of this.#all) {
      const { version, staging } = attempt.record;
      const stored = await this.#versions.at(tableId, version, chain);
      if (stored?.content.staging === staging) return attempt;
    }
    return undefined;
  }
}
