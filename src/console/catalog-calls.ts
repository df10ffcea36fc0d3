import { canonicalPath } from '../protocol/identifier.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { WrittenRule } from '../policy/settings/commits.ts';
import { placeOfRule } from '../policy/rules-in-force.ts';
import { credentialName } from '../gateway/audit-record.ts';
import type { Past } from './catalog-access.ts';
import type { ApiCall } from './call.ts';
import { jsonBody } from './json-body.ts';
import { invalid, typedObject, pathOf } from './parameters.ts';

/** Dropped tables that are listed. */
const MOST_DROPPED = 500;
/** Versions that are listed of each result of a check. */
const MOST_VERSIONS = 200;
/** Maximum duration of a check, in ms. */
export const CHECK_PAST_MILLIS = 60_000;

/** The dropped tables that the caller may describe, and whether it may bring each back. */
export async function listedDropped({ catalog, recorded }: ApiCall): Promise<object> {
  const { permit } = recorded;
  const found = (await catalog.dropped()).filter(({ path }) => permit.holds('describe', path));
  return {
    total: found.length,
    dropped: found.slice(0, MOST_DROPPED).map(({ id, path, droppedMillis, untilMillis }) => ({
      id,
      table: canonicalPath(path),
      dropped: new Date(droppedMillis).toISOString(),
      until: new Date(untilMillis).toISOString(),
      may_undrop: permit.holds('manage', path),
    })),
  };
}

const UNDROP =
  'the body must be {"table": "/prod/sales", "id": "…", "as": "/prod/old-sales"}, as application/json; as may be absent';

/** Brings a dropped table back. @throws CatalogError PermissionDenied, InvalidInput, TableNotFound */
export async function undropped({ catalog, keys, recorded }: ApiCall): Promise<object> {
  const { table, id, as, ...others } = await jsonBody(recorded, UNDROP);
  const isTyped = typeof table === 'string' && typeof id === 'string' && id !== '';
  if (!isTyped || Object.keys(others).length > 0) throw invalid(UNDROP);
  if (as !== undefined && typeof as !== 'string') throw invalid(UNDROP);
  const from = pathOf('table', table);
  const to = as === undefined ? undefined : pathOf('as', as);
  const { permit, principal, decisionId, sourceIp } = recorded;
  permit.require('manage', from);
  if (to !== undefined) permit.require('manage', to);
  const details = { id, console: decisionId };
  const act = {
    operation: 'CatalogUndrop',
    subject: principal.subject,
    credential: credentialName(principal.credential),
    sourceIp,
    object: table,
    details: to === undefined ? details : { ...details, as: canonicalPath(to) },
    policyDigest: permit.policyDigest,
  } as const;
  await keys.act(act, async () => {
    await catalog.undrop(from, id, to);
    return { result: undefined };
  });
  return { table: canonicalPath(to ?? from), id };
}

/** Past commits of a table that the commit rules in force would refuse, as `arrowgate commits check` finds them. */
export async function checkedPast(call: ApiCall): Promise<object> {
  const { catalog, gateway, query, recorded } = call;
  const path = pathOf('object', typedObject(query));
  const { commits, restrictions } = gateway.policy.current();
  const limit = AbortSignal.timeout(CHECK_PAST_MILLIS);
  const signal = AbortSignal.any([recorded.signal(), limit]);
  const found = await catalog.judgePast(path, commits.rules, signal).catch((error: unknown) => {
    if (!limit.aborted) throw error;
    throw new CatalogError(
      'InvalidInput',
      `judging the commits took longer than ${CHECK_PAST_MILLIS / 1000} s: use arrowgate commits check`,
    );
  });
  if (found.tables === 0) throw invalid(`there is no table ${canonicalPath(path)} with versions`);
  const readsRows =
    recorded.permit.holds('read', path) &&
    restrictions.binding(recorded.principal, path).length === 0;
  const show = (one: Past): object => shownPast(one, commits.rules, readsRows);
  return {
    rules: commits.rules.filter((rule) => rule.covers(path)).map(({ name }) => name),
    commits: found.commits,
    refused: found.refused.slice(-MOST_VERSIONS).toReversed().map(show),
    unjudged: found.unjudged.slice(-MOST_VERSIONS).toReversed().map(show),
    total: { refused: found.refused.length, unjudged: found.unjudged.length },
  };
}

/** The fault of a rule about rows quotes one: only callers who may read the whole table see it. */
function shownPast(
  { branch, version, timestampMillis, rule: name, fault }: Past,
  rules: readonly WrittenRule[],
  readsRows: boolean,
): object {
  const rule = rules.find((one) => one.name === name);
  const isOfRows = rule?.require.check !== undefined || rule?.require.unique !== undefined;
  const hidden = 'rows break it; callers with the right read on the whole table see which';
  return {
    branch,
    version: version <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(version) : String(version),
    time: new Date(timestampMillis).toISOString(),
    rule: name,
    place: rule === undefined ? null : placeOfRule(rule),
    fault: isOfRows && !readsRows ? hidden : fault,
  };
}
