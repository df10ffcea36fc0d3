import type { Static } from 'typebox';
import type { Mask } from '../../protocol/restrictions.ts';
import type { Pattern } from '../lines/pattern.ts';
import { readNamedEntries, type EntryFaults } from './entry-reader.ts';
import { readCanary, type WrittenCanary } from './canaries.ts';
import { readMask } from './masks.ts';
import { restrictionsSchema } from './restrictions-schema.ts';
import { rowFilterFault } from './row-values.ts';
import { readTypedYaml } from './typed-yaml.ts';

export const RESTRICTIONS_FILE = 'restrictions.yaml';

/** A restriction as the policy folder has it: plain data, which moves between threads. */
export interface WrittenRestriction {
  readonly name: string;
  readonly line: number;
  readonly patterns: readonly Pattern[];
  /** Names of bound principals; null for everyone. */
  readonly subjects: readonly string[] | null;
  /** Names of exempt principals. */
  readonly except: readonly string[];
  /** SQL that names values of the caller; null for all rows. */
  readonly rows: string | null;
  readonly columns: readonly { readonly column: string; readonly as: Mask | 'hidden' }[];
  /** Absent if there is none. It binds everyone but `except`, whatever `subjects` says. */
  readonly canary?: WrittenCanary;
}

type Entry = Static<typeof restrictionsSchema>['restrictions'][number];

/**
 * Reads the text of a `restrictions.yaml`.
 * @throws PolicyError with everything that is wrong with it.
 */
export function parseRestrictions(text: string): readonly WrittenRestriction[] {
  const { value, lineOf } = readTypedYaml(RESTRICTIONS_FILE, text, restrictionsSchema);
  const entries = value.restrictions;
  return readNamedEntries(
    { file: RESTRICTIONS_FILE, key: 'restrictions', entries, lineOf },
    readEntry,
  );
}

function readEntry(entry: Entry, faults: EntryFaults): WrittenRestriction {
  const { name, tables, subjects, except = [], rows, columns } = entry;
  if (rows === undefined && columns === undefined && entry.canary === undefined) {
    faults.add(['name'], `the restriction ${name} has neither rows, columns nor canary`);
  }
  const canary = readCanary(entry, (key, fault) => faults.add([key], fault));
  if (rows !== undefined) faults.add(['rows'], rowFilterFault(rows));
  faults.principals('subjects', subjects ?? []);
  faults.principals('except', except);
  return {
    name,
    line: faults.lineOf(['name']),
    patterns: faults.tables(tables),
    subjects: subjects ?? null,
    except,
    rows: rows ?? null,
    columns: Object.entries(columns ?? {}).map(([column, as]) => ({
      column,
      as:
        as === 'hidden'
          ? as
          : readMask(column, as, (fault) => faults.add(['columns', column], fault)),
    })),
    ...(canary === undefined ? {} : { canary }),
  };
}
