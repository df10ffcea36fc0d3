import { rowsOf } from './change.ts';
import type { Manifest } from './manifest.ts';
import type { Snapshot } from './snapshot.ts';

/** Tables at the versions of manifests: the same object for one, so that what is made of it can be kept beside it. */
export class ManifestSnapshots {
  readonly #known = new WeakMap<Manifest, Snapshot>();

  of(manifest: Manifest, tableId: string, folder: string): Snapshot {
    const known = this.#known.get(manifest);
    if (known?.tableId === tableId && known.folder === folder) return known;
    const snapshot = { tableId, folder, rows: rowsOf(manifest), ...manifest };
    this.#known.set(manifest, snapshot);
    return snapshot;
  }
}
