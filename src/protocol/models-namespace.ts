import {
  answered,
  maybe,
  named,
  optional,
  paged,
  record,
  text,
  textList,
  textMap,
} from './model-kinds.ts';

/** Models of namespaces. */
export const namespaceModels = {
  CreateNamespaceRequest: record({
    ...named(),
    mode: optional(text()),
    properties: optional(textMap()),
  }),
  CreateNamespaceResponse: record({
    ...answered(),
    transaction_id: optional(text()),
    properties: optional(textMap()),
  }),
  ListNamespacesRequest: record({ ...named(), ...paged() }),
  ListNamespacesResponse: record({
    ...answered(),
    namespaces: textList(),
    page_token: maybe(text()),
  }),
  DescribeNamespaceRequest: record({ ...named() }),
  DescribeNamespaceResponse: record({ ...answered(), properties: optional(textMap()) }),
  DropNamespaceRequest: record({ ...named(), mode: optional(text()), behavior: optional(text()) }),
  DropNamespaceResponse: record({
    ...answered(),
    properties: optional(textMap()),
    transaction_id: optional(textList()),
  }),
  NamespaceExistsRequest: record({ ...named() }),
  NamespaceExistsResponse: record({ ...answered() }),
};
