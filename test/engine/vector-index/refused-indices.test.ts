import {
  Field,
  Int64,
  List,
  makeData,
  makeVector,
  Struct,
  Uint8,
  Utf8,
  Float32,
  vectorFromArray,
  Int16,
} from 'apache-arrow';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { EngineTable } from '../../support/engine-table.ts';
import { vectorsOf, vectorType } from '../../support/vector-column.ts';

let table: EngineTable;

beforeAll(async () => {
  table = await EngineTable.open();
  const bytes = vectorType(513, new Uint8());
  const child = makeData({ type: new Uint8(), data: new Uint8Array(513) });
  await table.create({
    id: vectorFromArray([1n], new Int64()),
    text: vectorFromArray(['a'], new Utf8()),
    list: vectorFromArray([[1, 2]], new List(new Field('item', new Float32(), true))),
    shorts: vectorFromArray([[1, 2]], vectorType(2, new Int16())),
    v: vectorsOf(4, [[1, 2, 3, 4]]),
    long: vectorsOf(4097, [Array.from({ length: 4097 }, () => 1)]),
    bytes: makeVector(makeData({ type: bytes, length: 1, nullCount: 0, child })),
    outer: vectorFromArray([{ v: [1, 2] }], new Struct([new Field('v', vectorType(2), true)])),
  });
});

afterAll(() => table.close());

const made = 'an index of type IVF_FLAT is made of vectors';
const kinds = `${made}, fixed-size lists of floats, int8 or uint8, and the column`;

describe('an index of vectors is refused, and nothing changes,', () => {
  const refused: readonly (readonly [string, object, number, string])[] = [
    ['of integers', { column: 'id' }, 13, `${kinds} "id" is of type int64`],
    ['of texts', { column: 'text' }, 13, `${kinds} "text" is of type utf8`],
    ['of lists', { column: 'list' }, 13, `${kinds} "list" is of type list<float32>`],
    [
      'of other numbers',
      { column: 'shorts' },
      13,
      `${kinds} "shorts" is of type fixed_size_list<int16>[2]`,
    ],
    [
      'of long vectors',
      { column: 'long' },
      13,
      `${made} of 1 to 4096 numbers, those of "long" have 4097`,
    ],
    [
      'of many bits',
      { column: 'bytes', metric_type: 'hamming' },
      13,
      `${made} of 1 to 4096 bits, those of "bytes" have 4104`,
    ],
    [
      'of bits that are none',
      { distance_type: 'hamming' },
      13,
      'the distance hamming is one of vectors of uint8, the type of "v" is fixed_size_list<float32>[4]',
    ],
    [
      'by a distance that nobody knows',
      { distance_type: 'far' },
      13,
      'distance_type must be "l2", "cosine", "dot" or "hamming", not "far"',
    ],
    [
      'by two distances',
      { distance_type: 'l2', metric_type: 'dot' },
      13,
      'distance_type must be the same as metric_type, not "l2"',
    ],
    ['in no partition', { num_partitions: 0 }, 13, 'num_partitions must be at least 1, not 0'],
    ['with no link', { m: -1 }, 13, 'm must be at least 1, not -1'],
    ['of a column that is not there', { column: 'w' }, 12, 'the table has no column "w"'],
    [
      'of a column inside another',
      { column: 'outer.v' },
      0,
      'an index of "outer.v" is not built: it lies inside the column "outer", and indices are made of whole columns',
    ],
    [
      'for inner words',
      { index_type: 'NGRAM' },
      0,
      'an index of type NGRAM is not built: it is for search inside of texts; there are BTREE, BITMAP, LABEL_LIST, FTS and those of vectors, such as IVF_PQ',
    ],
  ];

  it.each(refused)('%s', async (_, body, code, sentence) => {
    const whole = { column: 'v', index_type: 'IVF_FLAT', ...body };
    await table.refuses('create_index', whole, code, sentence);
  });
});
