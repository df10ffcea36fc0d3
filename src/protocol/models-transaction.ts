import { answered, listOf, model, named, optional, record, text, textMap } from './model-kinds.ts';

/** Models of transactions. */
export const transactionModels = {
  TransactionStatus: text(),
  DescribeTransactionRequest: record({ ...named() }),
  DescribeTransactionResponse: record({
    ...answered(),
    status: model('TransactionStatus'),
    properties: optional(textMap()),
  }),
  AlterTransactionSetStatus: record({ status: optional(model('TransactionStatus')) }),
  AlterTransactionSetProperty: record({
    key: optional(text()),
    value: optional(text()),
    mode: optional(model('SetPropertyMode')),
  }),
  SetPropertyMode: text(),
  AlterTransactionUnsetProperty: record({
    key: optional(text()),
    mode: optional(model('UnsetPropertyMode')),
  }),
  UnsetPropertyMode: text(),
  AlterTransactionAction: record({
    setStatusAction: optional(model('AlterTransactionSetStatus')),
    setPropertyAction: optional(model('AlterTransactionSetProperty')),
    unsetPropertyAction: optional(model('AlterTransactionUnsetProperty')),
  }),
  AlterTransactionRequest: record({ ...named(), actions: listOf(model('AlterTransactionAction')) }),
  AlterTransactionResponse: record({
    ...answered(),
    status: model('TransactionStatus'),
    properties: optional(textMap()),
  }),
};
