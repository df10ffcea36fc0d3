import type { Config } from './config-table.ts';

/** Files are made 0640 and folders 0750; private ones ask for 0600 and 0700 where they are made. */
const UMASK = 0o027;
const FOLDER = 0o777;
/** Rights to pass through the data folder on the way to the folder of Lance clients. */
const PASSING = 0o001;

/** The umask under which this program was started. */
let given: number | undefined;

/** Sets the modes of files and folders that this process makes, independent of the umask. */
export function restrictUmask(): void {
  given ??= process.umask(UMASK);
}

/** Runs a function with the umask that this process was started with, for files that other processes inherit. */
export function withGivenUmask<Result>(work: () => Result): Result {
  if (given === undefined) return work();
  process.umask(given);
  try {
    return work();
  } finally {
    process.umask(UMASK);
  }
}

/** Mode of folders that the gateway makes where Lance clients write. */
export function managedMode({
  'locations.permissions': permissions,
}: Pick<Config, 'locations.permissions'>): number {
  const modes = { owner: 0o700, group: 0o770, all: 0o777 } as const;
  if (permissions !== 'umask') return modes[permissions];
  return FOLDER & ~(given ?? process.umask());
}

/** Mode of the data folder: all users pass through it where all are to reach the folder of Lance clients. */
export function dataFolderMode({
  'locations.permissions': permissions,
}: Pick<Config, 'locations.permissions'>): number {
  return permissions === 'all' ? 0o750 | PASSING : 0o750;
}
