import { parentPort } from 'node:worker_threads';
import type { LoggedRecord } from '../../audit/record/record.ts';
import { microsOf } from '../../audit/record/time.ts';
import { newestRequests } from '../../audit/search/newest.ts';
import { reviewMarks } from '../../audit/search/review-marks.ts';
import { RequestStream } from '../../audit/search/request-stream.ts';
import { keepSegmentsOpen } from '../../audit/segments/open-segments.ts';
import { searchRequests, type FoundRequest } from '../../audit/search/search.ts';
import { countTraffic } from '../../audit/search/traffic.ts';
import { PoliciesBefore } from '../../gateway/replay/policy-before.ts';
import { filterHint } from '../../gateway/replay/filter-hint.ts';
import { explain } from '../../policy/explain.ts';
import { parseObject } from '../../policy/lines/pattern.ts';
import { lineOfRule, linesOfText } from '../../policy/lines/line-text.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import { principalsAllowed } from '../../policy/who.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { operationNames, operations } from '../../protocol/operations/operations.ts';
import { roleSources } from '../../policy/role-sources.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Action } from '../../protocol/operations/operation.ts';
import { attentionOf, chainsOf } from './chains.ts';
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

async function page(folder: string, task: Task<'page'>): Promise<object> {
  const { requests, next } = await pageOf(folder, task);
  const oldest = requests.at(-1);
  const marks = oldest && (await reviewMarks(folder, microsOf(oldest.began)));
  const listed = requests.map((found) => ({
    ...listedRequest(found),
    review: markOf(marks, found),
  }));
  const isNone = requests.length === 0 && task.after === undefined;
  const hint =
    isNone && task.hints === true
      ? await filterHint(folder, requestFilterOf(task.filter))
      : undefined;
  return { requests: listed, next, hint: hint ?? null };
}

/** What the newest mark of a request says; null without one. */
function markOf(
  marks: Awaited<ReturnType<typeof reviewMarks>> | undefined,
  { record }: FoundRequest,
) {
  const found = marks?.get(record.decision_id);
  if (found === undefined) return null;
  const { mark, note, by, time } = found;
  return { mark, note, by, time };
}

async function pageOf(
  folder: string,
  { filter, limit, after, except }: Omit<Task<'page'>, 'kind'>,
): Promise<{ readonly requests: readonly FoundRequest[]; readonly next: string | null }> {
  const place = after && { began: BigInt(after.began), decisionId: after.decisionId };
  const options = { limit, after: place, except };
  const { requests, more } = await newestRequests(folder, requestFilterOf(filter), options);
  const last = requests.at(-1);
  const isLast = !more || last === undefined;
  return {
    requests,
    next: isLast ? null : `${microsOf(last.began)}.${last.record.decision_id}`,
  };
}

/** Streams that are being written, by name; the one that began first ends when there are too many. */
const streams = new Map<string, RequestStream>();
const MOST_STREAMS = 8;

async function arrow(folder: string, { stream, page: wanted }: Task<'arrow'>): Promise<object> {
  const isFirst = wanted.after === undefined;
  const writer = isFirst ? new RequestStream() : streams.get(stream);
  if (writer === undefined) {
    throw new CatalogError('ServiceUnavailable', 'the export was broken off: begin it again');
  }
  const { requests, next } = await pageOf(folder, wanted);
  const pieces = [...(isFirst ? [writer.begin()] : []), writer.requests(requests)];
  streams.delete(stream);
  if (next !== null) streams.set(stream, writer);
  if (streams.size > MOST_STREAMS) streams.delete([...streams.keys()][0]!);
  return { requests: requests.length, next, bytes: Buffer.concat(pieces).toString('base64') };
}

async function traffic(folder: string, { filter, steps, now }: Task<'traffic'>): Promise<object> {
  const { since, until, column: _column, text: _text, ...others } = requestFilterOf(filter);
  const { review: _review, canary: _canary, ...criteria } = others;
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
  const review = markOf(await reviewMarks(folder, microsOf(found.began)), found);
  return { ...(await requestView(found, policiesOf(folder))), review };
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

const mutations = operationNames.filter((name) => operations[name].mutates);

async function commits(folder: string, { object, limit }: Task<'commits'>): Promise<object> {
  const filter = {
    operations: new Set<string>(mutations),
    object: (path: string) => path === object,
    decision: 'allow',
  } as const;
  const { requests, more } = await newestRequests(folder, filter, { limit });
  return {
    commits: requests.filter(({ record }) => isVersion(record)).map(listedRequest),
    more,
  };
}

function isVersion({ commit }: LoggedRecord): boolean {
  return commit !== null && commit !== undefined && commit.version !== null;
}

async function whoMay(
  folder: string,
  { digest, keys, action, object }: Task<'who'>,
): Promise<object> {
  const policy = await policyInForce(folder, digest);
  const allowed = principalsAllowed(policy, action as Action, pathOf(object), undefined, keys);
  const found = allowed.map(({ principal, key, rule, restrictions }) => ({
    subject: principal.subject,
    key,
    rule,
    restrictions: restrictions.map(({ name }) => name),
  }));
  return { found, policy_digest: digest };
}

async function policyInForce(folder: string, digest: string): Promise<LoadedPolicy> {
  const policy = await policiesOf(folder).of(digest);
  if (policy !== undefined) return policy;
  throw new CatalogError('ServiceUnavailable', 'the policy in force is not archived yet');
}

function pathOf(object: string): ObjectPath {
  const path = parseObject(object);
  if (path !== undefined) return path;
  throw new CatalogError('InvalidInput', `${object} is no canonical path`);
}

/** The acts that made keys; a rotation makes its successor. */
const MAKING = new Map([
  ['KeysCreate', 'id'],
  ['KeysRotate', 'successor'],
]);

async function keyMakers(folder: string): Promise<object> {
  const makers: Record<string, object> = {};
  for await (const found of searchRequests(folder, { operations: new Set(MAKING.keys()) })) {
    for (const { record, began } of found) {
      const id = record.context[MAKING.get(record.operation ?? '') ?? ''];
      if (id === undefined || record.decision !== 'allow') continue;
      makers[id] = { subject: record.subject, began, decision_id: record.decision_id };
    }
  }
  return makers;
}

async function explained(
  folder: string,
  { digest, principal, action, object }: Task<'explain'>,
): Promise<object> {
  const policy = await policyInForce(folder, digest);
  const path = pathOf(object);
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
  if (task.kind === 'arrow') return arrow(folder, task);
  if (task.kind === 'commits') return commits(folder, task);
  if (task.kind === 'who') return whoMay(folder, task);
  if (task.kind === 'key-makers') return keyMakers(folder);
  if (task.kind === 'chains') return chainsOf(folder);
  if (task.kind === 'attention') return attentionOf(folder, task.now);
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

/** Segments that stay open between searches; a million records are in fifteen. */
const OPEN_SEGMENTS = 32;

keepSegmentsOpen(OPEN_SEGMENTS);
let last: Promise<void> = Promise.resolve();
parentPort?.on('message', (task: NumberedTask) => {
  last = last.then(async () => parentPort?.postMessage(await answer(task), []));
});
