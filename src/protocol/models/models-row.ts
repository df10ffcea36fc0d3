import {
  answered,
  branched,
  flag,
  int64,
  listOf,
  maybe,
  optional,
  record,
  text,
  textList,
  textMap,
} from './model-kinds.ts';

/** Models of writing rows. */
export const rowModels = {
  InsertIntoTableRequest: record({ ...branched(), mode: optional(text()) }),
  InsertIntoTableResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    num_inserted_rows: optional(int64()),
    version: optional(int64()),
  }),
  MergeInsertIntoTableRequest: record({
    ...branched(),
    on: optional(text()),
    when_matched_update_all: optional(flag()),
    when_matched_update_all_filt: optional(text()),
    when_not_matched_insert_all: optional(flag()),
    when_not_matched_by_source_delete: optional(flag()),
    when_not_matched_by_source_delete_filt: optional(text()),
    timeout: optional(text()),
    use_index: optional(flag()),
  }),
  MergeInsertIntoTableResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    num_updated_rows: optional(int64()),
    num_inserted_rows: optional(int64()),
    num_deleted_rows: optional(int64()),
    version: optional(int64()),
    // For LanceDB.
    num_attempts: optional(int64()),
    num_rows: optional(int64()),
  }),
  UpdateTableRequest: record({
    ...branched(),
    predicate: maybe(text()),
    updates: listOf(textList()),
    properties: optional(textMap()),
  }),
  UpdateTableResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    updated_rows: int64(),
    // LanceDB's name for the same.
    rows_updated: optional(int64()),
    version: int64(),
    properties: optional(textMap()),
  }),
  DeleteFromTableRequest: record({ ...branched(), predicate: text() }),
  DeleteFromTableResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    version: optional(int64()),
    // For LanceDB.
    num_deleted_rows: optional(int64()),
  }),
};
