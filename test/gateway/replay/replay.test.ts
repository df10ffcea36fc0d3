import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HashChain } from '../../../src/audit/chain/hash-chain.ts';
import { recordText } from '../../../src/audit/record/encoding.ts';
import type { AuditRecord } from '../../../src/audit/record/record.ts';
import { RequestLine } from '../../../src/audit/decided/line.ts';
import { timeOf } from '../../../src/audit/record/time.ts';
import { authorize } from '../../../src/gateway/authorize.ts';
import { Denied } from '../../../src/gateway/decision/permit.ts';
import { redactor } from '../../../src/gateway/decision/redact.ts';
import { Replay } from '../../../src/gateway/replay/replay.ts';
import { buildPolicy, type LoadedPolicy } from '../../../src/policy/load.ts';
import { branchOfRoute } from '../../../src/protocol/branch.ts';
import {
  canonicalPath,
  parseCanonicalPath,
  type ObjectPath,
} from '../../../src/protocol/identifier.ts';
import { queryMode } from '../../../src/protocol/mode.ts';
import type { Action } from '../../../src/protocol/operations/operation.ts';
import type { Principal } from '../../../src/protocol/principal.ts';
import { matchRoute, type OperationMatch } from '../../../src/protocol/route.ts';
import { record } from '../../audit/records.ts';
import { cell, conditionalModel, examples } from '../../policy/conditions.ts';
import { policyOf, principal, shippedModel } from '../../policy/support.ts';

/** A request as a test asks it: what its route says, and what the backend then asks for. */
interface Request {
  readonly principal: Principal;
  readonly route: OperationMatch;
  readonly ip: string;
  readonly micros: bigint;
  readonly context: ReadonlyMap<string, string>;
  readonly rights: readonly {
    readonly action: Action;
    readonly object: ObjectPath;
    readonly branch: string | undefined;
  }[];
}

function routeOf(line: string): OperationMatch {
  const [method = '', target = ''] = line.split(' ');
  const match = matchRoute(method, target, undefined);
  if (match.kind !== 'operation') throw new Error(`${line} is no operation`);
  return match;
}

/** Whether only the body can say which branch a request is about. */
function isOpen({ operation, query }: OperationMatch): boolean {
  return (
    operation.object === 'table' &&
    branchOfRoute(operation, query) === null &&
    operation.query.includes('branch')
  );
}

/** Decides a request as the gateway does: by its route, then what its body asks for. */
function decided(request: Request, { snapshot }: LoadedPolicy): Partial<AuditRecord> {
  const { route, ip: sourceIp, context } = request;
  const arrivedMicros = Number(request.micros);
  const known = { principal: request.principal, route, sourceIp, arrivedMicros, context };
  const digest = { policy_digest: snapshot.digest };
  let rights: AuditRecord['rights'] = [];
  try {
    const asking = { ...known, decisionId: 'd' } as Parameters<typeof authorize>[0];
    const { permit, rule } = authorize(asking, snapshot);
    ({ rights } = permit);
    const { name } = route.operation;
    // The body that says no branch means main.
    if (isOpen(route) && !permit.holds(name, route.object, 'main')) {
      permit.require(name, route.object, 'main');
    }
    for (const { action, object, branch } of request.rights) permit.require(action, object, branch);
    return { decision: 'allow', rule, rights, ...digest };
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    return { decision: 'deny', rule: error.verdict.rule, rights, ...digest };
  }
}

const redact = redactor(['secret*']);

/** The record of a request, as the gateway writes it. */
function recordOf(request: Request, policy: LoadedPolicy): AuditRecord {
  const { route, principal: who, ip, micros, context } = request;
  const target = route.target === undefined ? [] : [route.target];
  const found = decided(request, policy);
  return record('r', {
    ...found,
    phase: 'outcome',
    time: timeOf(micros + 1500n),
    duration_us: 1500n,
    principal: {
      subject: who.subject,
      groups: who.groups,
      roles: who.roles,
      ...(who.scopes === undefined ? {} : { scopes: who.scopes }),
    },
    subject: who.subject,
    source_ip: ip,
    operation: route.operation.name,
    object: canonicalPath(route.object),
    mode: queryMode(route.operation, route.query) ?? null,
    branch: route.query.get('branch')?.[0] ?? null,
    context: redact(context),
    rights: [
      ...target.map((path) => ({
        action: 'CreateTable',
        branch: null,
        objects: [canonicalPath(path)],
      })),
      ...(found.rights ?? []),
    ],
  });
}

function lineOf(given: AuditRecord): RequestLine {
  const chain = new HashChain('20260131T235959Z-9f86d081', () => undefined);
  const line = chain.frame(1n, [{ bytes: recordText(given) }]);
  return new RequestLine(Buffer.from(line).toString());
}

async function replayed(
  records: readonly AuditRecord[],
  proposed: LoadedPolicy,
  before: readonly LoadedPolicy[] = [],
) {
  const find = (digest: string) => before.find(({ snapshot }) => snapshot.digest === digest);
  const replay = new Replay({ proposed, before: async (digest) => find(digest) });
  await replay.add(records.map(lineOf));
  const { report } = replay;
  return {
    same: report.same,
    changed: report.changed.map(({ kind, subject, action, object, was, now, requests }) =>
      [kind, subject, action, object, requests, was.rule, now.rule].join(' '),
    ),
    skipped: report.skipped.map(({ why, requests }) => `${requests}: ${why}`),
  };
}

const routes = [
  'POST /v1/table/a$t/describe',
  'POST /v1/table/a$t/query',
  'POST /v1/table/a$t/insert',
  'POST /v1/table/a$t/insert?mode=overwrite',
  'POST /v1/table/a$t/insert?branch=dev',
  'POST /v1/table/b$t/create?mode=overwrite',
  'POST /v1/table/b$t/create?mode=exist_ok',
  'POST /v1/table/a$t/count_rows?branch=dev',
  'POST /v1/table/a$t/rename/to/b$u',
  'POST /v1/namespace/a/drop',
  'GET /v1/namespace/a/table/list',
  'POST /v1/table/a$t/branches/create',
  'POST /v1/table/batch-commit',
  'POST /v1/table/system$audit/query',
].map(routeOf);

const objects: readonly ObjectPath[] = [['a'], ['a', 't'], ['b', 't'], ['a', 'x', 'y']];
const names = ['user:ann', 'user:bob', 'group:g', 'role:r', '*'];
const actions = [
  'describe',
  'read',
  'append',
  'modify',
  'create',
  'drop',
  'branch',
  'commit',
  '*',
  'QueryTable',
  'audit',
];

const policies = fc
  .array(
    fc.tuple(
      fc.constantFrom(...names),
      fc.constantFrom('/**', '/a/**', '/a/t', '/a', '/*/t', '/b/**', '/system/**'),
      fc.constantFrom(...actions),
      fc.constantFrom('allow', 'allow', 'allow', 'deny'),
      fc.constantFrom(...examples),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((lines) =>
    lines.map(([who, pattern, action, effect, { text }]) =>
      ['p', who, pattern, action, effect, cell(text)].join(', '),
    ),
  );

const requests: fc.Arbitrary<Request> = fc.record({
  principal: fc
    .tuple(
      fc.constantFrom('user:ann', 'user:bob'),
      fc.subarray(['group:g', 'role:r']),
      fc.option(fc.constant([{ action: 'read', pattern: '/a/**' }]), { nil: undefined, freq: 4 }),
    )
    .map(([who, more, scopes]) => principal(who, more, scopes)),
  route: fc.constantFrom(...routes),
  ip: fc.constantFrom('10.1.2.3', '192.168.7.7', '::1'),
  micros: fc
    .integer({ min: 0, max: 7 * 24 * 60 })
    .map((minute) => 1_767_225_600_000_000n + BigInt(minute) * 60_000_123n),
  context: fc.constantFrom(
    new Map(),
    new Map([['team', 'a']]),
    new Map([
      ['team', 'b c'],
      ['job', 'x'],
    ]),
  ),
  rights: fc.array(
    fc.record({
      action: fc.constantFrom<Action>('CreateTable', 'schema', 'QueryTable', 'drop'),
      object: fc.constantFrom(...objects),
      branch: fc.constantFrom(undefined, 'main', 'dev'),
    }),
    { maxLength: 2 },
  ),
});

/** The route of a request that was allowed: a body that names no branch meant main. */
function routeIn({ decision }: AuditRecord, { route }: Request): OperationMatch {
  if (decision !== 'allow' || !isOpen(route)) return route;
  return { ...route, query: new Map([...route.query, ['branch', ['main']]]) };
}

describe('a replay', () => {
  it('decides every record as a request of today would be decided', async () => {
    await fc.assert(
      fc.asyncProperty(
        policies,
        policies,
        fc.array(requests, { minLength: 1, maxLength: 12 }),
        async (then, now, asked) => {
          const [before, proposed] = [
            await policyOf(then, conditionalModel),
            await policyOf(now, conditionalModel),
          ];
          for (const request of asked) {
            const written = recordOf(request, before);
            const rights = rightsIn(written, request);
            const today = decided(
              { ...request, route: routeIn(written, request), rights },
              proposed,
            );
            // Of a request that was refused the branch is not known, if only its body could name one.
            if (written.decision === 'deny' && isOpen(request.route)) continue;
            const { same, changed, skipped } = await replayed([written], proposed, [before]);
            expect(skipped).toEqual([]);
            expect(same).toBe(today.decision === written.decision ? 1 : 0);
            if (same === 1) continue;
            expect(changed).toHaveLength(1);
            const kind = today.decision === 'allow' ? 'gain' : 'lose';
            const rule = [written.rule, today.rule].join(' ');
            expect(changed[0]).toMatch(
              new RegExp(`^${kind} ${request.principal.subject} .* 1 ${rule}$`),
            );
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('finds the same for many at once as for each alone', async () => {
    await fc.assert(
      fc.asyncProperty(
        policies,
        policies,
        fc.array(requests, { maxLength: 40 }),
        async (then, now, asked) => {
          const before = await policyOf(then, conditionalModel);
          const proposed = await policyOf(now, conditionalModel);
          const records = asked.map((request) => recordOf(request, before));
          const alone = await Promise.all(
            records.map((one) => replayed([one], proposed, [before])),
          );
          const together = await replayed(records, proposed, [before]);
          expect(together.same).toBe(alone.reduce((sum, { same }) => sum + same, 0));
          const counted = together.changed.map((line) => Number(line.split(' ')[4]));
          expect(counted.reduce((sum, count) => sum + count, 0)).toBe(asked.length - together.same);
        },
      ),
      { numRuns: 30 },
    );
  });
});

/** The rights that a record has beside that on the target of its route: those up to the one that was refused. */
function rightsIn({ rights = [] }: AuditRecord, { route }: Request): Request['rights'] {
  return rights
    .slice(route.target === undefined ? 0 : 1)
    .flatMap(({ action, branch, objects: paths }) =>
      paths.map((path) => ({
        action: action as Action,
        object: parseCanonicalPath(path),
        branch: branch ?? undefined,
      })),
    );
}

const ann = principal('user:ann');
const plain: Request = {
  principal: ann,
  route: routeOf('POST /v1/table/a$t/query'),
  ip: '10.0.0.1',
  micros: 1_767_225_600_000_000n,
  context: new Map(),
  rights: [],
};

describe('what changes', () => {
  it('is told by subject, action and object, with the line of then and of now', async () => {
    const before = await policyOf([
      'p, user:ann, /a/**, read, allow',
      'p, user:bob, /b, read, allow',
    ]);
    const proposed = await policyOf([
      'p, user:bob, /**, read, allow',
      'p, *, /a/t, QueryTable, deny',
    ]);
    const other = {
      ...plain,
      principal: principal('user:bob'),
      route: routeOf('POST /v1/table/c/query'),
    };
    const records = [plain, plain, other].map((request) => recordOf(request, before));
    expect(await replayed(records, proposed, [before])).toEqual({
      same: 0,
      changed: [
        'lose user:ann QueryTable /a/t 2 policy.csv:1 policy.csv:2',
        'gain user:bob QueryTable /c 1  policy.csv:1',
      ],
      skipped: [],
    });
  });

  it('names the right that the body asked for, where that decides', async () => {
    const before = await policyOf(['p, user:ann, /**, *, allow']);
    const proposed = await policyOf([
      'p, user:ann, /**, *, allow',
      'p, user:ann, /b/**, create, deny',
    ]);
    const asks = { ...plain, route: routeOf('POST /v1/table/a$t/rename/to/b$u') };
    const inBody = {
      ...plain,
      rights: [{ action: 'CreateTable', object: ['b', 'v'], branch: undefined }],
    } as const;
    const records = [asks, inBody].map((request) => recordOf(request, before));
    expect((await replayed(records, proposed)).changed).toEqual([
      'lose user:ann CreateTable /b/u 1 policy.csv:1 policy.csv:2',
      'lose user:ann CreateTable /b/v 1 policy.csv:1 policy.csv:2',
    ]);
  });

  it('is nothing where something else than the policy refused', async () => {
    const before = await policyOf(['p, user:ann, /**, *, allow']);
    const refused = { ...recordOf(plain, before), decision: 'deny', rule: null } as const;
    const why = '1: it was not the policy that refused the request';
    expect((await replayed([refused], before, [before])).skipped).toEqual([why]);
    // Without the text of then nothing is known of that.
    expect((await replayed([refused], before)).changed).toHaveLength(1);
  });

  it('is what a proxy would have been told, of a request that it only describes', async () => {
    const before = await policyOf(['p, user:ann, /**, QueryTable, allow']);
    const proposed = await policyOf(['p, user:ann, /**, *, allow']);
    const list = { ...plain, route: routeOf('POST /v1/table/a$t/create?mode=create') };
    const batch = { ...plain, route: routeOf('POST /v1/table/batch-commit') };
    const records = [list, batch].map((request) => ({
      ...recordOf(request, before),
      backend: null,
    }));
    const { same, changed } = await replayed(records, proposed, [before]);
    expect([same, changed]).toEqual([1, ['gain user:ann CreateTable /a/t 1  policy.csv:1']]);
  });
});

describe('what cannot be replayed', () => {
  it.each<[string, Partial<AuditRecord>, string]>([
    ['nobody', { decision: 'unauthenticated' }, 'the caller was not identified'],
    ['nonsense', { decision: 'invalid' }, 'the request was invalid, so it was never decided'],
    [
      'too much',
      { decision: 'limited' },
      'the request was refused by a limit before it was decided',
    ],
    [
      'an outage',
      { decision: 'unavailable' },
      'the request could not be served, and may never have been decided',
    ],
    ['no principal', { principal: null }, 'the record names no principal'],
    ['no object', { object: null }, 'the record names no operation or no object'],
    [
      'another version',
      { operation: 'FlyTable' },
      'the operation FlyTable is not known to this version',
    ],
    [
      'a right of another version',
      { rights: [{ action: 'fly', branch: null, objects: ['/a'] }] },
      'the operation fly is not known to this version',
    ],
  ])('is told with its reason: %s', async (_, more, why) => {
    const policy = await policyOf(['p, user:ann, /**, *, allow']);
    const written = { ...recordOf(plain, policy), ...more };
    expect(await replayed([written, written], policy)).toEqual({
      same: 0,
      changed: [],
      skipped: [`2: ${why}`],
    });
  });

  it('is a decision by a value that is redacted, and no other', async () => {
    const before = await policyOf(['p, user:ann, /**, *, allow, '], conditionalModel);
    const secret = recordOf(
      {
        ...plain,
        context: new Map([
          ['secret', 'a'],
          ['team', 'b'],
        ]),
      },
      before,
    );
    expect(secret.context).toEqual({ secret: '[redacted]', team: 'b' });
    const under = async (...lines: readonly string[]) => {
      const { same, changed, skipped } = await replayed(
        [secret],
        await policyOf(lines, conditionalModel),
      );
      return same === 1 ? 'same' : (skipped[0] ?? changed[0]?.split(' ')[0]);
    };
    const why = '1: a condition looks at ctx.secret, which is redacted in the log';
    expect(await under('p, user:ann, /**, *, allow, ctx.secret == a')).toBe(why);
    expect(await under('p, user:ann, /**, *, allow, ctx.secret != a')).toBe(why);
    expect(await under('p, *, /**, *, allow, ', 'p, *, /**, *, deny, ctx.secret == a')).toBe(why);
    expect(await under('p, *, /**, *, allow, ', 'p, *, /b, *, deny, ctx.secret == a')).toBe('same');
    expect(await under('p, *, /**, *, allow, ', 'p, *, /**, read, allow, ctx.secret == a')).toBe(
      'same',
    );
    expect(await under('p, *, /b, *, allow, ', 'p, *, /b, *, allow, ctx.secret == a')).toBe('lose');
    expect(await under('p, *, /**, *, allow, ctx.team == b')).toBe('same');
    expect(await under('p, *, /**, *, allow, ctx.secret == a and ctx.team == c')).toBe('lose');
  });
});

describe('what callers would see', () => {
  const withRestrictions = (restrictions: string): Promise<LoadedPolicy> =>
    buildPolicy({ model: shippedModel, policy: 'p, *, /**, *, allow\n', restrictions });
  const ask = (line: string): Request => ({
    principal: principal('user:ann'),
    route: routeOf(line),
    ip: '10.0.0.1',
    micros: 1n,
    context: new Map(),
    rights: [],
  });

  async function seen(
    records: readonly AuditRecord[],
    proposed: LoadedPolicy,
    before: LoadedPolicy,
  ) {
    const { digest } = before.snapshot;
    const find = async (of: string) => (of === digest ? before : undefined);
    const replay = new Replay({ proposed, before: find });
    await replay.add(records.map(lineOf));
    const { report } = replay;
    return {
      same: report.same,
      seeing: report.seeing,
      seen: report.seen.map(({ direction, subject, object, column, was, now, requests }) =>
        [direction, subject, object, column ?? 'rows', was, '->', now, requests].join(' '),
      ),
      skipped: report.skipped.map(({ why, requests }) => `${requests}: ${why}`),
    };
  }

  it('is compared with what they saw, for each table and column', async () => {
    const before = await withRestrictions(`restrictions:
  - { name: own, tables: ['/a/t'], rows: x > 1, columns: { y: { mask: sha256 } } }
`);
    const proposed = await withRestrictions(`restrictions:
  - { name: own, tables: ['/a/t', '/b/t'], rows: x > 1, columns: { y: hidden } }
`);
    const lines = ['a$t/query', 'a$t/query', 'a$t/count_rows', 'b$t/query', 'c$t/query'];
    const records = [
      ...lines.map((line) => recordOf(ask(`POST /v1/table/${line}`), before)),
      recordOf(ask('GET /v1/namespace/a/table/list'), before),
    ];
    expect(await seen(records, proposed, before)).toEqual({
      same: 2,
      seeing: 4,
      seen: [
        'fewer user:ann /a/t y sha256 -> hidden 3',
        'fewer user:ann /b/t rows all -> x > 1 1',
        'fewer user:ann /b/t y shown -> hidden 1',
      ],
      skipped: [],
    });
    expect((await seen(records, before, before)).seen).toEqual([]);
  });

  it('is not known where the policy of then is not archived', async () => {
    const [before, other] = [
      await withRestrictions('restrictions: []\n'),
      await policyOf(['p, *, /**, *, allow']),
    ];
    const proposed = await withRestrictions(
      "restrictions: [{ name: own, tables: ['/a/t'], rows: x > 1 }]\n",
    );
    const records = ['a$t/query', 'b$t/query'].map((line) =>
      recordOf(ask(`POST /v1/table/${line}`), before),
    );
    expect(await seen(records, proposed, other)).toEqual({
      same: 1,
      seeing: 0,
      seen: [],
      skipped: [
        '1: the policy of then is not archived, so its row filters and column masks are not known',
      ],
    });
  });
});
