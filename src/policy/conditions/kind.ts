import type { TermReader } from './term-reader.ts';

/** Result of a term: true, false, its variable is missing, or its value is still open. */
export type TermResult = boolean | 'missing' | 'open';

/** A term of a condition, compiled. `Now` has the values that conditions are judged by. */
export interface Term<Now> {
  /** As it is written. */
  readonly text: string;
  /** The variable that it is about, as it is written: `ip`, `day`, `ctx.team`. */
  readonly variable: string;
  /** Name of the value that it reads: `time` for a term about days. */
  readonly looksAt: string;
  /** Terms of the same group can exclude each other. */
  readonly group: string;
  outcome(now: Now): TermResult;
  /** The value that its variable has, for a reader; undefined if it is missing. */
  shown(now: Now): string | undefined;
  /** Whether some value makes it and the others of its group true. */
  canMeet(group: readonly Term<Now>[]): boolean;
}

/** Names of values that are unknown: a condition on one is judged in the caller's favour. */
export interface Openness {
  readonly open?: ReadonlySet<string> | undefined;
}

/** One kind of condition: how a term of it is read, judged and shown. */
export interface KindRow<Now, Value, Details> {
  /** The word that a term begins with; one that ends with `.KEY` has a variable for each key. */
  readonly variable: string;
  /** Terms as an author writes them. */
  readonly examples: readonly string[];
  /** The variable's meaning, a phrase for the reference. */
  readonly about: string;
  /** The value that its terms read. */
  readonly source: { readonly name: string };
  /** The key, if it is one. @throws ConditionFault */
  readonly key?: (key: string) => string;
  /** Reads what follows the variable. @throws ConditionFault */
  readonly read: (reader: TermReader, variable: string) => Details;
  /** The time zone that it gives to terms of the condition that name none. */
  readonly zone?: (details: Details) => string;
  /** Completes what was read once all terms are. @param zones Those that terms of the condition give. @throws ConditionFault */
  readonly settle?: (details: Details, text: string, zones: ReadonlySet<string>) => Details;
  /** The value; undefined if it is missing, null while it is open. */
  readonly value: (now: Now, key: string) => Value | null | undefined;
  /** The value for a reader; undefined if it is missing. */
  readonly shown: (now: Now, key: string, details: Details) => string | undefined;
  /** Compiles a term: whether a value that is there makes it true. */
  readonly test: (details: Details) => (value: Value) => boolean;
  /** Property that terms must share, beside their variable, to exclude each other. */
  readonly group?: (details: Details) => string;
  /** Whether some value makes all these terms true. */
  readonly canMeet: (terms: readonly Details[]) => boolean;
}

/** A term that was read; the zone of another may still be missing in it. */
export interface ReadTerm<Now> {
  readonly zone: string | undefined;
  /** @throws ConditionFault */
  settle(zones: ReadonlySet<string>): Term<Now>;
}

/** A row without the types of its own that no other row needs. */
export interface ConditionKind<Now, Source> {
  readonly variable: string;
  readonly examples: readonly string[];
  readonly about: string;
  readonly source: Source;
  /** Reads a term from behind its variable on; undefined if the word begins none of this kind. @throws ConditionFault */
  readTerm(word: string, reader: TermReader): ReadTerm<Now> | undefined;
}

const KEY = '.KEY';

/** Whether a kind has a variable for each key, such as `ctx.KEY`. */
export function isKeyed({ variable }: { readonly variable: string }): boolean {
  return variable.endsWith(KEY);
}

/** A row as the parser and the reference use it. */
export function conditionKind<
  Now extends Openness,
  Value,
  Details,
  Source extends { name: string },
>(row: KindRow<Now, Value, Details> & { readonly source: Source }): ConditionKind<Now, Source> {
  const { variable, examples, about, source } = row;
  const readTerm = (word: string, reader: TermReader): ReadTerm<Now> | undefined => {
    const key = keyIn(row, word);
    if (key === undefined) return undefined;
    const start = reader.position - 1;
    const read = row.read(reader, word);
    const text = reader.textSince(start);
    const settle = (zones: ReadonlySet<string>): Term<Now> => {
      const details = row.settle?.(read, text, zones) ?? read;
      return new CompiledTerm(row, { text, variable: word, key, details });
    };
    return { zone: row.zone?.(read), settle };
  };
  return { variable, examples, about, source, readTerm };
}

/** The key that a word names; empty for a kind without keys, undefined if the word is another variable. */
function keyIn<Now, Value, Details>(
  row: KindRow<Now, Value, Details>,
  word: string,
): string | undefined {
  if (!isKeyed(row)) return word === row.variable ? '' : undefined;
  const before = row.variable.slice(0, 1 - KEY.length);
  if (!word.startsWith(before)) return undefined;
  const key = word.slice(before.length);
  return row.key?.(key) ?? key;
}

interface Written<Details> {
  readonly text: string;
  readonly variable: string;
  readonly key: string;
  readonly details: Details;
}

class CompiledTerm<Now extends Openness, Value, Details> implements Term<Now> {
  readonly text: string;
  readonly variable: string;
  readonly looksAt: string;
  readonly group: string;
  readonly #row: KindRow<Now, Value, Details>;
  readonly #key: string;
  readonly #details: Details;
  readonly #test: (value: Value) => boolean;

  constructor(row: KindRow<Now, Value, Details>, written: Written<Details>) {
    const { text, variable, key, details } = written;
    this.text = text;
    this.variable = variable;
    this.looksAt = isKeyed(row) ? `${row.source.name}.${key}` : row.source.name;
    this.group = row.group === undefined ? variable : `${variable} ${row.group(details)}`;
    this.#row = row;
    this.#key = key;
    this.#details = details;
    this.#test = row.test(details);
  }

  /** A missing or open value never reaches the test of a row: what it means is the same for all kinds. */
  outcome(now: Now): TermResult {
    if (now.open?.has(this.looksAt) === true) return 'open';
    const value = this.#row.value(now, this.#key);
    if (value === null) return 'open';
    return value === undefined ? 'missing' : this.#test(value);
  }

  shown(now: Now): string | undefined {
    return this.#row.shown(now, this.#key, this.#details);
  }

  canMeet(group: readonly Term<Now>[]): boolean {
    return this.#row.canMeet(group.flatMap((term) => (this.#isLike(term) ? [term.#details] : [])));
  }

  #isLike(term: Term<Now>): term is CompiledTerm<Now, Value, Details> {
    return term instanceof CompiledTerm && term.#row === this.#row;
  }
}
