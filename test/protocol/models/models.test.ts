import type { TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/protocol/json.ts';
import {
  checkModel,
  models,
  prepareCheck,
  type Model,
} from '../../../src/protocol/models/models.ts';
import { extensionModels } from '../../../src/protocol/models/models-extension.ts';
import { refusalOf } from '../refusal.ts';
import { specifiedModels } from '../specification.ts';

interface Shape extends TSchema {
  readonly $ref?: string;
  readonly width?: string;
  readonly type?: string;
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape | boolean;
}

const plain: Readonly<Record<string, string>> = {
  limit: 'int',
  int64: 'int64',
  int32: 'int32',
  integer: 'integer',
  float: 'float',
};

/** A schema in the notation of models.json, `|null` written as `?`. */
function notation(shape: Shape): string {
  if (shape.$ref !== undefined) return shape.$ref;
  if (shape.width !== undefined) return plain[shape.width] ?? shape.width;
  if (shape.anyOf?.length === 2 && shape.anyOf[1]?.type === 'null') {
    return `${notation(shape.anyOf[0]!)}?`;
  }
  if (shape.anyOf !== undefined) return 'one of several';
  if (shape.type === 'array') {
    return shape.items?.type === undefined &&
      shape.items?.$ref === undefined &&
      shape.items?.width === undefined
      ? 'array'
      : `${notation(shape.items)}[]`;
  }
  if (shape.type === 'object' && typeof shape.additionalProperties === 'object') {
    return `map<string,${notation(shape.additionalProperties)}>`;
  }
  return shape.type ?? 'unknown';
}

/** A field of models.json in the same notation. */
function expectedField(text: string): [string, string] {
  const [name = '', kind = ''] = text.split(': ');
  return [name, expectedKind(kind)];
}

/** Shapes that the specification has in one form and clients in several. */
const severalShapes = /^\{(?:single_vector|column_names|string_query):/;

function expectedKind(kind: string): string {
  if (severalShapes.test(kind)) return 'one of several';
  const bare = kind
    .replace(/^null\|(.*)$/, '$1?')
    .replace(/\|null(?=>|$)/, '?')
    .replace(/^string\((\w+)\)$/, '$1');
  return bare.replace('number', 'float');
}

function fieldsOf(schema: Shape): Map<string, string> {
  const fields = Object.entries(schema.properties ?? {}).map(([name, shape]): [string, string] => [
    schema.required?.includes(name) === true ? `${name}!` : name,
    notation(shape),
  ]);
  return new Map(fields);
}

/** Fields that LanceDB alone sends or reads; the specification does not have them. */
const lancedbFields: Readonly<Record<string, readonly string[]>> = {
  CreateTableIndexRequest: [
    'metric_type',
    'lance_tokenizer',
    'custom_stop_words',
    'min_ngram_length',
    'max_ngram_length',
    'prefix_only',
    'block_size',
  ],
  RenameTableRequest: ['new_namespace'],
  AddColumnsEntry: ['all_null'],
  UpdateTableResponse: ['rows_updated'],
  DeleteFromTableResponse: ['num_deleted_rows'],
  MergeInsertIntoTableResponse: ['num_attempts', 'num_rows'],
  TableVersion: ['timestamp'],
  QueryTableRequest: ['minimum_nprobes', 'maximum_nprobes', 'approx_mode', 'use_lsm', 'order_by'],
  AnalyzeTableQueryPlanRequest: [
    'minimum_nprobes',
    'maximum_nprobes',
    'approx_mode',
    'use_lsm',
    'order_by',
  ],
};

/** Fields that the specification requires and a request may leave out. */
const relaxed: ReadonlySet<string> = new Set(['k!', 'vector!']);

const records = Object.entries(specifiedModels).filter(
  (entry): entry is [string, readonly string[]] =>
    typeof entry[1] !== 'string' && entry[0] !== 'MultiMatchQuery',
);

function modelOf(name: string): Shape {
  const model: Shape | undefined = (models as Readonly<Record<string, TSchema>>)[name];
  if (model === undefined) throw new Error(`there is no model ${name}`);
  return model;
}

describe('the models and the specification', () => {
  it('have the same names, save those of the routes beside it', () => {
    const own = Object.keys(models).filter((name) => !Object.hasOwn(extensionModels, name));
    expect(own.sort()).toEqual(Object.keys(specifiedModels).sort());
    expect(Object.keys(extensionModels).filter((name) => name in specifiedModels)).toEqual([]);
  });

  it.each(records)('have the same fields in %s', (name, fields) => {
    const isQuery = name === 'QueryTableRequest' || name === 'AnalyzeTableQueryPlanRequest';
    const expected = fields
      .map(expectedField)
      .map(([field, kind]): [string, string] => [
        isQuery && relaxed.has(field) ? field.slice(0, -1) : field,
        kind,
      ]);
    const found = fieldsOf(modelOf(name));
    for (const field of lancedbFields[name] ?? []) {
      expect(found.delete(field)).toBe(true);
    }
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  });

  it.each(Object.entries(specifiedModels).filter(([, kind]) => typeof kind === 'string'))(
    'have the same kind for %s',
    (name, kind) => {
      // A page limit is an integer like others.
      expect(notation(modelOf(name)).replace('int?', 'integer?')).toBe(kind);
    },
  );

  it('name only models that exist', () => {
    const references = JSON.stringify(models).matchAll(/"\$ref":"(\w+)"/g);
    const missing = [...references].map((found) => found[1]!).filter((name) => !(name in models));
    expect(missing).toEqual([]);
  });
});

describe('a body that clients send', () => {
  it.each([
    ['QueryTableRequest', '{"k":5,"prefilter":true,"vector":[],"version":null}'],
    [
      'QueryTableRequest',
      '{"k":10,"prefilter":true,"refine_factor":null,"lower_bound":null,"upper_bound":null,"ef":null,"vector":[1,2.5,100000000000000000000],"nprobes":20,"minimum_nprobes":20,"maximum_nprobes":0,"version":null,"distance_type":"cosine","order_by":[{"column_name":"a","ascending":true,"nulls_first":false}]}',
    ],
    ['QueryTableRequest', '{"k":9223372036854775807,"vector":[[1,2],[3,4]],"columns":["a","b"]}'],
    ['QueryTableRequest', '{"k":9223372036854776000,"vector":null}'],
    ['QueryTableRequest', '{"k":-1,"vector":{"single_vector":[]},"bypass_vector_index":true}'],
    ['QueryTableRequest', '{"vector":{"multi_vector":[[1],[2]]},"columns":{"column_names":["a"]}}'],
    ['QueryTableRequest', '{"columns":{"column_aliases":{"x":"a + 1"}}}'],
    ['QueryTableRequest', '{"columns":{"x":"a + 1"}}'],
    ['QueryTableRequest', '{"full_text_query":{"columns":[],"query":"puppy"}}'],
    ['QueryTableRequest', '{"full_text_query":{"string_query":{"query":"puppy"}}}'],
    [
      'QueryTableRequest',
      '{"full_text_query":{"query":{"match":{"column":null,"terms":"a","boost":1.0,"fuzziness":null,"max_expansions":50,"operator":"Or","prefix_length":0}}}}',
    ],
    [
      'QueryTableRequest',
      '{"full_text_query":{"structured_query":{"query":{"boolean":{"should":[],"must":[{"phrase":{"terms":"a b","slop":0}}],"must_not":[]}}}}}',
    ],
    [
      'QueryTableRequest',
      '{"full_text_query":{"query":{"multi_match":{"query":"a","columns":["x"],"boost":[1.0]}}}}',
    ],
    [
      'QueryTableRequest',
      '{"full_text_query":{"query":{"boost":{"positive":{"multi_match":{"match_queries":[{"terms":"a"}]}},"negative":{"match":{"terms":"b"}},"negative_boost":0.5}}}}',
    ],
    ['CreateNamespaceRequest', '{"mode":"\\"create\\"","properties":null}'],
    ['DescribeTableRequest', '{"version":null,"context":{"a":"b"},"future":[1]}'],
    ['CreateTableVersionRequest', '{"version":-9223372036854775807,"manifest_path":"a/b"}'],
    ['UpdateTableRequest', '{"updates":[["a","a + 1"]],"predicate":null}'],
    [
      'UpdateFieldMetadataRequest',
      '{"updates":[{"path":"a","metadata":{"k":null},"replace":false}]}',
    ],
    [
      'AlterTableAlterColumnsRequest',
      '{"alterations":[{"path":"a","data_type":{"type":"fixed_size_list","length":2,"fields":[]}}]}',
    ],
    [
      'AlterTableAddColumnsRequest',
      '{"new_columns":[{"name":"a","all_null":true},{"name":"b","computed":"x"}],"function":"f"}',
    ],
    [
      'CreateTableIndexRequest',
      '{"column":"text","index_type":"FTS","lance_tokenizer":null,"base_tokenizer":"simple","language":"English","max_token_length":null,"custom_stop_words":["a"],"ascii_folding":true}',
    ],
    ['AlterTableAlterColumnsRequest', '{"alterations":[{"path":"a","data_type":null}]}'],
    ['RenameTableRequest', '{"new_table_name":"b","new_namespace":["x"]}'],
    ['FetchBlobsRequest', '{"version":null,"column":"a","row_ids":[18446744073709551615]}'],
  ])('fits %s: %s', (name, text) => {
    expect(refusalOf(() => checkModel(name, parseJson(text)))).toBe('no refusal');
  });
});

describe('a body that does not fit', () => {
  const vector =
    'must be a list of numbers, a list of such lists, or an object with single_vector or multi_vector';

  it.each([
    ['CreateTableVersionRequest', '{"manifest_path":"a"}', 'the field "version" is missing'],
    [
      'CreateTableVersionRequest',
      '{"version":null,"manifest_path":"a"}',
      'the field "version" is missing',
    ],
    [
      'CreateTableVersionRequest',
      '{"version":"1","manifest_path":"a"}',
      'the field "version" must be a whole number of 64 bits, not a string',
    ],
    [
      'CreateTableVersionRequest',
      '{"version":9223372036854775808,"manifest_path":"a"}',
      'the field "version" must be a whole number of 64 bits, not the number 9223372036854775808',
    ],
    [
      'CreateTableVersionRequest',
      '{"version":1e17,"manifest_path":"a"}',
      'the field "version" must be a whole number of 64 bits, not the number 100000000000000000',
    ],
    [
      'QueryTableRequest',
      '{"k":1.5}',
      'the field "k" must be a whole number of at most 64 bits, not the number 1.5',
    ],
    [
      'QueryTableRequest',
      '{"refine_factor":2147483648}',
      'the field "refine_factor" must be a whole number of 32 bits, not the number 2147483648',
    ],
    ['QueryTableRequest', '{"vector":[1,"a"]}', `the field "vector" ${vector}, not a list`],
    ['QueryTableRequest', '{"vector":[null]}', `the field "vector" ${vector}, not a list`],
    [
      'QueryTableRequest',
      '{"with_row_id":"true"}',
      'the field "with_row_id" must be true or false, not a string',
    ],
    ['DescribeTableRequest', '{"id":"a"}', 'the field "id" must be a list, not a string'],
    [
      'DescribeTableRequest',
      '{"id":["a",1]}',
      'the field "id[1]" must be a string, not the number 1',
    ],
    ['DescribeTableRequest', '[]', 'the body must be an object, not a list'],
    ['DescribeTableRequest', '"a"', 'the body must be an object, not a string'],
    [
      'ListTableIndicesRequest',
      '{"limit":1.5}',
      'the field "limit" must be a whole number, not the number 1.5',
    ],
    [
      'CreateNamespaceRequest',
      '{"properties":{"a.b":1}}',
      'the field "properties.a.b" must be a string, not the number 1',
    ],
    [
      'CreateNamespaceRequest',
      '{"context":{"a":{}}}',
      'the field "context.a" must be a string, not an object',
    ],
    [
      'UpdateTableRequest',
      '{"updates":[["a",true]]}',
      'the field "updates[0][1]" must be a string, not true',
    ],
    [
      'BatchCreateTableVersionsRequest',
      '{"entries":[{"id":["a"],"version":1,"manifest_path":"x"},{"id":["a"]}]}',
      'the field "entries[1].version" is missing',
    ],
    [
      'BatchCommitTablesRequest',
      '{"operations":[{"declare_table":{"location":[]}}]}',
      'the field "operations[0].declare_table.location" must be a string, not a list',
    ],
    [
      'JsonArrowSchema',
      '{"fields":[{"name":"a","nullable":true,"type":{"type":"list","fields":[{"name":"b","nullable":1,"type":{"type":"int8"}}]}}]}',
      'the field "fields[0].type.fields[0].nullable" must be true or false, not the number 1',
    ],
  ])('%s refuses %s', (name, text, sentence) => {
    expect(refusalOf(() => checkModel(name, parseJson(text)))).toBe(
      `InvalidInput: ${name}: ${sentence}`,
    );
  });

  it('says the same of long lists that were looked through in turns', async () => {
    const numbers = '1,'.repeat(200_000);
    for (const [text, sentence] of [
      [`[${numbers}1]`, 'no refusal'],
      [`[${numbers}9007199254740993,1]`, 'no refusal'],
      [`[${numbers}"a",1]`, 'InvalidInput: QueryTableRequest: the field "vector'],
    ] as const) {
      const body = parseJson(`{"k":1,"vector":${text}}`);
      const before = refusalOf(() => checkModel('QueryTableRequest', body));
      let turns = 0;
      await prepareCheck('QueryTableRequest', body, async () => turns++);
      expect(turns).toBeGreaterThan(0);
      expect(refusalOf(() => checkModel('QueryTableRequest', body))).toBe(before);
      expect(before.slice(0, sentence.length)).toBe(sentence);
    }
  });

  it('is no excuse for a model that does not exist', () => {
    expect(() => checkModel('toString', {})).toThrow(new TypeError('there is no model toString'));
  });
});

describe('the type of a model', () => {
  it('has numbers and bigints for integers, and other models inside', () => {
    const request: Model<'BatchCreateTableVersionsRequest'> = {
      entries: [{ id: ['a'], version: 2n ** 60n, manifest_path: 'x' }],
    };
    expect(request.entries[0]?.version).toBe(1152921504606846976n);
  });
});
