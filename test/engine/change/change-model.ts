import * as fc from 'fast-check';

/* A table as a list of rows in memory, and the changes of tables in the plainest way. */

/** A row of the model; its id is never given twice. */
export interface ModelRow {
  readonly rowId: number;
  readonly k: number | null;
  readonly s: string | null;
  readonly n: number | null;
}

export type Sent = Omit<ModelRow, 'rowId'>;

/** True, false or unknown. */
type Truth = boolean | null;

/** A predicate as SQL, and what it is of a row. */
export interface Predicate {
  readonly sql: string;
  readonly of: (row: Sent) => Truth;
}

/** A new value of a column as SQL, and what it is of a row as it was. */
export interface NewValue {
  readonly column: 'n' | 's';
  readonly sql: string;
  readonly of: (row: Sent) => number | string | null;
}

export type Statement =
  | { readonly kind: 'insert'; readonly rows: readonly Sent[] }
  | { readonly kind: 'delete'; readonly predicate: Predicate }
  | {
      readonly kind: 'update';
      readonly predicate: Predicate | null;
      readonly values: readonly NewValue[];
    }
  | {
      readonly kind: 'merge';
      readonly rows: readonly Sent[];
      readonly on: readonly ('k' | 's')[];
      readonly update: boolean;
      /** Whether only rows with a greater `n` are updated. */
      readonly greater: boolean;
      readonly insert: boolean;
      readonly remove: boolean;
      readonly removeIf: Predicate | null;
    };

export interface Counts {
  readonly inserted: number;
  readonly updated: number;
  readonly removed: number;
}

/** The table of the model. A refusal changes nothing. */
export class ModelTable {
  rows: readonly ModelRow[] = [];
  #next = 0;

  /** What a statement does; null when it is refused. */
  run(statement: Statement): Counts | null {
    if (statement.kind === 'insert') return this.#insert(statement.rows);
    if (statement.kind === 'delete') return this.#delete(statement.predicate);
    if (statement.kind === 'update') return this.#update(statement);
    return this.#merge(statement);
  }

  #insert(rows: readonly Sent[]): Counts {
    this.rows = [...this.rows, ...rows.map((row) => ({ ...row, rowId: this.#next++ }))];
    return { inserted: rows.length, updated: 0, removed: 0 };
  }

  #delete({ of }: Predicate): Counts {
    const left = this.rows.filter((row) => of(row) !== true);
    const removed = this.rows.length - left.length;
    this.rows = left;
    return { inserted: 0, updated: 0, removed };
  }

  #update({ predicate, values }: Extract<Statement, { kind: 'update' }>): Counts {
    let updated = 0;
    this.rows = this.rows.map((row) => {
      if (predicate !== null && predicate.of(row) !== true) return row;
      updated++;
      return Object.assign({ ...row }, ...values.map(({ column, of }) => ({ [column]: of(row) })));
    });
    return { inserted: 0, updated, removed: 0 };
  }

  #merge(merge: Extract<Statement, { kind: 'merge' }>): Counts | null {
    const matches = (sent: Sent, row: Sent): boolean =>
      merge.on.every((name) => sent[name] !== null && sent[name] === row[name]);
    const updating = (sent: Sent, row: Sent): boolean =>
      !merge.greater || (sent.n !== null && row.n !== null && sent.n > row.n);
    const before = this.rows;
    const after: ModelRow[] = [];
    const counts = { inserted: 0, updated: 0, removed: 0 };
    for (const row of before) {
      const matching = merge.rows.filter((sent) => matches(sent, row));
      const sources = merge.update ? matching.filter((sent) => updating(sent, row)) : [];
      if (sources.length > 1) return null;
      counts.updated += sources.length;
      const gone =
        merge.remove &&
        matching.length === 0 &&
        (merge.removeIf?.of(row) ?? merge.removeIf === null);
      if (gone) counts.removed++;
      else after.push(sources[0] === undefined ? row : { ...sources[0], rowId: row.rowId });
    }
    this.rows = after;
    if (!merge.insert) return counts;
    const fresh = merge.rows.filter((sent) => !before.some((row) => matches(sent, row)));
    return { ...counts, inserted: this.#insert(fresh).inserted };
  }
}

const numbers = fc.option(fc.integer({ min: 0, max: 7 }), { freq: 6 });
const texts = fc.option(fc.constantFrom('', 'a', 'b', 'ü', 'a longer text than twelve bytes'), {
  freq: 6,
});
const sentRows = (maxLength: number) =>
  fc.array(fc.record<Sent>({ k: numbers, s: texts, n: numbers }), { maxLength });

function compared(
  name: 'k' | 'n',
  operator: string,
  compare: (left: number, right: number) => boolean,
) {
  return fc.integer({ min: 0, max: 7 }).map((value): Predicate => ({
    sql: `${name} ${operator} ${value}`,
    of: (row) => (row[name] === null ? null : compare(row[name], value)),
  }));
}

const simple: fc.Arbitrary<Predicate> = fc.oneof(
  compared('k', '=', (left, right) => left === right),
  compared('n', '<', (left, right) => left < right),
  compared('k', '>=', (left, right) => left >= right),
  fc.constant<Predicate>({ sql: 'n is null', of: ({ n }) => n === null }),
  fc.constant<Predicate>({ sql: "s = 'a'", of: ({ s }) => (s === null ? null : s === 'a') }),
  fc.constant<Predicate>({ sql: 'true', of: () => true }),
);

const both = (left: Predicate, right: Predicate): Predicate => ({
  sql: `(${left.sql} and ${right.sql})`,
  of: (row) => {
    const states = [left.of(row), right.of(row)];
    return states.includes(false) ? false : states.includes(null) ? null : true;
  },
});

const negated = ({ sql, of }: Predicate): Predicate => ({
  sql: `not (${sql})`,
  of: (row) => {
    const state = of(row);
    return state === null ? null : !state;
  },
});

const predicates: fc.Arbitrary<Predicate> = fc.oneof(
  simple,
  fc.tuple(simple, simple).map(([left, right]) => both(left, right)),
  fc.tuple(simple, simple).map(([left, right]) => negated(both(left, right))),
);

const newValues: fc.Arbitrary<readonly NewValue[]> = fc.constantFrom<readonly NewValue[]>(
  [{ column: 'n', sql: 'n + 1', of: ({ n }) => (n === null ? null : n + 1) }],
  [{ column: 'n', sql: 'k', of: ({ k }) => k }],
  [
    { column: 's', sql: 'n', of: ({ n }) => (n === null ? null : String(n)) },
    { column: 'n', sql: '0', of: () => 0 },
  ],
  [{ column: 's', sql: 'null', of: () => null }],
);

/** Statements on a table of the columns `k`, `s` and `n`. */
export const statements: fc.Arbitrary<Statement> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('insert'), rows: sentRows(8) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete'), predicate: predicates }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('update'),
      predicate: fc.option(predicates, { freq: 5 }),
      values: newValues,
    }),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({
        kind: fc.constant('merge'),
        rows: sentRows(6),
        on: fc.constantFrom<readonly ('k' | 's')[]>(['k'], ['s'], ['k', 's']),
        update: fc.boolean(),
        greater: fc.boolean(),
        insert: fc.boolean(),
        remove: fc.boolean(),
        removeIf: fc.option(predicates),
      })
      .filter(({ update, insert, remove }) => update || insert || remove),
  },
);
