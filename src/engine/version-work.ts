import type { Manifest } from './format/manifest.ts';
import type { Snapshot } from './format/snapshot.ts';
import {
  BackgroundCompaction,
  type CompactionParts,
  type VersionLine,
} from './upkeep/jobs/background-compaction.ts';
import { BackgroundIndexing, type IndexingParts } from './upkeep/jobs/background-indexing.ts';
import type { OnFault } from './upkeep/jobs/job-runner.ts';

/** Background work on new versions: small files are merged, indices are extended. */
export class VersionWork {
  readonly compaction: BackgroundCompaction;
  readonly #indexing: BackgroundIndexing;

  constructor(parts: CompactionParts & IndexingParts) {
    this.compaction = new BackgroundCompaction(parts);
    this.#indexing = new BackgroundIndexing(parts);
  }

  /** Looks at a version that a table got. */
  notice(line: VersionLine, manifest: Manifest): void {
    this.compaction.notice(line, manifest);
    this.#indexing.notice(line, manifest);
  }

  /**
   * Checks the newest version of a table that is in use: after a process ended, or after a rename, rows
   * may be left that no index covers.
   */
  attend(line: VersionLine, snapshot: Snapshot): void {
    this.#indexing.notice(line, snapshot);
  }

  /** Begins to work. Errors are reported and have no other effect. */
  start(onFault: OnFault): void {
    this.compaction.start(onFault);
    this.#indexing.start(onFault);
  }

  /** Works no more. What is being written is given up. */
  async stop(): Promise<void> {
    await Promise.all([this.compaction.stop(), this.#indexing.stop()]);
  }
}
