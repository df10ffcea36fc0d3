import { columnKinds } from './column-kinds.ts';
import type { Statement } from './statement.ts';
import type { Column, Value } from './value.ts';

/**
 * Where the service does not answer as LanceDB does, and why. Random statements keep away
 * from these; each is shown here by the last of its statements on the table below.
 */
export interface Difference {
  readonly what: string;
  readonly reason: string;
  readonly statements: readonly Statement[];
  /** What LanceDB answers: rows, or `refused`. */
  readonly lancedb: string;
  readonly here: string;
}

function column(name: string, values: readonly Value[], kind = name): Column {
  return { name, type: columnKinds[kind]!.type, values };
}

/** The table that the differences are shown on. */
export const shownOn: readonly Column[] = [
  column('id', [1n, 2n]),
  column('n', [3, 0]),
  column('m', [10n, 20n]),
  column('i8', [127, 1]),
  column('u64', [2n ** 64n - 1n, 0n]),
  column('f64', [1e300, NaN]),
  column('z', [-0, 0]),
  column('t', ['e\u0301', '5']),
  column('d', [18_262, 0]),
  column('ts', [1n, 2n]),
  column('tn', [1_000_000_001n, 2_000_000_000n]),
  column('tz', [0n, 1_585_441_800_000_000n]),
  column('dec', [150n, 0n]),
  column('l', [[1], []]),
  column('k', [[{ key: 'a', value: 1 }], []]),
  column('s', [
    { a: 1, b: 'x' },
    { a: 2, b: 'y' },
  ]),
];

function select(expression: string): readonly Statement[] {
  return [query({ columns: { x: expression } })];
}

function where(filter: string): readonly Statement[] {
  return [query({ columns: ['id'], filter })];
}

function query(asked: Partial<Statement & { kind: 'query' }>): Statement {
  const plain = { filter: null, order: [], limit: null, offset: 0, version: null };
  return { kind: 'query', columns: null, ...plain, ...asked };
}

const onlyHere = 'LanceDB does not take this part of the language';
const typed = 'a mistake is better named than answered';

/** Every deliberate difference that is known. */
export const differences: readonly Difference[] = [
  {
    what: 'an integer overflow',
    reason: 'a wrong number is worse than a refusal',
    statements: select('i8 + 1'),
    lancedb: '-128 / 2',
    here: 'refused',
  },
  {
    what: 'an overflow in a predicate',
    reason: 'a wrong number is worse than a refusal',
    statements: where('i8 + 1 > 0'),
    lancedb: '1 / 2',
    here: 'refused',
  },
  {
    what: 'zero and its negative',
    reason: 'they are equal as numbers are',
    statements: where('z = 0.0'),
    lancedb: '2',
    here: '1 / 2',
  },
  {
    what: 'a NaN with a sign',
    reason: 'a NaN is one value, whatever its bits',
    statements: where('-f64 > 3'),
    lancedb: '',
    here: '2',
  },
  {
    what: 'a date as a text',
    reason: 'users write it, and it means one thing',
    statements: where("d = '2020-01-01'"),
    lancedb: 'refused',
    here: '1',
  },
  {
    what: 'a fraction beside an integer',
    reason: 'the comparison has an answer',
    statements: where('n > 1.5'),
    lancedb: 'refused',
    here: '1',
  },
  {
    what: 'an integer that the column cannot hold',
    reason: 'the comparison has an answer',
    statements: where('i8 < 300'),
    lancedb: 'refused',
    here: '1 / 2',
  },
  {
    what: 'an integer beyond int64',
    reason: 'a uint64 column holds it',
    statements: where('u64 = 18446744073709551615'),
    lancedb: 'refused',
    here: '1',
  },
  {
    what: 'a decimal column and a fraction',
    reason: 'the fraction is as exact as the column',
    statements: where('dec = 1.5'),
    lancedb: 'refused',
    here: '1',
  },
  {
    what: 'timestamps of two units',
    reason: 'LanceDB drops the finer digits before it compares',
    statements: where('ts = tn'),
    lancedb: '1 / 2',
    here: '2',
  },
  {
    what: 'a name in double quotes',
    reason: 'standard SQL',
    statements: select('"n" + 1'),
    lancedb: 'refused',
    here: '1 / 4',
  },
  {
    what: 'a text compared with a number column',
    reason: typed,
    statements: where('t > n'),
    lancedb: '1 / 2',
    here: 'refused',
  },
  {
    what: 'text after the predicate',
    reason: typed,
    statements: where('n = 3; more'),
    lancedb: '1',
    here: 'refused',
  },
  {
    what: 'a literal beside a column',
    reason: 'the column keeps its width; a literal that it holds takes it',
    statements: select('arrow_typeof(coalesce(n, 0))'),
    lancedb: '"Int64" / "Int64"',
    here: '"Int32" / "Int32"',
  },
  {
    what: 'regexp_match IS NOT NULL in a filter',
    reason: 'there LanceDB first makes it true or false, which is never null',
    statements: where("regexp_match(t, '5') is not null"),
    lancedb: '1 / 2',
    here: '2',
  },
  {
    what: 'how often a pattern matches in nothing',
    reason: 'a null stays null, as in the functions beside it',
    statements: select('regexp_count(cast(null as string), t)'),
    lancedb: '0 / 0',
    here: 'null / null',
  },
  {
    what: 'the day of the week by ISO 8601',
    reason: 'the standard counts Monday as 1',
    statements: select("date_part('isodow', d)"),
    lancedb: '2 / 3',
    here: '3 / 4',
  },
  {
    what: 'cardinality of lists in lists',
    reason: 'LanceDB multiplies the lengths of the first ones',
    statements: select('cardinality([l, l, l])'),
    lancedb: '0 / 3',
    here: '3 / 3',
  },
  {
    what: 'uuid',
    reason: 'a change is computed again after a conflict and must give the same',
    statements: select('length(concat(uuid(), nullif(t, t)))'),
    lancedb: '36 / 36',
    here: 'refused',
  },
  {
    what: 'overlay behind the end of a text',
    reason: 'LanceDB drops the text',
    statements: select("overlay(concat('abc', nullif(t, t)), 'X', 9)"),
    lancedb: '"X" / "X"',
    here: '"abcX" / "abcX"',
  },
  {
    what: 'a format with an hour and no minute',
    reason: 'LanceDB reads the date alone and drops the hour',
    statements: select("to_unixtime(concat('2020-01-01 10', nullif(t, t)), '%Y-%m-%d %H')"),
    lancedb: '1577836800 / 1577836800',
    here: '1577872800 / 1577872800',
  },
  {
    what: 'a moment before 1970 in a coarser unit',
    reason: 'it is rounded down, as date_trunc does',
    statements: select(
      "arrow_cast(to_timestamp_millis(n - 4), 'Timestamp(s)') < to_timestamp_seconds(n - n)",
    ),
    lancedb: 'false / false',
    here: 'true / true',
  },
  {
    what: 'a list that holds nothing in a null list',
    reason: 'a null list is not known',
    statements: select('array_has_all(nullif(l, l), [])'),
    lancedb: 'refused',
    here: 'null / null',
  },
  {
    what: 'padding of a letter with a combining mark',
    reason: 'length, left and the others count characters, and padding does as they do',
    statements: select("lpad(t, 3, '*')"),
    lancedb: '"**5" / "**e\u0301"',
    here: '"**5" / "*e\u0301"',
  },
  {
    what: 'CASE',
    reason: onlyHere,
    statements: select("case when n = 3 then 'three' end"),
    lancedb: 'refused',
    here: '"three" / null',
  },
  {
    what: 'substr',
    reason: onlyHere,
    statements: select('substr(t, 1, 1)'),
    lancedb: 'refused',
    here: '"5" / "e"',
  },
  {
    what: 'trim',
    reason: onlyHere,
    statements: select("trim(' x ')"),
    lancedb: 'refused',
    here: '"x" / "x"',
  },
  {
    what: 'floor',
    reason: onlyHere,
    statements: select('floor(n)'),
    lancedb: 'refused',
    here: '0 / 3',
  },
  {
    what: 'EXTRACT',
    reason: onlyHere,
    statements: select('extract(year from d)'),
    lancedb: 'refused',
    here: '1970 / 2020',
  },
  {
    what: 'an element of a map',
    reason: onlyHere,
    statements: select("k['a']"),
    lancedb: 'refused',
    here: '1 / null',
  },
  {
    what: 'a key of another type',
    reason: typed,
    statements: select('map_extract(k, 1)'),
    lancedb: '[null] / [null]',
    here: 'refused',
  },
  {
    what: 'AT TIME ZONE',
    reason: onlyHere,
    statements: select("cast(tz at time zone 'Asia/Tokyo' as string)"),
    lancedb: 'refused',
    here: '"1970-01-01T09:00:00+09:00" / "2020-03-29T09:30:00+09:00"',
  },
  {
    what: 'a moment in a zone as a text',
    reason: 'what is no timestamp to LanceDB here is one in other places',
    statements: where("tz = '1970-01-01T01:00:00'"),
    lancedb: 'refused',
    here: '1',
  },
  {
    what: 'what moments of two zones have in common',
    reason: 'the finer unit, so that no digit is lost',
    statements: select(
      'arrow_typeof(coalesce(tz, arrow_cast(tz, \'Timestamp(s, "Asia/Tokyo")\')))',
    ),
    lancedb: '"Timestamp(s, \\"Asia/Tokyo\\")" / "Timestamp(s, \\"Asia/Tokyo\\")"',
    here: '"Timestamp(µs, \\"Europe/Berlin\\")" / "Timestamp(µs, \\"Europe/Berlin\\")"',
  },
  {
    what: 'the seconds of a duration',
    reason: 'a fraction counts however many seconds there are',
    statements: select("date_part('epoch', tn - ts)"),
    lancedb: '0 / 0',
    here: '0 / 1e-9',
  },
  {
    what: 'JSON in a text',
    reason: 'LanceDB keeps JSON in a form of its own, which columns of texts have not',
    statements: select(`json_get_int(concat('{"a":', n, '}'), 'a')`),
    lancedb: 'refused',
    here: '0 / 3',
  },
  {
    what: 'tokens that are not known',
    reason: 'a null is not known',
    statements: select('contains_tokens(t, cast(null as string))'),
    lancedb: 'true / true',
    here: 'null / null',
  },
  {
    what: 'age',
    reason: onlyHere,
    statements: select("age(ts, ts) = interval '0 days'"),
    lancedb: 'refused',
    here: 'true / true',
  },
  {
    what: 'nvl2 of a text that gives numbers',
    reason:
      'the first argument is only looked at for a null; LanceDB turns the others into its type',
    statements: where('nvl2(t, id, 20) > 14'),
    lancedb: '2',
    here: '',
  },
  {
    what: 'IS DISTINCT FROM',
    reason: onlyHere,
    statements: where('n is distinct from 3'),
    lancedb: 'refused',
    here: '2',
  },
  {
    what: 'LIKE with an escape of its own',
    reason: onlyHere,
    statements: where("t like '!5' escape '!'"),
    lancedb: 'refused',
    here: '2',
  },
  {
    what: 'an interval',
    reason: onlyHere,
    statements: where("d + interval '1 day' > date '2020-01-01'"),
    lancedb: 'refused',
    here: '1',
  },
  {
    what: 'an order by what is not answered, with a limit',
    reason: 'LanceDB fails to plan it',
    statements: [
      query({
        columns: ['id'],
        order: [{ column: 'n', ascending: true, nullsFirst: false }],
        limit: 1,
      }),
    ],
    lancedb: 'refused',
    here: '2',
  },
  {
    what: 'an update of two columns from each other',
    reason: 'new values come from the row as it was',
    statements: [
      { kind: 'update', values: { n: 'm', m: 'n' }, filter: 'id = 1' },
      // Which of the two LanceDB takes first is chance.
      query({ columns: { same: 'n = m' }, filter: 'id = 1' }),
    ],
    lancedb: 'true',
    here: 'false',
  },
  {
    what: 'a null for a column that was added from what is never null',
    reason: 'an added column takes nulls until it is altered not to',
    statements: [
      { kind: 'add', name: 'new', expression: 'coalesce(n, 0)' },
      { kind: 'insert', overwrite: false, rows: [column('id', [9n]), column('new', [null], 'n')] },
      query({ columns: ['id'], filter: 'new is null' }),
    ],
    lancedb: '',
    here: '9',
  },
];
