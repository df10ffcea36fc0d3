import type { Answer } from '../../protocol/backend.ts';
import { rootedPath } from '../../protocol/database.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { JsonValue } from '../../protocol/json.ts';
import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { checkCreatable } from '../catalog/refusals.ts';
import type { Call } from '../handler.ts';
import { textField } from '../query/fields.ts';
import { judgeRename } from '../rules/place-judge.ts';
import type { Tables } from '../table/tables.ts';
import { placeSummary } from './commit-summary.ts';

/**
 * RenameTable, within a namespace or into another. The right to make a table of
 * the new name is asked for here where the route does not have it.
 */
export async function renameTable(catalog: Catalog, tables: Tables, call: Call): Promise<Answer> {
  const { object, target } = call.request;
  const to = target ?? targetOfBody(call);
  checkCreatable(to);
  if (target === undefined) call.permit.require('CreateTable', to);
  const answer = jsonAnswer(call, {}, { commit: placeSummary('rename'), objects: [to] });
  await catalog.renameTable(
    object,
    to,
    call.once.seal(() => answer),
    (record) => judgeRename(call.rules, tables, { path: object, record }, to),
  );
  return answer;
}

/** Without a namespace the table stays in its own; an empty list is the root. */
function targetOfBody(call: Call): ObjectPath {
  const name = textField(call.body, 'new_table_name') ?? '';
  const namespace = call.body['new_namespace_id'];
  if (Array.isArray(namespace)) return rootedPath(call.request, [...texts(namespace), name]);
  return [...call.request.object.slice(0, -1), name];
}

function texts(values: readonly JsonValue[]): readonly string[] {
  return values.filter((value) => typeof value === 'string');
}
