import { Int64, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';

/** A request of few bytes whose expressions ask for more work or memory than a budget has. */
export interface EvaluationAttack {
  readonly name: string;
  /** Method and target; the table is `attacked`. */
  readonly line: string;
  readonly body: object | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What each attack ends with: the sentence names one of the keys. */
export const evaluationRefusal = { status: 400, code: 13, sentence: /\(budget\.(time|memory)\)/ };

/** How many rows the attacked table has. */
export const ATTACKED_ROWS = 1000;

const arrow = { 'content-type': 'application/vnd.apache.arrow.stream' };

/** The rows of the attacked table, as an Arrow stream. */
export function attackedRows(): Uint8Array {
  const rows = Array.from({ length: ATTACKED_ROWS }, (_, row) => row);
  const id = vectorFromArray(rows.map(BigInt), new Int64());
  const name = vectorFromArray(
    rows.map((row) => `row ${row}`),
    new Utf8(),
  );
  return tableToIPC(new Table({ id, name }), 'stream');
}

/** An expression in itself, so many times. */
function nested(depth: number, inner: string, around: (inner: string) => string): string {
  return Array.from({ length: depth }).reduce<string>(around, inner);
}

const long = 'repeat(name, 40000)';
const query = (filter: string) => ({ filter, columns: ['id'], k: 10 });
const lengths = (count: number, text: string) =>
  Array.from({ length: count }, (_, at) => `length(concat(${text}, '${at}'))`).join(' + ');

const QUERY = 'POST /v1/table/attacked/query';

/** Attacks through what expressions do. The first ones were seen to stop a service for everybody. */
export const evaluationAttacks: readonly EvaluationAttack[] = [
  {
    name: 'lengths of repeated texts in a filter',
    line: QUERY,
    body: query(`${lengths(20, long)} < 0`),
  },
  {
    name: 'substr in itself',
    line: QUERY,
    body: query(
      `length(${nested(150, 'repeat(name, 20000)', (inner) => `substr(${inner}, 2)`)}) < 0`,
    ),
  },
  {
    name: 'substr in itself of texts that fit',
    line: QUERY,
    body: query(
      `length(${nested(90, 'repeat(name, 4000)', (inner) => `substr(reverse(${inner}), 2)`)}) < 0`,
    ),
  },
  {
    name: 'many texts one after the other',
    line: 'POST /v1/table/attacked/count_rows',
    body: { predicate: `${lengths(60, 'reverse(repeat(name, 4000))')} < 0` },
  },
  {
    name: 'a plan that is run with long texts',
    line: 'POST /v1/table/attacked/analyze_plan',
    body: query(`${lengths(60, 'reverse(repeat(name, 4000))')} < 0`),
  },
  {
    name: 'a projection of repeated texts',
    line: QUERY,
    body: {
      columns: Object.fromEntries(
        Array.from({ length: 20 }, (_, at) => [`c${at}`, 'repeat(name, 20000)']),
      ),
    },
  },
  {
    name: 'a regular expression replaced in long texts',
    line: QUERY,
    body: query(
      "length(regexp_replace(repeat(name, 20000), '(o|r|.)*?([a-z]+|w)', '$2$1', 'g')) < 0",
    ),
  },
  {
    name: 'a regular expression searched in long texts',
    line: 'POST /v1/table/attacked/count_rows',
    body: { predicate: "regexp_count(repeat(name, 40000), '(a|o|r)*w+[0-9]') < 0" },
  },
  {
    name: 'a delete by repeated texts',
    line: 'POST /v1/table/attacked/delete',
    body: { predicate: `${lengths(40, long)} < 0` },
  },
  {
    name: 'an update with repeated texts',
    line: 'POST /v1/table/attacked/update',
    body: { updates: [['name', nested(8, long, (inner) => `reverse(concat(${inner}, name))`)]] },
  },
  {
    name: 'a column of repeated texts',
    line: 'POST /v1/table/attacked/add_columns',
    body: { new_columns: [{ name: 'long', expression: `concat(${long}, reverse(${long}))` }] },
  },
  {
    name: 'a merge whose condition repeats texts',
    line: `POST /v1/table/attacked/merge_insert?on=id&when_matched_update_all=true&when_matched_update_all_filt=${encodeURIComponent(
      `${lengths(40, 'repeat(target.name, 40000)')} < 0`,
    )}`,
    body: attackedRows(),
    headers: arrow,
  },
  {
    name: 'the distinct elements of a long constant list',
    line: QUERY,
    body: query(
      'array_length(array_distinct(array_concat(range(0, 2000000), range(1000000, 3000000)))) < id',
    ),
  },
  {
    name: 'distances of long texts',
    line: QUERY,
    body: query("levenshtein(repeat(name, 500), repeat('abcdefg ', 500)) < 0"),
  },
  {
    name: 'replacements that multiply',
    line: QUERY,
    body: query(
      "length(replace(replace(repeat(name, 2000), 'r', name), 'o', repeat('x', 100))) < 0",
    ),
  },
  {
    name: 'lists that multiply',
    line: QUERY,
    body: query(
      "length(array_to_string(array_repeat(repeat(name, 1000), 1000), repeat(',', 1000))) < 0",
    ),
  },
];
