import type { Answer } from '../protocol/backend.ts';
import type { ObjectPath } from '../protocol/identifier.ts';
import { principalOf } from '../gateway/identity/key-ring.ts';
import { keyState } from '../gateway/identity/keys.ts';
import { readiness } from '../gateway/readiness.ts';
import { attention } from './attention.ts';
import { evidence, verified } from './integrity.ts';
import { reviewedRequest } from './reviews.ts';
import { apiAnswer, type ApiCall, type Endpoint } from './call.ts';
import { checkedPast, listedDropped, undropped } from './catalog-calls.ts';
import { deskEndpoints } from './policy-calls.ts';
import { typedAction, invalid, namedIn as named, typedObject } from './parameters.ts';
import { createdKey, listedKeys, revokedKey, rotatedKey } from './keys.ts';
import { exported } from './trail/export.ts';
import { followed } from './trail/follow.ts';
import { filterTextOf } from './trail/filter-text.ts';

const AUDIT: ObjectPath = ['system', 'audit'];

/** Every path below `/console/api/`. */
export const endpoints: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  ['me', { object: AUDIT, answer: caller }],
  ['requests', { object: AUDIT, answer: requests }],
  ['request', { object: AUDIT, answer: request }],
  ['export', { object: AUDIT, answer: exported }],
  ['follow', { object: AUDIT, answer: followed }],
  ['traffic', { object: AUDIT, answer: traffic }],
  ['state', { object: AUDIT, answer: state }],
  ['explain', { object: AUDIT, answer: explained }],
  ['who', { object: AUDIT, answer: who }],
  ['commits', { object: AUDIT, answer: commits }],
  ['review', { object: AUDIT, method: 'POST', answer: jsonOf(reviewedRequest) }],
  ['attention', { object: AUDIT, answer: jsonOf(attention) }],
  ['integrity', { object: AUDIT, answer: chains }],
  ['integrity/verify', { object: AUDIT, method: 'POST', answer: verified }],
  ['evidence', { object: AUDIT, answer: evidence }],
  ['keys', { object: AUDIT, answer: jsonOf(listedKeys) }],
  ['keys/makers', { object: AUDIT, answer: keyMakers }],
  ['keys/create', { object: AUDIT, method: 'POST', answer: jsonOf(createdKey) }],
  ['keys/rotate', { object: AUDIT, method: 'POST', answer: jsonOf(rotatedKey) }],
  ['keys/revoke', { object: AUDIT, method: 'POST', answer: jsonOf(revokedKey) }],
  ['dropped', { object: AUDIT, answer: jsonOf(listedDropped) }],
  ['dropped/undrop', { object: AUDIT, method: 'POST', answer: jsonOf(undropped) }],
  ['commits/check', { object: AUDIT, answer: jsonOf(checkedPast) }],
  ...Object.entries(deskEndpoints).map(
    ([name, answers]) => [name, { object: AUDIT, ...answers }] as const,
  ),
]);

/** Requests of a page: 50 unless the query says how many, up to 200. */
const PAGE = 50;
const MOST_OF_PAGE = 200;
/** Parts of the period of traffic. */
const STEPS = 60;

function jsonOf(result: (call: ApiCall) => Promise<object>): Endpoint['answer'] {
  return async (call) => apiAnswer(JSON.stringify(await result(call)));
}

/** By key, who made it and when, as far as the log has it. */
async function keyMakers({ trail }: ApiCall): Promise<Answer> {
  return apiAnswer(await trail.run({ kind: 'key-makers' }));
}

/** The chains of the log, and the newest verifications. */
async function chains({ trail }: ApiCall): Promise<Answer> {
  return apiAnswer(await trail.run({ kind: 'chains' }));
}

/** Who signed in, and the version of the service. */
function caller({ recorded, gateway }: ApiCall): Answer {
  const { subject, groups, roles, credential } = recorded.principal;
  return apiAnswer(
    JSON.stringify({ subject, groups, roles, credential, version: gateway.version }),
  );
}

async function requests({ trail, query, recorded }: ApiCall): Promise<Answer> {
  const filter = filterTextOf(query, Date.now());
  const limit = limitOf(query.get('limit'));
  const after = placeOf(query.get('after'));
  const except = recorded.decisionId;
  const task = { kind: 'page', filter, limit, after, except, hints: true } as const;
  return apiAnswer(await trail.run(task));
}

async function request({ trail, query }: ApiCall): Promise<Answer> {
  const decisionId = query.get('decision') ?? '';
  const began = query.get('began') ?? undefined;
  if (!/^[\w-]{1,64}$/.test(decisionId)) throw invalid('the parameter decision is no decision id');
  if (began !== undefined && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(began)) {
    throw invalid('the parameter began is no time such as 2026-01-31T23:59:59.000000Z');
  }
  return apiAnswer(await trail.run({ kind: 'request', decisionId, began }));
}

async function traffic({ trail, query }: ApiCall): Promise<Answer> {
  const now = Date.now();
  const filter = filterTextOf(query, now);
  if ((filter.text ?? filter.column ?? filter.review ?? filter.canary) !== undefined) {
    throw invalid(
      'requests with a text, a column, a review or a canary are found, but not counted',
    );
  }
  return apiAnswer(await trail.run({ kind: 'traffic', filter, steps: STEPS, now }));
}

/** The policy in force, and whether the service is ready; parts and reasons are shown with `manage` only. */
async function state({ gateway, recorded }: ApiCall): Promise<Answer> {
  const { body } = await readiness(gateway, recorded);
  const { digest } = gateway.policy.current();
  const ready: unknown = JSON.parse(typeof body === 'string' ? body : '{}');
  return apiAnswer(JSON.stringify({ ready, policy: { digest }, version: gateway.version }));
}

/** Who is allowed an action on an object, by the policy in force. */
async function who({ gateway, trail, keys, query }: ApiCall): Promise<Answer> {
  const [action, object] = [typedAction(query), typedObject(query)];
  const { digest } = gateway.policy.current();
  const stored = await keys.book.read();
  const now = new Date();
  const active = stored.filter((key) => keyState(key, now) === 'active').map(principalOf);
  return apiAnswer(await trail.run({ kind: 'who', digest, keys: active, action, object }));
}

/** The newest changes of a table, with what each did. */
async function commits({ trail, query }: ApiCall): Promise<Answer> {
  return apiAnswer(
    await trail.run({ kind: 'commits', object: typedObject(query), limit: MOST_OF_PAGE }),
  );
}

async function explained({ gateway, trail, query }: ApiCall): Promise<Answer> {
  const subject = named('user', query.get('subject') ?? '');
  const [action, object] = [typedAction(query), typedObject(query)];
  const groups = query.getAll('group').map((name) => named('group', name));
  const roles = query.getAll('role').map((name) => named('role', name));
  const { digest } = gateway.policy.current();
  const principal = { subject, groups, roles };
  return apiAnswer(await trail.run({ kind: 'explain', digest, principal, action, object }));
}

function limitOf(typed: string | null): number {
  if (typed === null) return PAGE;
  const limit = /^\d{1,4}$/.test(typed) ? Number(typed) : 0;
  if (limit >= 1 && limit <= MOST_OF_PAGE) return limit;
  throw invalid(
    `limit is ${JSON.stringify(typed)}, but must be a number from 1 to ${MOST_OF_PAGE}`,
  );
}

function placeOf(
  typed: string | null,
): { readonly began: string; readonly decisionId: string } | undefined {
  if (typed === null) return undefined;
  const [, began, decisionId] = /^(\d{1,17})\.([\w-]{1,64})$/.exec(typed) ?? [];
  if (began !== undefined && decisionId !== undefined) return { began, decisionId };
  throw invalid('the parameter after is no place of a page before');
}
