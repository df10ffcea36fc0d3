import { describe, expect, it } from 'vitest';
import { schemaInVocabulary, typeInVocabulary } from '../../src/arrow/json-type.ts';

const item = (type: string) => [{ name: 'item', nullable: true, type: { type } }];

describe('A type of the namespace vocabulary in that of LanceDB', () => {
  it.each([
    [{ type: 'utf8' }, { type: 'string' }],
    [{ type: 'float32' }, { type: 'float' }],
    [{ type: 'int64' }, { type: 'int64' }],
    [{ type: 'date32' }, { type: 'date32:day' }],
    [{ type: 'timestamp' }, { type: 'timestamp:us:-' }],
    [{ type: 'decimal128', length: 38_010 }, { type: 'decimal:128:38:10' }],
    [{ type: 'decimal64', length: 10_002 }, { type: 'decimal:128:10:2' }],
    [
      { type: 'fixed_size_list', length: 2, fields: item('float32') },
      { type: 'fixed_size_list', length: 2, fields: item('float') },
    ],
    [
      { type: 'list', fields: item('utf8') },
      { type: 'list', fields: item('string') },
    ],
    [
      { type: 'union', fields: [{ name: 'a', nullable: false, type: { type: 'utf8' } }] },
      { type: 'struct', fields: [{ name: 'a', nullable: true, type: { type: 'string' } }] },
    ],
    [
      {
        type: 'map',
        fields: [
          {
            name: 'entries',
            nullable: false,
            type: {
              type: 'struct',
              fields: [
                { name: 'key', nullable: false, type: { type: 'utf8' } },
                { name: 'value', nullable: true, type: { type: 'int32' } },
              ],
            },
          },
        ],
      },
      {
        type: 'list',
        fields: [
          {
            name: 'entries',
            nullable: false,
            type: {
              type: 'struct',
              fields: [
                { name: 'key', nullable: false, type: { type: 'string' } },
                { name: 'value', nullable: true, type: { type: 'int32' } },
              ],
            },
          },
        ],
      },
    ],
    // Already there, unknown, and broken.
    [{ type: 'timestamp:ns:UTC' }, { type: 'timestamp:ns:UTC' }],
    [{ type: 'unheard_of' }, { type: 'null', fields: [] }],
    [{ type: 'list' }, { type: 'null' }],
    [{ type: 'decimal128' }, { type: 'null' }],
    [{ type: 'fixed_size_list', length: -1, fields: item('utf8') }, { type: 'null' }],
  ])('%j', (type, expected) => {
    expect(typeInVocabulary(type, 'lance')).toMatchObject({ type: expected.type });
    if (expected.type !== 'null') expect(typeInVocabulary(type, 'lance')).toEqual(expected);
  });
});

describe('A schema in another vocabulary', () => {
  it('keeps its fields and metadata', () => {
    const schema = {
      fields: [
        { name: 'a', nullable: false, type: { type: 'string' }, metadata: { k: 'v' } },
        { name: 'b', type: { type: 'timestamp:ns:UTC' } },
      ],
      metadata: { owner: 'sales' },
    };
    expect(schemaInVocabulary(schema, 'namespace')).toEqual({
      fields: [
        { name: 'a', nullable: false, type: { type: 'utf8' }, metadata: { k: 'v' } },
        { name: 'b', nullable: true, type: { type: 'timestamp' } },
      ],
      metadata: { owner: 'sales' },
    });
  });

  it.each([undefined, null, 'x', [], {}, { fields: [{ name: 1 }] }, { fields: [{ name: 'a' }] }])(
    'is none for %j',
    (value) => {
      expect(schemaInVocabulary(value, 'lance')).toBeUndefined();
    },
  );
});
