import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Connection, Table } from '@lancedb/lancedb';
import { Service } from '../support/service.ts';
import {
  arrow,
  connectTo,
  expectedRefusal,
  refusalOf,
  rowsOf,
  tableOf,
  valuesOf,
} from './lancedb.ts';

let service: Service;
let db: Connection;
let table: Table;

beforeAll(async () => {
  service = await Service.start();
  db = await connectTo(service);
});

afterAll(() => service.stop());

const { Int32, Int64, Utf8, Float64, FixedSizeBinary } = arrow;

beforeEach(async () => {
  table = await db.createTable('events', events(1n), { mode: 'overwrite' });
});

function events(...ids: readonly bigint[]) {
  return tableOf([
    { name: 'id', type: new Int64(), values: ids, nullable: false },
    { name: 'note', type: new Utf8(), values: ids.map((id) => `note ${id}`) },
  ]);
}

function idsOf(query: { toArrow: Table['toArrow'] }): Promise<readonly unknown[]> {
  return valuesOf(query, 'id');
}

describe('add', () => {
  it('appends rows as the next version', async () => {
    const before = await table.version();
    expect(await table.add(events(2n, 3n))).toEqual({ version: before + 1 });
    expect(await table.add(events(4n))).toEqual({ version: before + 2 });
    expect(await idsOf(table)).toEqual([1n, 2n, 3n, 4n]);
  });

  it('takes columns in another order', async () => {
    await table.add(events(7n).select(['note', 'id']));
    expect(await rowsOf(table.query().where('id = 7'))).toEqual([{ id: 7n, note: 'note 7' }]);
  });

  it('appends no rows', async () => {
    await table.add(events());
    expect(await idsOf(table)).toEqual([1n]);
  });

  it('puts rows in the place of all others', async () => {
    const before = await table.version();
    await table.add(events(8n, 9n), { mode: 'overwrite' });
    expect(await idsOf(table)).toEqual([8n, 9n]);
    expect(await table.version()).toBe(before + 1);
    await table.checkout(before);
    expect(await idsOf(table)).toEqual([1n]);
  });

  it('is seen by another connection at once', async () => {
    const other = await (await connectTo(service)).openTable('events');
    await table.add(events(2n));
    expect(await idsOf(other)).toEqual([1n, 2n]);
  });

  it('takes values that the client casts to the type of the column', async () => {
    await table.add(tableOf([{ name: 'id', type: new Int32(), values: [2] }]));
    expect(await rowsOf(table.query().where('id = 2'))).toEqual([{ id: 2n, note: null }]);
  });

  const id = { name: 'id', type: new Int64(), values: [2n] };
  const note = { name: 'note', type: new Utf8(), values: ['x'] };
  const misfits = [
    [
      'without a column that may not be null',
      [note],
      'Column "id" is missing and may not be null.',
    ],
    [
      'with a null where none may be',
      [{ ...id, values: [null] }],
      'Column "id" is not nullable, but has nulls.',
    ],
  ] as const;
  const misfitsInPlace = [
    ...misfits,
    [
      'with another type',
      [id, { name: 'note', type: new Float64(), values: [1.5] }],
      'Column "note" has the type float64, the table has utf8.',
    ],
    [
      'with a column too many',
      [id, note, { ...id, name: 'more' }],
      'The table has no column "more".',
    ],
  ] as const;

  it.each(misfits)('refuses to append rows %s, and changes nothing', async (_, columns, error) => {
    const before = await table.version();
    const refused = await refusalOf(table.add(tableOf(columns)));
    expect(refused).toMatchObject(expectedRefusal(400, 20, error));
    expect(await table.version()).toBe(before);
    expect(await idsOf(table)).toEqual([1n]);
  });

  it.each(misfitsInPlace)(
    'takes rows %s and their columns in the place of all',
    async (_, columns) => {
      const before = await table.version();
      const rows = tableOf(columns);
      await table.add(rows, { mode: 'overwrite' });
      expect(await table.version()).toBe(before + 1);
      const { fields } = await table.schema();
      const named = (field: { readonly name: string; readonly type: unknown }) =>
        `${field.name} ${String(field.type)}`;
      expect(fields.map(named)).toEqual(rows.schema.fields.map(named));
      expect(await table.countRows()).toBe(1);
      await table.checkout(before);
      expect(await idsOf(table)).toEqual([1n]);
    },
  );

  it('refuses a table that was dropped meanwhile', async () => {
    await db.dropTable('events');
    const refused = await refusalOf(table.add(events(2n)));
    expect(refused).toMatchObject({ code: 4, error: 'table /events does not exist' });
  });
});

describe('many writers', () => {
  it('lose no row when they append at once', async () => {
    const tables = await Promise.all(
      Array.from({ length: 6 }, async () => (await connectTo(service)).openTable('events')),
    );
    const before = await table.version();
    const batches = tables.flatMap((writer, index) =>
      Array.from({ length: 5 }, (_, round) => ({ writer, id: BigInt(100 * (index + 1) + round) })),
    );
    const results = await Promise.all(batches.map(({ writer, id }) => writer.add(events(id))));
    const versions = results.map(({ version }) => version).toSorted((a, b) => a - b);
    expect(versions).toEqual(batches.map((_, index) => before + 1 + index));
    const ids = (await idsOf(table)).map(Number).toSorted((a, b) => a - b);
    expect(ids).toEqual([1, ...batches.map(({ id }) => Number(id))]);
  });

  it('make one table when they create it at once', async () => {
    const connections = await Promise.all(Array.from({ length: 4 }, () => connectTo(service)));
    const results = await Promise.allSettled(
      connections.map((connection, index) => connection.createTable('race', events(BigInt(index)))),
    );
    const made = results.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
    expect(made).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason.message).toContain('already exists');
    }
    expect(await idsOf(await db.openTable('race'))).toEqual([BigInt(made[0]!)]);
  });
});

describe('a large insert', () => {
  it('comes back as it went, 50 MiB of it', async () => {
    const width = 4096;
    const rows = (50 * 2 ** 20) / width;
    const bytes = noise(rows * width);
    const large = await db.createEmptyTable('large', blobs(new Uint8Array(0), width).schema);
    await large.add(blobs(bytes, width));
    expect(await large.countRows()).toBe(rows);
    const back = await large.query().select(['blob']).toArrow();
    const parts = back.getChildAt(0)!.data.map(({ values }) => values as Uint8Array);
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
    const last = await rowsOf(large.query().where(`id = ${rows - 1}`));
    expect(last).toEqual([{ id: rows - 1, blob: bytes.slice(-width) }]);
  });
});

/** Bytes that no compression makes smaller. */
function noise(length: number): Uint8Array {
  const words = new Uint32Array(length / 4);
  let state = 1;
  for (let index = 0; index < words.length; index++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[index] = state;
  }
  return new Uint8Array(words.buffer);
}

function blobs(bytes: Uint8Array, width: number) {
  const length = bytes.length / width;
  const type = new FixedSizeBinary(width);
  const blob = arrow.makeData({ type, length, nullCount: 0, data: bytes });
  const data = Int32Array.from({ length }, (_, index) => index);
  const id = arrow.makeData({ type: new Int32(), length, nullCount: 0, data });
  return new arrow.Table({ id: new arrow.Vector([id]), blob: new arrow.Vector([blob]) });
}
