import type { JournalState } from './journal-state.ts';

/**
 * What a journal lacks, one sentence each: changes that may have been
 * acknowledged and cannot be restored. None for one that a crash cut off.
 */
export function lostLines({ holes, forks, damages, spoilt }: JournalState): readonly string[] {
  return [
    ...damages
      .filter(({ last }) => !last)
      .map(({ file, line }) => `line ${line} of ${file} in the journal is damaged`),
    ...holes.map(([first, last]) =>
      first === last
        ? `change ${first} is not in the journal`
        : `changes ${first} to ${last} are not in the journal`,
    ),
    ...forks.map((sequence) => `two different changes in the journal have the number ${sequence}`),
    ...spoilt.map((name) => `the snapshot ${name} of the journal is damaged`),
  ];
}
