import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../protocol/backend.ts';
import { CatalogError } from '../protocol/errors.ts';
import { MOMENTS, typedMoment, utcCalendar } from '../protocol/moment.ts';
import { limitLevels } from '../gateway/limit-levels.ts';
import { timeOf } from '../audit/record/time.ts';
import { readFileNames } from '../policy/policy-folder.ts';
import { SEAL_FILE } from '../policy/seal.ts';
import { apiAnswer, type ApiCall, type Endpoint } from './call.ts';
import { jsonBody } from './json-body.ts';
import { invalid, namedIn, typedObject } from './parameters.ts';
import type { DeskTask } from './policy/desk-task.ts';

/** The caller is checked again so often while an answer goes on, in ms. */
const CHECK_MILLIS = 500;
/** Largest body of a proposal, in bytes. */
const MOST_PROPOSAL = 4_194_304;
/** Periods of history, of use and of a replay where none is given. */
const PERIODS = { history: '90d', unused: '30d', propose: '7d' } as const;

/** Calls about the policy: they read policy files and never write one. */
export const deskEndpoints: Readonly<Record<string, Omit<Endpoint, 'object'>>> = {
  policy: { answer: (call) => whole(call, { kind: 'policy', digest: digestOf(call) }) },
  'policy/history': {
    answer: (call) => streamed(call, taskSince(call, 'history')),
  },
  'policy/propose': { method: 'POST', answer: proposed },
  rules: { answer: (call) => whole(call, { kind: 'rules', digest: digestOf(call) }) },
  'limits/levels': { answer: levels },
  rights: { answer: rights },
  unused: { answer: (call) => streamed(call, taskSince(call, 'unused')) },
};

function digestOf({ gateway }: ApiCall): string {
  return gateway.policy.current().digest;
}

async function whole({ desk, recorded }: ApiCall, task: DeskTask): Promise<Answer> {
  return apiAnswer(await desk.run(task, { signal: recorded.signal() }));
}

function taskSince(call: ApiCall, kind: 'history' | 'unused'): DeskTask {
  return { kind, digest: digestOf(call), since: sinceOf(call.query.get('since') ?? PERIODS[kind]) };
}

function sinceOf(typed: string): string {
  const micros = typedMoment(typed, utcCalendar, Date.now());
  if (micros !== undefined) return timeOf(micros);
  throw invalid(`since is ${JSON.stringify(typed)}, but must be ${MOMENTS}`);
}

/** The effective rights of a caller, of a key, or on an object. */
function rights(call: ApiCall): Promise<Answer> {
  const { query } = call;
  const digest = digestOf(call);
  const [subject, key, object] = ['subject', 'key', 'object'].map((name) => query.get(name));
  if ([subject, key, object].filter((one) => one !== null).length !== 1) {
    throw invalid('give one of subject, key and object');
  }
  if (typeof object === 'string') {
    return whole(call, { kind: 'object-rights', digest, object: typedObject(query) });
  }
  if (typeof key === 'string') return whole(call, { kind: 'key-rights', digest, key });
  const caller = {
    subject: callerName(subject ?? ''),
    groups: query.getAll('group').map((name) => namedIn('group', name)),
    roles: query.getAll('role').map((name) => namedIn('role', name)),
  };
  return whole(call, { kind: 'rights', digest, caller });
}

/** Counters of limits that are in use now. */
async function levels({ gateway, recorded }: ApiCall): Promise<Answer> {
  const { subject } = recorded.principal;
  return apiAnswer(JSON.stringify(await limitLevels(gateway, subject)));
}

/** A user, unless the name says that it is a role or a group. */
function callerName(typed: string): string {
  if (typed.startsWith('role:')) return namedIn('role', typed);
  return typed.startsWith('group:') ? namedIn('group', typed) : namedIn('user', typed);
}

const PROPOSAL =
  'the body must be {"files": {"policy.csv": "…"}, "since": "7d"}, as application/json; null removes a file, and since may be absent';

async function proposed(call: ApiCall): Promise<Answer> {
  const {
    files,
    since = PERIODS.propose,
    ...others
  } = await jsonBody(call.recorded, PROPOSAL, MOST_PROPOSAL);
  if (typeof since !== 'string' || !isFiles(files) || Object.keys(others).length > 0) {
    throw invalid(PROPOSAL);
  }
  for (const name of Object.keys(files)) requireFile(name);
  return streamed(call, { kind: 'propose', digest: digestOf(call), files, since: sinceOf(since) });
}

function isFiles(value: unknown): value is Readonly<Record<string, string | null>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => text === null || typeof text === 'string');
}

function requireFile(name: string): void {
  const names = readFileNames.filter((each) => each !== SEAL_FILE);
  if (names.includes(name)) return;
  throw invalid(
    `${JSON.stringify(name)} is no policy file that can be changed here: there are ${names.join(', ')}`,
  );
}

/**
 * An answer of long work: one JSON object a line, with `stage`, and `done` while it goes on or `result` at
 * its end; `error` and `status` if it fails. The work ends with the connection, the credential and the right.
 */
function streamed(call: ApiCall, task: DeskTask): Answer {
  return {
    status: 200,
    contentType: 'application/x-ndjson',
    headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    body: linesOf(call, task),
  };
}

async function* linesOf(call: ApiCall, task: DeskTask): AsyncGenerator<Uint8Array> {
  const ending = new AbortController();
  const signal = AbortSignal.any([call.recorded.signal(), ending.signal]);
  const parts: string[] = [];
  let isDone = false;
  const work = call.desk
    .run(task, { signal, onPart: (json) => void parts.push(json) })
    .then((json) => parts.push(task.kind === 'propose' ? json : resultLine(task.kind, json)))
    .catch((error: unknown) => parts.push(errorLine(error)))
    .finally(() => (isDone = true));
  try {
    // The head is sent with the first bytes.
    yield Buffer.from('\n');
    for (;;) {
      await Promise.race([work, sleep(CHECK_MILLIS, undefined, { signal }).catch(() => undefined)]);
      const isEnd = isDone;
      if (signal.aborted || (!isEnd && !(await call.isAllowed()))) return;
      const lines = parts.splice(0).map((part) => `${part}\n`);
      if (lines.length > 0) yield Buffer.from(lines.join(''));
      if (isEnd) return;
    }
  } finally {
    ending.abort();
  }
}

function resultLine(stage: string, json: string): string {
  return `{"stage":${JSON.stringify(stage)},"result":${json}}`;
}

function errorLine(error: unknown): string {
  if (error instanceof CatalogError) {
    return JSON.stringify({ error: error.message, status: error.row.status });
  }
  return JSON.stringify({ error: 'the work on the policy failed', status: 500 });
}
