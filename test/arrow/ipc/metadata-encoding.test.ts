import { Field, Int32, MessageHeader } from 'apache-arrow';
import { Footer } from 'apache-arrow/ipc/metadata/file';
import { Message } from 'apache-arrow/ipc/metadata/message';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFooter } from '../../../src/arrow/ipc/footer.ts';
import { decodeMessage } from '../../../src/arrow/ipc/message.ts';
import { batchMetadata, footerMetadata } from '../../../src/arrow/ipc/metadata-encoding.ts';
import { schemaOf } from '../../../src/arrow/nested-type.ts';

const count = fc.oneof(fc.nat(100), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
const pairs = fc
  .array(fc.tuple(count, count), { maxLength: 5 })
  .map((all) => all.flatMap((pair) => pair));

const parts = fc.record({
  rows: count,
  bodyBytes: count,
  nodes: pairs,
  buffers: pairs,
  variadic: fc.array(count, { maxLength: 3 }),
});

describe('the metadata of a batch', () => {
  it('is read as it was meant, here and by the package', () => {
    fc.assert(
      fc.property(parts, (told) => {
        const bytes = batchMetadata(told);
        expect(bytes.length % 8).toBe(0);
        const message = decodeMessage(bytes);
        expect(message).toMatchObject({ kind: 'batch', bodyLength: told.bodyBytes });
        if (message.kind !== 'batch') throw new Error('no batch');
        const { rows, nodes, buffers, variadic, codec } = message.header;
        expect([rows, [...nodes], [...buffers], [...variadic], codec]).toEqual([
          told.rows,
          told.nodes,
          told.buffers,
          told.variadic,
          undefined,
        ]);
        expect(message.header.unionBitmaps).toBe(false);
        const other = Message.decode(bytes);
        expect([other.headerType, other.bodyLength]).toEqual([
          MessageHeader.RecordBatch,
          told.bodyBytes,
        ]);
      }),
    );
  });
});

describe('a footer', () => {
  const blocks = fc.array(
    fc.record({ offset: count, metadataBytes: fc.nat(10_000).map((n) => n + 8), bodyBytes: count }),
    { maxLength: 4 },
  );

  it('has its schema and its blocks, whatever was written before', () => {
    const metadata = new Map([
      ['k', 'v'.repeat(77)],
      ['', ''],
      ['é', 'ü€😀'],
    ]);
    const schemas = [
      schemaOf([]),
      schemaOf([new Field('a', new Int32(), true), new Field('bé', new Int32())], metadata),
    ];
    fc.assert(
      fc.property(blocks, blocks, fc.nat(1), (batches, dictionaries, at) => {
        const schema = schemas[at]!;
        const footer = decodeFooter(footerMetadata(schema, batches, dictionaries), Infinity);
        expect(footer).toMatchObject({ batches, dictionaries });
        expect(footer.decoded.schema.names).toEqual(schema.names);
        expect([...footer.decoded.schema.metadata]).toEqual([...schema.metadata]);
      }),
    );
  });

  it('has other metadata in place of that of its schema, as other readers see it', () => {
    const own = schemaOf([new Field('a', new Int32(), true)], new Map([['own', 'text']]));
    const texts = fc.array(fc.tuple(fc.string(), fc.string({ unit: 'binary' })), { maxLength: 5 });
    fc.assert(
      fc.property(blocks, texts, (batches, pairs) => {
        const metadata = new Map(pairs);
        const bytes = footerMetadata(own, batches, [], metadata);
        const { schema } = decodeFooter(bytes, Infinity).decoded;
        expect([...schema.metadata]).toEqual([...metadata]);
        const other = Footer.decode(bytes);
        expect([...other.schema.metadata]).toEqual([...metadata]);
        expect(other.schema.fields.map(({ name }) => name)).toEqual(['a']);
        expect(other.numRecordBatches).toBe(batches.length);
      }),
    );
  });
});
