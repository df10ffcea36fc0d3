import { execFileSync } from 'node:child_process';
import { arch, cpus, loadavg, platform, release, tmpdir, totalmem } from 'node:os';

/** Where and when numbers were made, one fact a line: numbers of two machines cannot be compared. */
export function systemLines(command: string): readonly string[] {
  const processors = cpus();
  const gibibytes = (totalmem() / 2 ** 30).toFixed(0);
  return [
    `- date: ${new Date().toISOString()}`,
    `- machine: ${processors.length} × ${processors[0]?.model ?? 'unknown'}, ${gibibytes} GiB of memory`,
    `- system: ${platform()} ${release()} ${arch()}, Node ${process.versions.node}`,
    `- load before: ${loadavg()
      .map((load) => load.toFixed(2))
      .join(' ')}`,
    `- data in: ${tmpdir()} (${fileSystemOf(tmpdir())})`,
    `- command: ${command}`,
  ];
}

/** The kind of file system: on one in memory, stable storage costs nothing. */
function fileSystemOf(folder: string): string {
  try {
    return execFileSync('stat', ['--file-system', '--format=%T', folder], {
      encoding: 'utf8',
    }).trim();
  } catch {
    return 'unknown file system';
  }
}
