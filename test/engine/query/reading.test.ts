import { asVisible } from '../../../src/engine/query/scan/visible-snapshot.ts';
import { Field, Int32, Int64, Schema, Utf8, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchOf } from '../../../src/arrow/select.ts';
import { attended } from '../../../src/engine/query/scan/attended.ts';
import { countRows } from '../../../src/engine/query/rows/count.ts';
import type { BatchSource } from '../../../src/engine/query/scan/batch-source.ts';
import { fragmentKey } from '../../../src/engine/format/snapshot.ts';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { answerOf, rowsOf } from '../../support/query-answer.ts';
import { storeTable, type StoredTable } from '../../support/stored-table.ts';
import { vectorsOf, vectorType } from '../../support/vector-column.ts';

/* What a query reads: a source that writes down what it is asked for. */

const schema = new Schema([
  new Field('id', new Int64(), false),
  new Field('even', new Int32(), false),
  new Field('name', new Utf8(), false),
  new Field('vec', vectorType(1), false),
]);

let stored: StoredTable;

beforeAll(async () => {
  const batch = (start: number) => {
    const ids = Array.from({ length: 10 }, (_, index) => start + index);
    const columns = [
      vectorFromArray(ids.map(BigInt), new Int64()),
      vectorFromArray(
        ids.map((id) => id % 2),
        new Int32(),
      ),
      vectorFromArray(ids.map(String), new Utf8()),
      vectorsOf(
        1,
        ids.map((id) => [id]),
      ),
    ];
    return batchOf(schema, columns, ids.length);
  };
  stored = await storeTable(schema, [
    [batch(0), batch(10)],
    [batch(20), batch(30)],
  ]);
});

afterAll(() => stored.remove());

/** A source that writes down each batch that it gives: `file.batch columns`. The next batch may come early. */
function recording(): { readonly source: BatchSource; readonly reads: string[] } {
  const reads: string[] = [];
  const note = (file: string, index: number, columns: readonly string[]) => {
    const number = stored.snapshot.fragments.findIndex(
      (fragment) => fragmentKey(fragment) === file,
    );
    reads.push(`${number}.${index} ${columns.join(' ')}`.trim());
  };
  const source: BatchSource = {
    async *batches(snapshot, fragment, columns, ahead, range) {
      for await (const batch of stored.reader.batches(snapshot, fragment, columns, ahead, range)) {
        note(fragmentKey(fragment), batch.index, columns);
        yield batch;
      }
    },
    async batch(snapshot, fragment, index, columns) {
      note(fragmentKey(fragment), index, columns);
      return stored.reader.batch(snapshot, fragment, index, columns);
    },
  };
  return { source, reads };
}

async function readsOf(body: Record<string, JsonValue>): Promise<[string[], unknown[][]]> {
  const { source, reads } = recording();
  const found = await answerOf({ snapshot: stored.snapshot, reader: source }, body);
  return [reads.toSorted(), rowsOf(found).map((row) => Object.values(row))];
}

describe('a scan', () => {
  it('reads only the columns of the answer, and stops with the last row', async () => {
    const [reads, rows] = await readsOf({ columns: ['name'], k: 12 });
    expect(reads).toEqual(['0.0 name', '0.1 name']);
    expect(rows).toHaveLength(12);
  });

  it('does not open files that the offset skips', async () => {
    const [reads, rows] = await readsOf({ columns: ['id'], offset: 25, k: 2 });
    expect(reads).toEqual(['1.0 id']);
    expect(rows).toEqual([[25n], [26n]]);
  });

  it('reads the columns of the answer only of batches with rows that the filter keeps', async () => {
    const [reads, rows] = await readsOf({ filter: "name || '' = '15'", columns: ['id'] });
    const judged = ['0.0 name', '0.1 name', '1.0 name', '1.1 name'];
    expect(reads).toEqual([...judged, '0.1 id'].toSorted());
    expect(rows).toEqual([[15n]]);
  });

  it('reads no batch of which it is known that it has no row to keep', async () => {
    const [reads, rows] = await readsOf({ filter: 'id = 15', columns: ['name'] });
    expect(reads).toEqual(['0.1 id', '0.1 name']);
    expect(rows).toEqual([['15']]);
  });

  it('judges no row where it is known that all are kept', async () => {
    const [reads, rows] = await readsOf({ filter: 'id >= 10 and id < 30', columns: ['even'] });
    expect(reads).toEqual(['0.1 even', '1.0 even']);
    expect(rows).toHaveLength(20);
    const [late, rest] = await readsOf({ filter: 'id >= 10', columns: ['id'], offset: 12, k: 2 });
    expect(late).toEqual(['1.0 id']);
    expect(rest).toEqual([[22n], [23n]]);
  });

  it('fails on a row also where another part of the filter would leave it out', async () => {
    const failing = readsOf({ filter: '100 / (id - 5) > 0 and id > 30' });
    await expect(failing).rejects.toThrow(/zero/);
    const [reads] = await readsOf({ filter: 'id > 30 and 100 / (id - 5) > 0', columns: ['id'] });
    expect(reads).toEqual(['1.1 id']);
  });

  it('reads no column to filter by the place of a row', async () => {
    const [reads, rows] = await readsOf({ filter: '_rowoffset = 31', columns: ['id'] });
    expect(reads).toEqual(['1.1', '1.1 id']);
    expect(rows).toEqual([[31n]]);
  });

  it('does not read a column twice', async () => {
    const [reads] = await readsOf({ filter: 'id >= 31', columns: ['id'] });
    expect(reads).toEqual(['1.1 id']);
  });
});

describe('a search', () => {
  it('reads the vectors once, then the rows it found', async () => {
    const body = { vector: [[12], [31]], k: 1, columns: ['name'] };
    const [reads, rows] = await readsOf(body);
    expect(reads).toEqual(['0.0 vec', '0.1 name', '0.1 vec', '1.0 vec', '1.1 name', '1.1 vec']);
    expect(rows).toEqual([
      [0, '12', 0],
      [1, '31', 0],
    ]);
  });

  it('reads vectors only of batches with rows that the filter keeps', async () => {
    const body = { vector: [5], filter: 'id > 28', k: 2, columns: ['id'] };
    const [reads, rows] = await readsOf(body);
    const again = ['1.0 id', '1.1 id'];
    const scanned = ['1.0 id', '1.0 vec', '1.1 id', '1.1 vec'];
    expect(reads).toEqual([...scanned, ...again].toSorted());
    expect(rows.map(([id]) => id)).toEqual([29n, 30n]);
  });
});

describe('a count', () => {
  it('reads nothing without a predicate, and else its columns', async () => {
    const { source, reads } = recording();
    expect(await countRows(source, asVisible(stored.snapshot), null)).toBe(40n);
    expect(reads).toEqual([]);
    expect(await countRows(source, asVisible(stored.snapshot), 'even = 0')).toBe(20n);
    expect(reads).toEqual(['0.0 even', '0.1 even', '1.0 even', '1.1 even']);
  });

  it('reads only batches of which it is not known whether all or none of their rows count', async () => {
    const { source, reads } = recording();
    expect(await countRows(source, asVisible(stored.snapshot), 'id between 5 and 24')).toBe(20n);
    expect(reads).toEqual(['0.0 id', '1.0 id']);
    expect(await countRows(source, asVisible(stored.snapshot), 'id < 20 or id is null')).toBe(20n);
    expect(await countRows(source, asVisible(stored.snapshot), '_rowoffset >= 10')).toBe(30n);
    expect(reads).toHaveLength(2);
  });
});

describe('a source that is attended', () => {
  it('reads nothing more once nobody waits', async () => {
    const { source, reads } = recording();
    const waiting = new AbortController();
    const leaving = attended(source, waiting.signal);
    const snapshot = stored.snapshot;
    const [fragment] = snapshot.fragments;
    const batches = leaving.batches(snapshot, fragment!, ['id']);
    expect((await batches.next()).value).toMatchObject({ index: 0 });
    waiting.abort();
    await expect(batches.next()).rejects.toThrow('aborted');
    await expect(leaving.batch(snapshot, fragment!, 1, ['id'])).rejects.toThrow('aborted');
    await expect(countRows(leaving, asVisible(snapshot), 'even = 0')).rejects.toThrow('aborted');
    expect(reads).not.toContain('1.1 even');
  });

  it('looks for nothing more in indices either', async () => {
    const asked: string[] = [];
    const note = (what: string) => {
      asked.push(what);
      return Promise.reject(new Error('asked'));
    };
    const source: BatchSource = {
      ...recording().source,
      indices: { candidates: () => note('candidates'), rows: () => note('rows') },
      vectors: {
        codes: () => note('codes'),
        load: () => note('load'),
        deletions: () => note('deletions'),
        candidates: () => note('candidates'),
      },
      texts: {
        lengths: () => note('lengths'),
        postings: () => note('postings'),
        visitTokens: async (_snapshot, _file, _from, { turn }) => turn(),
        deletions: () => note('deletions'),
        rows: () => note('rows'),
      },
    };
    const waiting = new AbortController();
    const { indices, vectors, texts } = attended(source, waiting.signal);
    const { snapshot } = stored;
    const file = { index: '', field: 0, path: '', bytes: 0 };
    const turns: string[] = [];
    const turn = async () => void turns.push('turn');
    const visitor = { visit: () => null, turn };
    await texts!.visitTokens(snapshot, file, '', visitor);
    await expect(texts!.postings(snapshot, file, 'word')).rejects.toThrow('asked');
    waiting.abort();
    await expect(texts!.visitTokens(snapshot, file, '', visitor)).rejects.toThrow('aborted');
    await expect(texts!.postings(snapshot, file, 'word')).rejects.toThrow('aborted');
    await expect(texts!.lengths(snapshot, file)).rejects.toThrow('aborted');
    await expect(vectors!.codes('', file)).rejects.toThrow('aborted');
    await expect(vectors!.load('', file, {} as never, [])).rejects.toThrow('aborted');
    const lookup = { root: { kind: 'and', operands: [] }, exact: true, narrow: true } as const;
    const find = () => indices!.candidates(snapshot, snapshot.fragments[0]!, lookup);
    expect(find).toThrow('aborted');
    expect([turns, asked]).toEqual([['turn'], ['postings']]);
  });
});
