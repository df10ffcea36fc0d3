import {
  flag,
  int64,
  integer,
  listOf,
  model,
  optional,
  record,
  text,
  textMap,
} from './model-kinds.ts';

/** Models of Arrow schemas and partitions as JSON. */
export const arrowModels = {
  JsonArrowSchema: record({
    fields: listOf(model('JsonArrowField')),
    metadata: optional(textMap()),
  }),
  JsonArrowField: record({
    metadata: optional(textMap()),
    name: text(),
    nullable: flag(),
    type: model('JsonArrowDataType'),
  }),
  JsonArrowDataType: record({
    fields: optional(listOf(model('JsonArrowField'))),
    length: optional(int64()),
    type: text(),
  }),
  PartitionTransform: record({
    type: text(),
    num_buckets: optional(integer()),
    width: optional(integer()),
  }),
  PartitionField: record({
    field_id: text(),
    source_ids: listOf(integer()),
    transform: optional(model('PartitionTransform')),
    expression: optional(text()),
    result_type: model('JsonArrowDataType'),
  }),
  PartitionSpec: record({ id: integer(), fields: listOf(model('PartitionField')) }),
};
