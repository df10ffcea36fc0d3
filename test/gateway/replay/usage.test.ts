import { describe, expect, it } from 'vitest';
import type { DecidedRecord, DecidedRequest } from '../../../src/audit/decided/request.ts';
import { Usage } from '../../../src/gateway/replay/usage.ts';
import type { LoadedPolicy } from '../../../src/policy/load.ts';
import { buildPolicy } from '../../../src/policy/load.ts';
import { policyOf, shippedModel } from '../../policy/support.ts';

const plain: DecidedRecord = {
  phase: 'outcome',
  time: '2026-01-31T10:00:00.000000Z',
  duration_us: 1n,
  decision_id: 'd',
  principal: { subject: 'user:ann', groups: [], roles: [], scopes: null },
  credential: 'k1',
  source_ip: '10.0.0.1',
  operation: 'QueryTable',
  object: '/a/t',
  mode: null,
  branch: null,
  backend: 'embedded',
  decision: 'allow',
  rule: null,
  policy_digest: null,
  rights: [],
  context: {},
};

function requestOf(
  record: DecidedRecord,
  columns: readonly string[] | null = null,
): DecidedRequest {
  return {
    phase: record.phase,
    decisionId: record.decision_id,
    time: record.time,
    key: JSON.stringify({ ...record, duration_us: null }),
    conditionInputs: () => ({ ip: null, context: {}, time: record.time, durationMicros: 0n }),
    userAgent: () => null,
    readColumns: () => columns,
    record: () => record,
  };
}

async function usageOf(
  policy: LoadedPolicy,
  records: readonly Partial<DecidedRecord>[],
  before: readonly LoadedPolicy[] = [],
): Promise<Usage> {
  const find = (digest: string) => before.find(({ snapshot }) => snapshot.digest === digest);
  const usage = new Usage({ policy, before: async (digest) => find(digest) });
  await usage.add(records.map((more) => requestOf({ ...plain, ...more })));
  return usage;
}

/** The numbers of lines that were used, in order. */
const usedOf = ({ lines: used }: Usage): readonly number[] => [...used].sort((a, b) => a - b);

const lines = [
  'p, role:reader, /a/**, read, allow',
  'p, role:other, /a/**, read, allow',
  'g, user:ann, role:team',
  'g, role:team, role:reader',
  'g, user:ann, role:other',
  'g, user:ann, role:loose',
];

describe('what a policy was used for', () => {
  it('are the line that decided and the memberships on the way to it', async () => {
    const policy = await policyOf(lines);
    const { digest } = policy.snapshot;
    const usage = await usageOf(policy, [{ rule: 'policy.csv:1', policy_digest: digest }]);
    expect(usedOf(usage)).toEqual([1, 3, 4]);
    expect([...usage.names].sort()).toEqual([
      '*',
      'role:loose',
      'role:other',
      'role:reader',
      'role:team',
      'user:ann',
    ]);
    expect([[...usage.credentials], usage.requests]).toEqual([['k1'], 1]);
  });

  it('is found again where the line stands now, however its spaces are set', async () => {
    const before = await policyOf(['# once', 'p,role:reader,/a/**,  read,allow']);
    const policy = await policyOf(lines);
    const then = { rule: 'policy.csv:2', policy_digest: before.snapshot.digest };
    expect(usedOf(await usageOf(policy, [then], [before]))).toEqual([1, 3, 4]);
    const lost = await usageOf(policy, [then]);
    expect([[...lost.lines], [...lost.unknown]]).toEqual([[], [before.snapshot.digest]]);
  });

  it('is also what a body asked for, and what a mode needs', async () => {
    const policy = await policyOf([
      'p, user:ann, /a/**, create, allow',
      'p, user:ann, /a/**, drop, allow',
      'p, user:ann, /b, CreateTable, allow',
    ]);
    const first = { rule: 'policy.csv:1', policy_digest: policy.snapshot.digest };
    const over = { ...first, operation: 'CreateTable', mode: 'overwrite' };
    expect(usedOf(await usageOf(policy, [over]))).toEqual([1, 2]);
    const rights = [{ action: 'CreateTable', branch: null, objects: ['/b'] }];
    expect(usedOf(await usageOf(policy, [{ ...first, rights }]))).toEqual([1, 3]);
  });

  it('is nothing of a request whose caller is not known, or that no line decided', async () => {
    const policy = await policyOf(lines);
    const usage = await usageOf(policy, [
      { decision: 'unauthenticated', principal: null, credential: null },
      { decision: 'deny', rule: null, policy_digest: policy.snapshot.digest },
    ]);
    expect([usage.lines.size, usage.requests]).toEqual([0, 2]);
  });
});

describe('which restrictions a log used', () => {
  it('are those that bound a caller, with the columns that were read under them', async () => {
    const policy = await buildPolicy({
      model: shippedModel,
      policy: 'p, role:reader, /**, read, allow\n',
      restrictions: `restrictions:
  - { name: own, tables: ['/a/**'], subjects: ['role:reader'], columns: { x: { mask: sha256 }, y: hidden } }
  - { name: idle, tables: ['/b/**'], rows: x > 1 }
`,
    });
    const ann = { ...plain, principal: { ...plain.principal!, roles: ['role:reader'] } };
    const usage = new Usage({ policy, before: async () => undefined });
    await usage.add([
      requestOf(ann, ['x', 'z']),
      requestOf(ann, ['y']),
      requestOf(plain, ['w']),
      requestOf({ ...ann, operation: 'ListTables', object: '/b/c' }),
    ]);
    expect([...usage.restrictions]).toEqual(['own']);
    expect([...(usage.columnsRead.get('own') ?? [])]).toEqual(['x', 'z', 'y']);
  });
});
