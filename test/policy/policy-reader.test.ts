import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPolicy } from '../../src/policy/policy-reading.ts';
import { firstPolicyOf, firstReading, PolicyReader } from '../../src/policy/policy-reader.ts';
import type { PolicySnapshot } from '../../src/policy/decide/snapshot.ts';
import { watchPolicy } from '../../src/policy/watch.ts';
import { eventually } from '../support/eventually.ts';
import { conditionalModel } from './conditions.ts';
import { principal, shippedModel } from './support.ts';

let folder: string;
let reader: PolicyReader;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-reader-'));
  reader = new PolicyReader();
  await write({ 'model.conf': shippedModel, 'policy.csv': small });
});

afterEach(async () => {
  reader.close();
  await rm(folder, { recursive: true });
});

const small = 'p, user:ann, /a, read, allow\n';

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

const ann = principal('user:ann');
const reads = (snapshot: PolicySnapshot, ...path: readonly string[]) =>
  snapshot.decide(ann, 'QueryTable', path);

describe('policies that a thread reads', () => {
  it('decide, limit and judge commits as those that are read here', async () => {
    await write({
      'model.conf': conditionalModel,
      'policy.csv': [
        'p, role:reader, /lake/**, read, allow, branch == main and ip in 10.0.0.0/8',
        'p, role:reader, /lake/%C3%A9, *, deny, ',
        'p, *, /open/*, describe, allow, ',
        'g, group:all, role:reader',
        'g, user:ann, group:all',
        '',
      ].join('\n'),
      'limits.yaml': 'limits: [{ name: one, rate: 5/s, cost: { read: 3 }, operations: [read] }]\n',
      'commits.yaml':
        'rules: [{ name: r, tables: ["/lake/**"], require: { max_rows: 7 }, except: ["user:x"] }]\n',
    });
    const [here, there] = await Promise.all(
      [readPolicy, reader.read].map(
        async (read) => (await firstPolicyOf(folder, { read })).snapshot,
      ),
    );
    const circumstances = { context: new Map(), branch: 'main', address: undefined };
    for (const path of [['lake', 't'], ['lake', 'é'], ['open', 'x'], ['open', 'x', 'y'], []]) {
      for (const action of ['QueryTable', 'describe', 'DropTable'] as const) {
        const asked = [ann, action, path, circumstances] as const;
        expect(there!.decide(...asked)).toEqual(here!.decide(...asked));
        expect(there!.sees(ann, path, 'namespace')).toBe(here!.sees(ann, path, 'namespace'));
      }
    }
    expect(there!.digest).toBe(here!.digest);
    const limited = there!.limits.on(ann, 'QueryTable', ['lake', 't']);
    expect(limited).toEqual(here!.limits.on(ann, 'QueryTable', ['lake', 't']));
    expect(limited.limits).toHaveLength(1);
    const [rule] = there!.commits.binding(ann).rules;
    expect([rule?.covers(['lake', 't']), rule?.covers(['t'])]).toEqual([true, false]);
    expect(rule?.require).toEqual({ max_rows: 7n });
  });

  it('are refused with the same findings', async () => {
    await write({
      'policy.csv': `${small}p, user:ann, /a, raed, allow\n\np, ann, /a, read, allow\n`,
      'limits.yaml': 'limits: [{ name: one, rate: often }]\n',
    });
    const [here, there] = await Promise.all([
      firstPolicyOf(folder, { read: readPolicy }).catch((error: unknown) => String(error)),
      firstPolicyOf(folder, { read: reader.read }).catch((error: unknown) => String(error)),
    ]);
    expect(there).toBe(here);
    expect(there).toContain('policy.csv:2:');
  });

  it('are compiled while the event loop turns', async () => {
    const lines = Array.from({ length: 30_000 }, (_, n) => `p, user:n${n}, /a/t${n}, read, allow`);
    await write({ 'policy.csv': [...lines, small].join('\n') });
    const [here, there] = [await turnsDuring(readPolicy), await turnsDuring(reader.read)];
    expect(there).toBeGreaterThan(10 * here);
  });

  it('are read here at a start, without a thread, where the folder is small', async () => {
    const closed = new PolicyReader();
    closed.close();
    const first = await firstPolicyOf(folder, { read: firstReading(closed) });
    const { snapshot } = await firstPolicyOf(folder, { read: reader.read });
    expect(reads(first.snapshot, 'a')).toEqual(reads(snapshot, 'a'));
    const lines = Array.from({ length: 10_000 }, (_, n) => `p, user:n${n}, /a/t${n}, read, allow`);
    await write({ 'policy.csv': [...lines, small].join('\n') });
    await expect(firstPolicyOf(folder, { read: firstReading(closed) })).rejects.toThrow();
    const large = await firstPolicyOf(folder, { read: firstReading(reader) });
    expect(large.snapshot.digest).not.toBe(first.snapshot.digest);
  });

  it('stay in force when the thread of the next one ends, and a change meanwhile is not lost', async () => {
    const first = await firstPolicyOf(folder, { read: reader.read });
    const refusals: (readonly string[])[] = [];
    let isBroken = true;
    const broken = new PolicyReader();
    broken.close();
    const watch = watchPolicy(
      folder,
      first,
      () => undefined,
      (findings) => refusals.push(findings),
      { read: (question) => (isBroken ? broken : reader).read(question) },
    );
    try {
      await write({ 'policy.csv': 'p, user:ann, /b, read, allow\n' });
      await eventually(() => expect(refusals).toHaveLength(1));
      expect(reads(watch.current(), 'a').allowed).toBe(true);
      expect(watch.refused()).toContain('policy: ');
      isBroken = false;
      await eventually(() => expect(reads(watch.current(), 'b').allowed).toBe(true));
      expect(watch.refused()).toBeUndefined();
    } finally {
      watch.close();
    }
  });
});

/** How often the event loop turned while a policy was read. */
async function turnsDuring(read: PolicyReader['read']): Promise<number> {
  const done = new AbortController();
  const reading = firstPolicyOf(folder, { read }).finally(() => done.abort());
  let turns = 0;
  while (!done.signal.aborted) {
    await new Promise((resolve) => setImmediate(resolve));
    turns += 1;
  }
  expect(reads((await reading).snapshot, 'a').allowed).toBe(true);
  return turns;
}
