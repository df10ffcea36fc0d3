import type { Answer } from '../../protocol/backend.ts';
import type { OperationName } from '../../protocol/operation-name.ts';
import type { Operation } from '../../protocol/operation.ts';

const json = (value: object): Answer => ({
  status: 200,
  contentType: 'application/json',
  body: JSON.stringify(value),
});

const answers: Readonly<Partial<Record<OperationName, Answer>>> = {
  ListNamespaces: json({ namespaces: [] }),
  ListTables: json({ tables: [] }),
  ListAllTables: json({ tables: [] }),
  DescribeNamespace: json({ properties: {} }),
  NamespaceExists: { status: 200, body: null },
};

/**
 * What is answered of a namespace that is there only because something that a
 * backend serves lies in it: it is empty but for that. Undefined for operations
 * that need a namespace of some backend.
 */
export function mountPointAnswer({ name }: Operation): Answer | undefined {
  return answers[name];
}
