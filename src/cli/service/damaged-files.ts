import type { Logger } from 'pino';
import type { DamagedFile } from '../../arrow/sealed/file-seal.ts';
import type { Metrics } from '../../gateway/telemetry/metrics.ts';

/** Most files that are listed. Further ones are neither logged nor counted. */
const MOST_FILES = 1000;

const FOLDERS = new Set(['data', 'deletions', 'indices', 'fragments', 'versions']);

/** The kind of a file by its folder in the folder of its table. */
function kindOf(path: string): string {
  const folder = path.split('/').findLast((name) => FOLDERS.has(name));
  const isManifest = folder === 'versions' || folder === 'fragments';
  return isManifest ? 'manifest' : (folder ?? 'other');
}

/** Files of tables that reads found damaged since the start of the process. */
export class DamagedFiles {
  readonly #log: Pick<Logger, 'error'>;
  readonly #metrics: Pick<Metrics, 'count'>;
  readonly #paths = new Set<string>();

  constructor(log: Pick<Logger, 'error'>, metrics: Pick<Metrics, 'count'>) {
    this.#log = log;
    this.#metrics = metrics;
  }

  /** Adds a file. It is logged and counted once. */
  add({ path, part }: Pick<DamagedFile, 'path' | 'part'>): void {
    if (this.#paths.has(path) || this.#paths.size >= MOST_FILES) return;
    this.#paths.add(path);
    this.#metrics.count('damagedFiles', kindOf(path));
    this.#log.error({ file: path, part }, 'a file of a table is damaged: restore it from a backup');
  }

  /** A sentence on the damaged files; undefined if none was found. */
  fault(): string | undefined {
    const [first] = this.#paths;
    if (first === undefined) return undefined;
    const others = this.#paths.size - 1;
    return `${first}${others === 0 ? ' is' : ` and ${others} other files are`} damaged: restore from a backup, then restart`;
  }
}
