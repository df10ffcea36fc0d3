import { type Data, makeData, RecordBatch, Schema, Struct } from 'apache-arrow';
import { dataOf } from './data.ts';

const emptySchema = new Schema([]);
const emptyData = makeData({ type: new Struct([]), length: 0, children: [] });

/** A batch over columns that already have the schema's types and the right length. */
export function batchOfData(schema: Schema, children: Data[], rows: number): RecordBatch {
  const data = dataOf(structOf(schema), { length: rows, nullCount: 0, children });
  // Given the schema, the package's constructor would rebuild it in quadratic time.
  return Object.assign(new RecordBatch(emptySchema, emptyData), { schema, data });
}

/** The types of schemas as columns: a batch is made more often than its schema. */
const structs = new WeakMap<Schema, Struct>();

function structOf(schema: Schema): Struct {
  const known = structs.get(schema);
  if (known !== undefined) return known;
  const struct = new Struct(schema.fields);
  structs.set(schema, struct);
  return struct;
}
