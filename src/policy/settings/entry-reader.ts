import { Type } from 'typebox';
import { parsePattern, subjectFault, type Pattern } from '../lines/pattern.ts';
import { PolicyError, type PolicyFinding } from '../lines/policy-error.ts';

/** Schema of a text. */
export const plainText = (about: string, expects = 'a text that is not empty') =>
  Type.String({ minLength: 1, expects, description: about });

/** Schema of a list of texts, each once. */
export const distinctTexts = (about: string) =>
  Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    uniqueItems: true,
    expects: 'a list of at least one text, each once',
    description: about,
  });

/** Schema of the name of an entry. */
export const entryName = (about: string) =>
  Type.String({
    pattern: '^[A-Za-z0-9_.-]{1,64}$',
    expects: '1 to 64 letters, digits, dots, dashes and underscores',
    description: about,
  });

/** Keys from an entry to one of its values. */
export type EntryPath = readonly (string | number)[];

/** The list of a policy file, such as `rules` of `commits.yaml`, whose entries have names. */
interface EntryList<Entry> {
  readonly file: string;
  readonly key: string;
  readonly entries: readonly Entry[];
  readonly lineOf: (path: EntryPath) => number;
}

interface NamedEntry {
  readonly name: string;
  readonly line: number;
}

/**
 * Reads the entries of a list.
 * @throws PolicyError with all faults of all entries, and with names that two entries have.
 */
export function readNamedEntries<Entry, Read extends NamedEntry>(
  { file, key, entries, lineOf }: EntryList<Entry>,
  read: (entry: Entry, faults: EntryFaults) => Read,
): readonly Read[] {
  const findings: PolicyFinding[] = [];
  const all = entries.map((entry, index) => {
    const lineIn = (path: EntryPath) => lineOf([key, index, ...path]);
    return read(entry, new EntryFaults(file, findings, lineIn));
  });
  for (const [index, { name, line }] of all.entries()) {
    if (all.findIndex((other) => other.name === name) === index) continue;
    findings.push({ file, line, text: `two ${key} have the name ${name}` });
  }
  if (findings.length === 0) return all;
  throw new PolicyError(findings.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)));
}

/** Collects the faults of one entry. */
export class EntryFaults {
  readonly lineOf: (path: EntryPath) => number;
  readonly #file: string;
  readonly #findings: PolicyFinding[];

  constructor(file: string, findings: PolicyFinding[], lineOf: (path: EntryPath) => number) {
    this.#file = file;
    this.#findings = findings;
    this.lineOf = lineOf;
  }

  /** @param fault Undefined if the value is right. */
  add(path: EntryPath, fault: string | undefined): void {
    if (fault === undefined) return;
    this.#findings.push({ file: this.#file, line: this.lineOf(path), text: fault });
  }

  /** The patterns of the key `tables`; wrong ones are left out. */
  tables(written: readonly string[]): readonly Pattern[] {
    return written.flatMap((each, at) => {
      const result = parsePattern(each);
      if ('pattern' in result) return [result.pattern];
      this.add(['tables', at], result.fault);
      return [];
    });
  }

  /** Checks the names of principals. */
  principals(key: string, names: readonly string[]): void {
    for (const [at, name] of names.entries()) this.add([key, at], subjectFault(name));
  }
}
