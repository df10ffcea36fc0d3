import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Handler } from '../handler.ts';
import { countField, textField } from '../query/fields.ts';
import { refuseBranch } from '../query/request.ts';
import type { Tables } from '../table/tables.ts';
import { versionEntry } from './table-versions.ts';

/** DescribeTableVersion: the newest unless one is named. */
export function describeVersion(catalog: Catalog, tables: Tables): Handler {
  return async (call) => {
    refuseBranch(textField(call.body, 'branch'));
    const version = countField(call.body, 'version') ?? undefined;
    const { content } = await catalog.requireTable(call.request.object);
    const stored = await tables.version(content, version);
    return jsonAnswer(call, { version: versionEntry(stored.content) });
  };
}
