import type { Static } from 'typebox';
import type { Mask } from '../../protocol/restrictions.ts';
import { parsePattern, subjectFault, type Pattern } from '../lines/pattern.ts';
import { PolicyError, type PolicyFinding } from '../lines/policy-error.ts';
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
}

type Entry = Static<typeof restrictionsSchema>['restrictions'][number];
type Path = readonly (string | number)[];

/**
 * Reads the text of a `restrictions.yaml`.
 * @throws PolicyError with everything that is wrong with it.
 */
export function parseRestrictions(text: string): readonly WrittenRestriction[] {
  const yaml = readTypedYaml(RESTRICTIONS_FILE, text, restrictionsSchema);
  const findings: PolicyFinding[] = [];
  const restrictions = yaml.value.restrictions.map((entry, index) => {
    const lineOf = (path: Path) => yaml.lineOf(['restrictions', index, ...path]);
    return new RestrictionReader(entry, findings, lineOf).read();
  });
  for (const [index, { name, line }] of restrictions.entries()) {
    if (restrictions.findIndex((other) => other.name === name) === index) continue;
    findings.push({
      file: RESTRICTIONS_FILE,
      line,
      text: `two restrictions have the name ${name}`,
    });
  }
  if (findings.length === 0) return restrictions;
  throw new PolicyError(findings.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)));
}

/** Reads one restriction and collects its faults. */
class RestrictionReader {
  readonly #entry: Entry;
  readonly #findings: PolicyFinding[];
  readonly #lineOf: (path: Path) => number;

  constructor(entry: Entry, findings: PolicyFinding[], lineOf: (path: Path) => number) {
    this.#entry = entry;
    this.#findings = findings;
    this.#lineOf = lineOf;
  }

  read(): WrittenRestriction {
    const { name, tables, subjects, except = [], rows, columns = {} } = this.#entry;
    if (rows === undefined && this.#entry.columns === undefined) {
      this.#fault(['name'], `the restriction ${name} has neither rows nor columns`);
    }
    if (rows !== undefined) this.#refuse(['rows'], rowFilterFault(rows));
    subjects?.forEach((text, at) => this.#refuse(['subjects', at], subjectFault(text)));
    except.forEach((text, at) => this.#refuse(['except', at], subjectFault(text)));
    return {
      name,
      line: this.#lineOf(['name']),
      patterns: tables.flatMap((text, at) => this.#pattern(text, at)),
      subjects: subjects ?? null,
      except,
      rows: rows ?? null,
      columns: Object.entries(columns).map(([column, as]) => ({
        column,
        as:
          as === 'hidden'
            ? as
            : readMask(column, as, (text) => this.#fault(['columns', column], text)),
      })),
    };
  }

  #pattern(text: string, at: number): readonly Pattern[] {
    const result = parsePattern(text);
    if ('pattern' in result) return [result.pattern];
    this.#fault(['tables', at], result.fault);
    return [];
  }

  #refuse(path: Path, text: string | undefined): void {
    if (text !== undefined) this.#fault(path, text);
  }

  #fault(path: Path, text: string): void {
    this.#findings.push({ file: RESTRICTIONS_FILE, line: this.#lineOf(path), text });
  }
}
