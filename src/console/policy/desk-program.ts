import { parentPort, workerData } from 'node:worker_threads';
import { CatalogError } from '../../protocol/errors.ts';
import { keyState, noKeySentence } from '../../gateway/identity/keys.ts';
import { principalOf } from '../../gateway/identity/key-ring.ts';
import { policyEventsOf } from '../../gateway/replay/policy-history.ts';
import { unusedOf } from '../../gateway/replay/unused.ts';
import { rightsOfCaller, rightsOnObject } from '../../policy/effective-rights.ts';
import { parseObject } from '../../policy/lines/pattern.ts';
import { rulesInForce } from '../../policy/rules-in-force.ts';
import { policyDigest, readPolicyTexts } from '../../policy/policy-folder.ts';
import { microsOf } from '../../audit/record/time.ts';
import type { DeskAnswer, DeskPlaces, DeskTask, NumberedDeskTask } from './desk-task.ts';
import { policyInForce, progressTo, usableKeys, type Desk } from './desk-work.ts';
import { judgedProposal } from './proposal.ts';
import { shownPolicy } from './shown-policy.ts';

/** Work on policies, on a thread of its own. */

type Task<Kind extends DeskTask['kind']> = Extract<DeskTask, { readonly kind: Kind }>;

async function history(desk: Desk, { since }: Task<'history'>): Promise<object> {
  const current = await readPolicyTexts(desk.policies).then(policyDigest, () => undefined);
  const progress = progressTo(desk.part, 'history');
  const window = { since: microsOf(since) };
  return { events: (await policyEventsOf(desk.audit, { window, current, progress })).toReversed() };
}

async function unused(desk: Desk, { digest, since }: Task<'unused'>): Promise<object> {
  const policy = await policyInForce(desk.audit, digest);
  const progress = progressTo(desk.part, 'unused');
  return unusedOf(desk.audit, { policy, keys: desk.keys, period: { since }, progress });
}

async function callerRights(desk: Desk, { digest, caller }: Task<'rights'>): Promise<object> {
  const policy = await policyInForce(desk.audit, digest);
  const principal = { ...caller, credential: { kind: 'key', id: '' } } as const;
  return { ...caller, key: null, state: null, ...rightsOfCaller(policy, principal) };
}

async function keyRights(desk: Desk, { digest, key: id }: Task<'key-rights'>): Promise<object> {
  const key = desk.keys.find((one) => one.id === id);
  if (key === undefined) throw new CatalogError('InvalidInput', noKeySentence(id));
  const policy = await policyInForce(desk.audit, digest);
  const principal = principalOf(key);
  const { subject, groups, roles } = principal;
  const state = keyState(key, new Date());
  return { subject, groups, key: id, state, keyRoles: roles, ...rightsOfCaller(policy, principal) };
}

async function objectRights(
  desk: Desk,
  { digest, object }: Task<'object-rights'>,
): Promise<object> {
  const path = parseObject(object);
  if (path === undefined) throw new CatalogError('InvalidInput', `${object} is no canonical path`);
  const policy = await policyInForce(desk.audit, digest);
  const keys = usableKeys(desk.keys).map(principalOf);
  return rightsOnObject(policy, path, keys);
}

const works: {
  readonly [Kind in DeskTask['kind']]: (desk: Desk, task: Task<Kind>) => Promise<object>;
} = {
  policy: (desk, { digest }) => shownPolicy(desk, digest),
  history,
  unused,
  propose: (desk, task) => judgedProposal(desk, task),
  rules: async (desk, { digest }) => rulesInForce(await policyInForce(desk.audit, digest)),
  rights: callerRights,
  'key-rights': keyRights,
  'object-rights': objectRights,
};

async function answer(desk: Desk, { id, task }: NumberedDeskTask): Promise<DeskAnswer> {
  try {
    const work = works[task.kind] as (desk: Desk, task: DeskTask) => Promise<object>;
    return { id, json: JSON.stringify(await work(desk, task)) };
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error));
    const name = error instanceof CatalogError ? error.row.name : 'Internal';
    return { id, error: { name, message } };
  }
}

/** Answers the tasks of this thread, one at a time. @param objects Existing objects, if there is a catalog. */
export function serveDesk(objects: Desk['objects']): void {
  const places = workerData as DeskPlaces;
  const send = (message: DeskAnswer): void => parentPort?.postMessage(message, []);
  parentPort?.on('message', (numbered: NumberedDeskTask) => {
    const part = (value: object): void => send({ id: numbered.id, part: JSON.stringify(value) });
    void answer({ ...places, keys: numbered.keys, objects, part }, numbered).then(send);
  });
}
