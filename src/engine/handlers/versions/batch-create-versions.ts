import type { CommitSummary } from '../../../protocol/commit-summary.ts';
import { rootedPath } from '../../../protocol/database.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { checkPath, type ObjectPath } from '../../../protocol/identifier.ts';
import { isJsonObject, type JsonValue } from '../../../protocol/json.ts';
import { jsonAnswer } from '../call/answers.ts';
import type { Call, Handler } from '../call/handler.ts';
import type { PlannedVersion } from '../../versions/managed/version-creation.ts';
import { textField, type Fields } from '../../base/fields.ts';
import { MAIN } from '../../format/chain.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { committedVersions, gatesOf, versionRequest } from './create-version.ts';
import type { ManagedParts } from '../call/managed-parts.ts';
import { versionEntry } from './table-versions.ts';

/**
 * BatchCreateTableVersions: versions of several tables, all or none. Several of one
 * line follow each other in the order of the entries.
 */
export function batchCreateVersions(parts: ManagedParts): Handler {
  return async (call) => {
    const { operation } = call.request;
    const requests = requestedEntries(call.body['entries']).map((entry, index) =>
      versionRequest(pathField(call, entry, `entries[${index}]`), entry, branchField(entry)),
    );
    for (const { path, branch } of requests) {
      call.permit.require(operation.name, path, ...otherBranch(branch));
    }
    const objects = requests.map(({ path }) => path);
    const answerOf = (planned: readonly PlannedVersion[]) => {
      const versions = planned.map(({ table, record }) => versionEntry(table, record));
      const commit = batchSummary(planned.map(({ summary }) => summary));
      return jsonAnswer(call, { versions }, { commit, objects });
    };
    const seal = call.once.seal(answerOf);
    return answerOf(await committedVersions(parts, requests, seal, gatesOf(call)));
  };
}

/** Summary of a batch: that of its only commit, or the common parts of several. */
export function batchSummary(summaries: readonly CommitSummary[]): CommitSummary {
  const [first, ...others] = summaries;
  if (first !== undefined && others.length === 0) return first;
  const tables = new Set(summaries.map(({ table = null }) => table));
  const [table = null] = tables;
  return {
    ...placeSummary('batch', tables.size === 1 ? table : null),
    rowsAdded: summaries.reduce((sum, { rowsAdded }) => sum + rowsAdded, 0n),
    rowsRemoved: summaries.reduce((sum, { rowsRemoved }) => sum + rowsRemoved, 0n),
    rowsChanged: summaries.reduce((sum, { rowsChanged }) => sum + (rowsChanged ?? 0n), 0n),
    columns: [...new Set(summaries.flatMap(({ columns = [] }) => columns))],
    schemaChanged: summaries.some(({ schemaChanged }) => schemaChanged),
  };
}

/** The table that a part of a body names. @throws CatalogError InvalidInput. */
export function pathField(
  { request }: Pick<Call, 'request'>,
  fields: Fields,
  part: string,
): ObjectPath {
  const id = fields['id'];
  const path = Array.isArray(id) ? id.filter((segment) => typeof segment === 'string') : [];
  if (path.length === 0)
    throw new CatalogError('InvalidInput', `${part} must name a table by its id`);
  checkPath(path);
  return rootedPath(request, path);
}

/** The branch that a part of a body names, `main` by any of its names. */
export function branchField(fields: Fields): string {
  const branch = textField(fields, 'branch');
  return branch === null || branch === '' ? MAIN : branch;
}

/** The branch argument of a permit; none for main. */
export function otherBranch(branch: string): readonly [] | readonly [string] {
  return branch === MAIN ? [] : [branch];
}

export function requestedEntries(value: JsonValue | undefined): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
