import type { CatalogRequest } from '../../../protocol/backend.ts';
import type { JsonValue } from '../../../protocol/json.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { Fields } from '../../base/fields.ts';

/** Expressions of a request. */
interface StatementInput {
  readonly body: Fields;
  readonly query: CatalogRequest['query'];
}

type StatementFormatter = (input: StatementInput) => string | null;

/** Formats the request of each operation with expressions, similar to SQL. */
const sentences: Partial<Record<OperationName, StatementFormatter>> = {
  UpdateTable: ({ body }) => {
    const set = listIn(body, 'updates').map((one) =>
      Array.isArray(one) ? `${plain(one[0])} = ${plain(one[1])}` : plain(one),
    );
    return `update set ${set.join(', ')}${where(body['predicate'])}`;
  },
  DeleteFromTable: ({ body }) => `delete${where(body['predicate'])}`,
  MergeInsertIntoTable: ({ query }) => {
    const parts = [...query]
      .filter(([name]) => name === 'on' || name.startsWith('when_'))
      .map(([name, values]) => `${name} ${values.join(', ')}`);
    return `merge ${parts.join(', ')}`;
  },
  AlterTableAddColumns: ({ body }) =>
    `add columns ${columnsOf(body, 'new_columns', ['expression', 'computed_column'])}`,
  AlterTableAlterColumns: ({ body }) =>
    `alter columns ${columnsOf(body, 'alterations', ['rename', 'data_type', 'nullable'])}`,
  AlterTableDropColumns: ({ body }) =>
    `drop columns ${listIn(body, 'columns').map(plain).join(', ')}`,
};

/** Describes the predicate and expressions of a request; null without any. */
export function statementText(name: OperationName, input: StatementInput): string | null {
  return sentences[name]?.(input) ?? null;
}

function where(predicate: JsonValue | undefined): string {
  const isThere = predicate !== undefined && predicate !== null && predicate !== '';
  return isThere ? ` where ${plain(predicate)}` : '';
}

function columnsOf(body: Fields, name: string, details: readonly string[]): string {
  return listIn(body, name)
    .map((one) => {
      if (typeof one !== 'object' || one === null || Array.isArray(one)) return plain(one);
      const fields = one as Fields;
      const said = details.flatMap((detail) => {
        const value = fields[detail];
        return value === undefined || value === null ? [] : [`${detail} ${plain(value)}`];
      });
      return [plain(fields['name'] ?? fields['path']), ...said].join(' ');
    })
    .join(', ');
}

function listIn(body: Fields, name: string): readonly JsonValue[] {
  const value = body[name];
  return Array.isArray(value) ? value : [];
}

function plain(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
