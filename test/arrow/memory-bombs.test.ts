import { Field, Int64, Message, Null, Utf8 } from 'apache-arrow';
import {
  BodyCompression,
  BufferRegion,
  FieldNode,
  RecordBatch as BatchHeader,
} from 'apache-arrow/ipc/metadata/message';
import { compressFrameSync } from 'lz4-napi';
import { describe, expect, it } from 'vitest';
import { framed, encodeSchema } from '../../src/arrow/ipc/schema-encoding.ts';
import { schemaOf } from '../../src/arrow/nested-type.ts';
import { refusal } from './support.ts';

interface Batch {
  readonly rows: number;
  readonly nodes: readonly [number, number][];
  readonly buffers: readonly [number, number][];
  readonly body?: Uint8Array;
  readonly bodyLength?: number;
  readonly codec?: 0 | 1;
}

/** A stream with one batch of any claims, over one column. */
function streamOf(field: Field, batch: Batch): Uint8Array {
  const body = batch.body ?? new Uint8Array(0);
  const header = new BatchHeader(
    batch.rows,
    batch.nodes.map(([length, nulls]) => new FieldNode(length, nulls)),
    batch.buffers.map(([offset, length]) => new BufferRegion(offset, length)),
    batch.codec === undefined ? null : new BodyCompression(batch.codec),
  );
  const message = Message.encode(Message.from(header, batch.bodyLength ?? body.length));
  return new Uint8Array(
    Buffer.concat([encodeSchema(schemaOf([field])), framed(message, 0, 8), body]),
  );
}

const ints = new Field('n', new Int64(), true);

/** A compressed buffer with the length that it declares. */
function compressed(declared: bigint, data: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(8 + data.length + ((8 - (data.length % 8)) % 8));
  bytes.writeBigInt64LE(declared);
  bytes.set(data, 8);
  return bytes;
}

describe('small messages that stand for much memory', () => {
  const frame = compressFrameSync(Buffer.alloc(1_000_000));
  const packed = (declared: bigint): Batch => {
    const body = compressed(declared, frame);
    return {
      rows: 1,
      nodes: [[1, 0]],
      buffers: [
        [0, 0],
        [0, body.length],
      ],
      body,
      codec: 0,
    };
  };
  const cases: readonly (readonly [string, Field, Batch, string])[] = [
    [
      'a body of 2^50 bytes',
      ints,
      { rows: 1, nodes: [[1, 0]], buffers: [], bodyLength: 2 ** 50 },
      'limit: The body of a message has 1125899906842624 bytes, 1073741824 are allowed.',
    ],
    [
      'a body that never comes',
      ints,
      { rows: 1, nodes: [[1, 0]], buffers: [], bodyLength: 2 ** 30 },
      'corrupt: The stream ends before the body of a message.',
    ],
    [
      'rows without bytes',
      new Field('n', new Null(), true),
      { rows: 2 ** 31 - 1, nodes: [[2 ** 31 - 1, 2 ** 31 - 1]], buffers: [] },
      'limit: A batch declares 2147483647 rows, 1048576 are allowed for its bytes.',
    ],
    [
      'a declared length of 2^40 bytes',
      ints,
      packed(2n ** 40n),
      'limit: A batch has more than 1073741824 bytes after decompression.',
    ],
    [
      'a declared length of 2^62 bytes',
      ints,
      packed(2n ** 62n),
      'limit: A batch has more than 1073741824 bytes after decompression.',
    ],
    [
      'a negative declared length',
      ints,
      packed(-2n),
      'corrupt: A compressed buffer declares -2 bytes.',
    ],
    [
      'a frame that holds more than it declares',
      ints,
      packed(1000n),
      'corrupt: An LZ4 block is damaged or holds more than its buffer declares.',
    ],
    [
      'a frame that holds less than it declares',
      ints,
      packed(1_000_008n),
      'corrupt: A compressed buffer declares 1000008 bytes, but holds 1000000.',
    ],
    [
      'buffers that overlap',
      new Field('s', new Utf8(), true),
      {
        rows: 1,
        nodes: [[1, 0]],
        buffers: [
          [0, 8],
          [0, 8],
          [0, 8],
        ],
        body: new Uint8Array(8),
      },
      'corrupt: The buffers of a message overlap.',
    ],
    [
      'a buffer outside the body',
      ints,
      {
        rows: 1,
        nodes: [[1, 0]],
        buffers: [
          [0, 0],
          [8, 8],
        ],
        body: new Uint8Array(8),
      },
      'corrupt: A buffer of 8 bytes at 8 lies outside the body of 8 bytes.',
    ],
    [
      'more nulls than rows',
      ints,
      {
        rows: 1,
        nodes: [[1, 2]],
        buffers: [
          [0, 0],
          [0, 8],
        ],
        body: new Uint8Array(8),
      },
      'corrupt: Column "n" declares 1 rows and 2 nulls.',
    ],
    [
      'other nulls than its validity has',
      ints,
      {
        rows: 1,
        nodes: [[1, 0]],
        buffers: [
          [0, 8],
          [8, 8],
        ],
        body: new Uint8Array(16),
      },
      'corrupt: Column "n" declares 0 nulls, its validity has 1.',
    ],
    [
      'a column with other rows than the batch',
      ints,
      {
        rows: 2,
        nodes: [[1, 0]],
        buffers: [
          [0, 0],
          [0, 8],
        ],
        body: new Uint8Array(8),
      },
      'corrupt: Column "n" has 1 rows, its batch has 2.',
    ],
    [
      'nodes that no column has',
      ints,
      {
        rows: 1,
        nodes: [
          [1, 0],
          [1, 0],
        ],
        buffers: [
          [0, 0],
          [0, 8],
        ],
        body: new Uint8Array(8),
      },
      'corrupt: A message has 1 nodes and 0 buffers more than its schema.',
    ],
  ];

  it.each(cases)('%s', async (_, field, batch, expected) => {
    expect(await refusal(streamOf(field, batch))).toBe(expected);
  });

  it('accepts the same column with sound claims', async () => {
    const body = compressed(1_000_000n, frame);
    const sound: Batch = {
      rows: 125_000,
      nodes: [[125_000, 0]],
      buffers: [
        [0, 0],
        [0, body.length],
      ],
      body,
      codec: 0,
    };
    expect(await refusal(streamOf(ints, sound))).toBe('read');
  });
});
