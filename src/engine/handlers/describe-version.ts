import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Handler } from '../handler.ts';
import { branchParameter } from '../parameters.ts';
import { countField } from '../query/fields.ts';
import type { Tables } from '../table/tables.ts';
import { versionEntry } from './table-versions.ts';

/** DescribeTableVersion: the newest unless one is named. */
export function describeVersion(catalog: Catalog, tables: Tables): Handler {
  return async (call) => {
    const version = countField(call.body, 'version') ?? undefined;
    const { content } = await catalog.requireTable(call.request.object);
    const chain = await tables.chain(content, branchParameter(call));
    const stored = await tables.version(content, version, chain);
    return jsonAnswer(call, { version: versionEntry(stored.content) });
  };
}
