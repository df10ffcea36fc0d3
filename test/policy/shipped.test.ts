import { readFile } from 'node:fs/promises';
import { StringAdapter, newEnforcer, newModelFromString } from 'casbin';
import { describe, expect, it } from 'vitest';
import { runCases } from '../../src/policy/cases.ts';
import { covers, within } from '../../src/policy/decide/casbin-enforcer.ts';
import { loadPolicyLines } from '../../src/policy/load.ts';
import { principalsAllowed } from '../../src/policy/who.ts';
import { principal, shippedFolder, shippedModel } from './support.ts';

describe('the shipped policies', () => {
  it('pass their own cases', async () => {
    const { snapshot, cases } = await loadPolicyLines(shippedFolder);
    expect(cases.length).toBeGreaterThan(10);
    expect(await runCases(snapshot, cases)).toEqual([]);
    expect(snapshot.slow).toBe(false);
    expect(snapshot.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('are plain Casbin files that casbin itself decides by', async () => {
    const text = await readFile(`${shippedFolder}policy.csv`, 'utf8');
    const judge = await newEnforcer(newModelFromString(shippedModel), new StringAdapter(text));
    await judge.addFunction('within', within);
    await judge.addFunction('covers', covers);
    expect(judge.enforceSync('user:admin', '/any/thing', 'DropTable')).toBe(true);
    expect(judge.enforceSync('role:reader', '/any/thing', 'QueryTable')).toBe(true);
    expect(judge.enforceSync('role:reader', '/any/thing', 'InsertIntoTable')).toBe(false);
  });

  it('let the administrator do everything and a reader no writing anywhere', async () => {
    const policy = await loadPolicyLines(shippedFolder);
    const admin = principal('user:admin', ['role:admin']);
    const reader = principal('user:ann', ['role:reader']);
    for (const action of ['create', 'drop', 'modify', 'manage', 'audit', 'read'] as const) {
      expect(policy.snapshot.mayAnywhere(admin, action)).toBe(true);
      expect(policy.snapshot.mayAnywhere(reader, action)).toBe(action === 'read');
    }
    const found = principalsAllowed(policy, 'QueryTable', ['system', 'audit']);
    expect(found.map((one) => [one.principal.subject, one.key, one.rule])).toEqual([
      ['role:admin', null, 'policy.csv:11'],
      ['role:auditor', null, expect.stringMatching(/^policy\.csv:\d+$/)],
      ['user:admin', null, 'policy.csv:11'],
    ]);
  });
});
