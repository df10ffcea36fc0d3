import { parentPort } from 'node:worker_threads';
import { microsOf } from '../../audit/record/time.ts';
import { newestRequests } from '../../audit/search/newest.ts';
import { searchRequests, type FoundRequest } from '../../audit/search/search.ts';
import { countTraffic } from '../../audit/search/traffic.ts';
import { PoliciesBefore } from '../../gateway/replay/policy-before.ts';
import { explain } from '../../policy/explain.ts';
import { parseObject } from '../../policy/lines/pattern.ts';
import { lineOfRule, linesOfText } from '../../policy/lines/line-text.ts';
import { roleSources } from '../../policy/role-sources.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { requestFilterOf } from './filter-text.ts';
import { listedRequest, requestView } from './request-view.ts';
import type { NumberedTask, TaskAnswer, TrailTask } from './trail-task.ts';

/* Reads the audit log for the console, so that the gateway's own thread is free. */

type Task<Kind extends TrailTask['kind']> = Extract<TrailTask, { readonly kind: Kind }>;

const DAY_MILLIS = 86_400_000;

/** Archived policies of the last folder; few, since each may be large. */
let before:
  | { readonly folder: string; readonly policies: PoliciesBefore; uses: number }
  | undefined;
const MOST_USES = 32;

function policiesOf(folder: string): PoliciesBefore {
  if (before?.folder !== folder || before.uses >= MOST_USES) {
    before = { folder, policies: new PoliciesBefore(folder), uses: 0 };
  }
  before.uses += 1;
  return before.policies;
}

async function page(
  folder: string,
  { filter, limit, after, except }: Task<'page'>,
): Promise<object> {
  const place = after && { began: BigInt(after.began), decisionId: after.decisionId };
  const options = { limit, after: place, except };
  const found = await newestRequests(folder, requestFilterOf(filter), options);
  const last = found.requests.at(-1);
  return {
    requests: found.requests.map(listedRequest),
    next:
      found.more && last !== undefined
        ? `${microsOf(last.began)}.${last.record.decision_id}`
        : null,
  };
}

async function traffic(folder: string, { filter, steps, now }: Task<'traffic'>): Promise<object> {
  const { since, until, column: _column, text: _text, ...criteria } = requestFilterOf(filter);
  const end = until ?? BigInt(now) * 1000n;
  const period = { since: since ?? end - BigInt(DAY_MILLIS) * 1000n, until: end, steps };
  const counted = await countTraffic(folder, period, criteria);
  const millis = [period.since, period.until].map((micros) => Number(micros / 1000n));
  return { since: millis[0], until: millis[1], ...counted };
}

async function request(folder: string, task: Task<'request'>): Promise<object> {
  const found = await findRequest(folder, task);
  if (found === undefined) {
    throw new CatalogError('InvalidInput', `the audit log has no decision ${task.decisionId}`);
  }
  return requestView(found, policiesOf(folder));
}

async function findRequest(
  folder: string,
  { decisionId, began }: Task<'request'>,
): Promise<FoundRequest | undefined> {
  const at = began === undefined ? undefined : microsOf(began);
  const filter = at === undefined ? { text: decisionId } : { since: at, until: at + 1n };
  let found: FoundRequest | undefined;
  for await (const requests of searchRequests(folder, filter)) {
    found = requests.find(({ record }) => record.decision_id === decisionId) ?? found;
  }
  return found;
}

async function explained(
  folder: string,
  { digest, principal, action, object }: Task<'explain'>,
): Promise<object> {
  const policy = await policiesOf(folder).of(digest);
  if (policy === undefined) {
    throw new CatalogError('ServiceUnavailable', 'the policy in force is not archived yet');
  }
  const path = parseObject(object);
  if (path === undefined) throw new CatalogError('InvalidInput', `${object} is no canonical path`);
  const caller = { ...principal, credential: { kind: 'key', id: 'explained' } as const };
  const { verdict, nearest } = explain(policy, caller, action as Action, path);
  const number = verdict.rule === null ? undefined : lineOfRule(verdict.rule);
  const line = number === undefined ? null : linesOfText(policy.texts.policy)[number - 1];
  const roles = roleSources(caller, policy.roles, { roles: 'given', groups: 'given' });
  return { verdict, nearest, line: line ?? null, roles, policy_digest: digest };
}

function resultOf(folder: string, task: TrailTask): Promise<object> {
  if (task.kind === 'page') return page(folder, task);
  if (task.kind === 'traffic') return traffic(folder, task);
  return task.kind === 'request' ? request(folder, task) : explained(folder, task);
}

/** 64-bit integers beyond 2^53 are texts. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

async function answer({ id, folder, task }: NumberedTask): Promise<TaskAnswer> {
  try {
    return { id, json: JSON.stringify(await resultOf(folder, task), plain) };
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error));
    return {
      id,
      error: { name: error instanceof CatalogError ? error.row.name : 'Internal', message },
    };
  }
}

let last: Promise<void> = Promise.resolve();
parentPort?.on('message', (task: NumberedTask) => {
  last = last.then(async () => parentPort?.postMessage(await answer(task), []));
});
