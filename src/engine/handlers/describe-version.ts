import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Call, Handler } from '../handler.ts';
import { branchParameter } from '../parameters.ts';
import type { TableRecord } from '../catalog/records.ts';
import { countField, integerField } from '../query/fields.ts';
import type { Tables } from '../table/tables.ts';
import { adoptedTable } from './adopted-table.ts';
import { restOn } from './basis.ts';
import { versionEntry } from './table-versions.ts';

/** DescribeTableVersion: the newest unless one is named. */
export function describeVersion(catalog: Catalog, tables: Tables): Handler {
  return async (call) => {
    const branch = branchParameter(call);
    const found = await catalog.requireTable(call.request.object);
    const table = await adoptedTable(call, found, branch);
    const { content } = table;
    const version = versionField(call, content);
    const chain = await tables.chain(content, branch);
    const stored = await tables.version(content, version, chain);
    // Lance clients remove manifests on their own.
    if (content.kind === 'engine') restOn(call, table, chain, stored);
    return jsonAnswer(call, { version: versionEntry(content, stored.content) });
  };
}

/** Lance clients give versions that belong to no chain the highest of 64 bits: they arrive as negative numbers. */
function versionField({ body }: Call, { kind }: TableRecord): bigint | undefined {
  const version = (kind === 'lance' ? integerField : countField)(body, 'version');
  return version ?? undefined;
}
