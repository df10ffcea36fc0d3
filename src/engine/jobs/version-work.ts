import type { Manifest } from '../table/manifest.ts';
import { BackgroundCompaction, type CompactionParts, type Line } from './background-compaction.ts';
import { BackgroundIndexing, type IndexingParts } from './background-indexing.ts';
import type { OnFault } from './job-runner.ts';

/** What is done in the background about the versions that tables get: small files are merged, indices follow. */
export class VersionWork {
  readonly compaction: BackgroundCompaction;
  readonly #indexing: BackgroundIndexing;

  constructor(parts: CompactionParts & IndexingParts) {
    this.compaction = new BackgroundCompaction(parts);
    this.#indexing = new BackgroundIndexing(parts);
  }

  /** Looks at a version that a table got. */
  notice(line: Line, manifest: Manifest): void {
    this.compaction.notice(line, manifest);
    this.#indexing.notice(line, manifest);
  }

  /** Begins to work. Faults are told; nothing else is the worse for them. */
  start(onFault: OnFault): void {
    this.compaction.start(onFault);
    this.#indexing.start(onFault);
  }

  /** Works no more. What is being written is given up. */
  async stop(): Promise<void> {
    await Promise.all([this.compaction.stop(), this.#indexing.stop()]);
  }
}
