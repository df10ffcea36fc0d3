import { Field, Int32, Schema, tableFromIPC } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { openStream } from '../../../src/arrow/ipc/stream-reader.ts';
import {
  chunksOf,
  fileBytes,
  fixture,
  plainRows,
  plainSchema,
  readStream,
  refusal,
  streamBytes,
} from '../support.ts';

describe('reading streams', () => {
  it.each(['scalars', 'nested', 'dictionary-deltas', 'dictionary-replaced'])(
    'reads every value of %s as the package does',
    async (name) => {
      const read = await readStream(fixture(name));
      const table = tableFromIPC(fixture(name));
      const expected = table.batches.filter((batch) => batch.numRows > 0);
      const found = read.batches.filter((batch) => batch.numRows > 0);
      expect(plainRows(found)).toEqual(plainRows(expected));
      expect(read.batches.map((batch) => batch.numRows)).toEqual(
        table.batches.map((batch) => batch.numRows),
      );
    },
  );

  it.each(['scalars', 'nested'])('reads %s alike, plain, LZ4 and ZSTD', async (name) => {
    const plain = await readStream(fixture(name));
    for (const codec of ['lz4', 'zstd']) {
      const compressed = await readStream(fixture(`${name}-${codec}`));
      expect(plainRows(compressed.batches)).toEqual(plainRows(plain.batches));
      expect(plainSchema(compressed.schema)).toEqual(plainSchema(plain.schema));
    }
  });

  it.each([1, 7, 4096])('reads chunks of %i bytes', async (size) => {
    const bytes = fixture('nested-lz4');
    const whole = await readStream(bytes);
    const pieces = await readStream(bytes, {}, size);
    expect(plainRows(pieces.batches)).toEqual(plainRows(whole.batches));
    expect(pieces.bytesRead).toBe(bytes.length);
  });

  it('reads what the LanceDB client sends to create a table', async () => {
    const { schema, batches } = await readStream(fixture('lancedb-create'));
    expect(schema.fields.map((field) => `${field.name}: ${String(field.type)}`)).toEqual([
      'id: Float64',
      'text: Utf8',
      'vector: FixedSizeList[8]<Float32>',
      'tags: List<Utf8>',
      'ok: Bool',
      'maybe: Float64',
      'nested: Struct<{x:Float64, y:Utf8}>',
    ]);
    expect(batches.map((batch) => batch.numRows)).toEqual([120]);
    const [batch] = batches;
    expect(batch?.getChild('id')?.get(119)).toBe(119);
    expect(batch?.getChild('text')?.get(119)).toBe('the quick brown fox number 0');
    expect([...batch!.getChild('vector')!.get(3)]).toEqual([
      0, 0.75, 1.5, 2.25, 3, 3.75, 0.5, 1.25,
    ]);
    expect(batch?.getChild('maybe')?.get(4)).toBeNull();
  });

  it('reads LZ4 frames whose blocks refer to earlier ones', async () => {
    const { batches } = await readStream(fixture('lz4-linked'));
    const expected = BigInt64Array.from({ length: 40_000 }, (_, row) => BigInt(row % 1000));
    expect(batches[0]?.getChild('n')?.toArray()).toEqual(expected);
  });

  it('keeps 64-bit integers exact', async () => {
    const { batches } = await readStream(fixture('scalars'));
    expect(batches[0]?.getChild('int64')?.get(0)).toBe(2n ** 63n - 1n);
    expect(batches[0]?.getChild('uint64')?.get(0)).toBe(2n ** 64n - 1n);
    expect(batches[0]?.getChild('int64')?.get(1)).toBe(-(2n ** 63n - 2n));
  });

  it('keeps metadata of schema and fields', async () => {
    const { schema } = await readStream(fixture('nested'));
    expect([...schema.metadata]).toEqual([
      ['origin', 'pyarrow'],
      ['empty', ''],
    ]);
    const struct = schema.fields.find((field) => field.name === 'struct');
    expect([...struct!.type.children[0].metadata]).toEqual([['k', 'v']]);
  });

  it('hands a batch out before the next one has come', async () => {
    const { schema, batches } = await readStream(fixture('scalars'));
    const bytes = streamBytes(schema, [batches[0]!, batches[0]!]);
    const half = streamBytes(schema, [batches[0]!]).length - 8;
    const sent: string[] = [];
    async function* source(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, half);
      sent.push('rest');
      yield bytes.subarray(half);
    }
    const rows = (await openStream(source())).batches();
    const first = await rows.next();
    expect(first.done).toBe(false);
    expect(sent).toEqual([]);
    expect((await rows.next()).done).toBe(false);
    expect(sent).toEqual(['rest']);
  });

  it('ends the source when it is left early or fails', async () => {
    const ended: string[] = [];
    async function* source(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
      try {
        yield* chunksOf(bytes, 100);
      } finally {
        ended.push('ended');
      }
    }
    const stream = await openStream(source(fixture('scalars')));
    for await (const batch of stream.batches()) {
      expect(batch.numRows).toBeGreaterThan(0);
      break;
    }
    expect(ended).toEqual(['ended']);
    await expect(openStream(source(new Uint8Array(500)))).rejects.toThrow(
      'not an Arrow IPC stream',
    );
    expect(ended).toEqual(['ended', 'ended']);
  });

  it('reads streams that end without a marker, and a schema alone', async () => {
    const bytes = fixture('scalars');
    const whole = await readStream(bytes);
    const unmarked = await readStream(bytes.subarray(0, -8));
    expect(plainRows(unmarked.batches)).toEqual(plainRows(whole.batches));
    const empty = await readStream(streamBytes(whole.schema, []));
    expect(empty.batches).toEqual([]);
    expect(plainSchema(empty.schema)).toEqual(plainSchema(whole.schema));
  });

  it('reads a file without dictionaries in place of a stream', async () => {
    const { schema, batches } = await readStream(fixture('scalars'));
    const bytes = fileBytes(schema, batches);
    const read = await readStream(bytes);
    expect(plainRows(read.batches)).toEqual(plainRows(batches));
    expect(read.bytesRead).toBe(bytes.length);
  });

  it('reads unions of the metadata version V4', async () => {
    const { batches } = await readStream(fixture('version-4-union'));
    expect(plainRows(batches)).toEqual([
      [['0', '1'], '1'],
      [['1', '62'], '2'],
    ]);
  });
});

describe('refused streams', () => {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);
  const scalars = fixture('scalars');
  const cases: readonly (readonly [string, Uint8Array, string])[] = [
    ['nothing', new Uint8Array(0), 'corrupt: The stream is empty: it has no schema.'],
    [
      'JSON',
      text('{"id": "not arrow"}'),
      'corrupt: The bytes are not an Arrow IPC stream: a message does not begin with its marker.',
    ],
    [
      'three bytes',
      text('abc'),
      'corrupt: The stream ends after 3 of the 8 bytes of the beginning of a message.',
    ],
    [
      'a stream without schema',
      Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0),
      'corrupt: The stream is empty: it has no schema.',
    ],
    [
      'a negative length',
      Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 255),
      'corrupt: A message declares a length of -16777216 bytes.',
    ],
    [
      'metadata of 2 GiB',
      Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 127),
      'limit: A message has 2147483647 bytes of metadata, 16777216 are allowed.',
    ],
    [
      'bytes after the end',
      new Uint8Array(Buffer.concat([scalars, Buffer.of(0)])),
      'corrupt: Bytes follow the end of the stream.',
    ],
    [
      'two streams in one',
      new Uint8Array(Buffer.concat([scalars.subarray(0, -8), scalars])),
      'corrupt: The stream has a second schema.',
    ],
    [
      'a run-end encoded column',
      fixture('refused-run-end-encoded'),
      'unsupported: Column "ree" has the type RunEndEncoded, which is not supported.',
    ],
    [
      'a list view',
      fixture('refused-list-view'),
      'unsupported: Column "lv" has the type ListView, which is not supported.',
    ],
    [
      'a large list view in a struct',
      fixture('refused-large-list-view'),
      'unsupported: Column "s.lv" has the type LargeListView, which is not supported.',
    ],
    [
      'a dictionary with 64-bit indices',
      fixture('refused-dictionary-64'),
      'unsupported: Column "d" has the type a dictionary with 64-bit indices, which is not supported.',
    ],
    [
      'the framing before Arrow 0.15',
      fixture('refused-legacy-framing'),
      'unsupported: The stream uses the framing of Arrow before 0.15, which is not supported.',
    ],
    [
      'two columns of one name',
      fixture('refused-duplicate-names'),
      'unsupported: The schema has two fields of the name "x".',
    ],
  ];

  it.each(cases)('refuses %s', async (_, bytes, expected) => {
    expect(await refusal(bytes)).toBe(expected);
  });

  it('refuses a body above the limit before it is read', async () => {
    expect(await refusal(scalars, { batchBytes: 1000 })).toMatch(
      /^limit: The body of a message has \d+ bytes, 1000 are allowed\.$/,
    );
  });

  it('refuses decompressed batches above the limit', async () => {
    const bytes = fixture('lancedb-create');
    expect(await refusal(bytes, { batchBytes: 6000 })).toBe(
      'limit: A batch has more than 6000 bytes after decompression.',
    );
  });
});

describe('schemas of streams', () => {
  it('are one object where their messages are equal', async () => {
    const [one, other] = [
      await readStream(fixture('scalars')),
      await readStream(fixture('scalars')),
    ];
    expect(other.schema).toBe(one.schema);
    expect(plainRows(other.batches)).toEqual(plainRows(one.batches));
    expect((await readStream(fixture('nested'))).schema).not.toBe(one.schema);
  });

  it('are objects of their own where they have dictionaries, whose ids are those of one stream', async () => {
    const read = () => readStream(fixture('dictionary-replaced'));
    const [one, other] = [await read(), await read()];
    expect(other.schema).not.toBe(one.schema);
    expect(plainSchema(other.schema)).toEqual(plainSchema(one.schema));
  });

  it('are not kept where their messages are long', async () => {
    const names = Array.from({ length: 200 }, (_, at) => `a column with a long name, ${at}`);
    const schema = new Schema(names.map((name) => new Field(name, new Int32(), true)));
    const bytes = streamBytes(schema, []);
    const read = () => readStream(bytes);
    expect((await read()).schema).not.toBe((await read()).schema);
  });
});
