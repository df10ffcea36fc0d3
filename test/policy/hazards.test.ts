import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkLines } from '../../src/policy/lines/check-lines.ts';
import { parseCsv } from '../../src/policy/lines/csv.ts';
import { explain } from '../../src/policy/explain.ts';
import { loadForService } from '../../src/policy/load.ts';
import { PolicyFollower } from '../../src/policy/policy-follower.ts';
import { readPolicy } from '../../src/policy/policy-reading.ts';
import { MergedTrie } from '../../src/policy/decide/merged-trie.ts';
import { parseModel } from '../../src/policy/lines/model.ts';
import { packPolicy } from '../../src/policy/decide/packed-policy.ts';
import { PackedTries } from '../../src/policy/decide/packed-tries.ts';
import { Names } from '../../src/policy/lines/name-table.ts';
import type { ServedPolicy } from '../../src/policy/served-policy.ts';
import { findingsOf, policyOf, principal, shippedModel, snapshotOf } from './support.ts';

const ann = principal('user:ann');

describe('what casbin does by itself, and the policy here does not', () => {
  it('1: it scans every line; here a decision meets the lines of its path alone', () => {
    const lines = Array.from(
      { length: 20_000 },
      (_, n) =>
        `p, user:ann, /lake/t${n}, read, allow\np, user:ann, /lake/t${n}/**, append, deny\n`,
    );
    const { lines: cells } = parseCsv(lines.join(''));
    const { policies } = checkLines(cells, parseModel(shippedModel).model!);
    const { names, tries } = packPolicy(policies, []);
    const trie = new PackedTries(new Names(names), tries).get('user:ann')!;
    const met = new MergedTrie([trie])
      .matching(['lake', 't777'])
      .entries.flatMap((entry) => entry.lines);
    expect(met.map(({ line }) => line).sort((a, b) => a - b)).toEqual([1555, 1556]);
  });

  it.each(['denied', 'Deny', '', 'ALLOW'])(
    '2: it takes the effect %j for another one; here it is an error',
    async (effect) => {
      expect(await findingsOf(`p, user:ann, /a, read, ${effect}\n`)).toEqual([
        `policy.csv:1: the effect is ${JSON.stringify(effect)}: write allow or deny`,
      ]);
    },
  );

  it('3: it decides by an emptied policy while one is loaded, and after one failed; here by the last good one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-hazard-'));
    await writeFile(join(folder, 'model.conf'), shippedModel);
    const write = (text: string) => writeFile(join(folder, 'policy.csv'), text);
    await write('p, user:ann, /a, read, allow\n');
    const first = await loadForService(folder);
    const current = first.snapshot;
    const many = Array.from({ length: 5000 }, (_, n) => `p, user:n${n}, /a, read, allow\n`);
    await write(many.join(''));
    const done = new AbortController();
    const follower = new PolicyFollower(folder, { read: readPolicy });
    const loading = follower.next(first, 2000).finally(() => done.abort());
    while (!done.signal.aborted) {
      expect(current.decide(ann, 'QueryTable', ['a']).allowed).toBe(true);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const policy = (await loading) as ServedPolicy;
    expect(policy.snapshot.decide(ann, 'QueryTable', ['a']).allowed).toBe(false);
    await write('p, user:ann, /a, read\n');
    await expect(follower.next(first, 2000)).rejects.toThrow('policy.csv:1');
    expect(current.decide(ann, 'QueryTable', ['a']).allowed).toBe(true);
    await rm(folder, { recursive: true });
  });

  it('4: it allows an empty request on an empty policy; here there is neither', async () => {
    expect(await findingsOf('')).toEqual([
      'policy.csv: the policy has no p line: nobody could do anything',
    ]);
    const snapshot = await snapshotOf('p, *, /**, *, allow');
    expect(snapshot.decide(principal(''), 'QueryTable', []).allowed).toBe(false);
    expect(snapshot.decide(ann, 'QueryTable', ['']).allowed).toBe(false);
  });

  it('5: its cache confuses names that hold its separator; here each principal and object is its own', async () => {
    const snapshot = await snapshotOf('p, user:alice%24, /x, read, allow');
    const reads = (subject: string, object: string) =>
      snapshot.decide(principal(subject), 'QueryTable', [object]).allowed;
    for (let round = 0; round < 2; round++) {
      expect(reads('user:alice%24', 'x')).toBe(true);
      expect(reads('user:alice', '$x')).toBe(false);
      expect(reads('user:alice', '$$x')).toBe(false);
    }
  });

  it('6: its patterns read "$" and "." as expressions; here they are characters', async () => {
    const snapshot = await snapshotOf(
      'p, user:ann, /**, read, allow',
      'p, *, /prod%24secret, *, deny',
      'p, *, /a.b/*, *, deny',
    );
    const reads = (...path: string[]) => snapshot.decide(ann, 'QueryTable', path).allowed;
    expect(reads('prod$secret')).toBe(false);
    expect(reads('prod')).toBe(true);
    expect(reads('a.b', 'x')).toBe(false);
    expect(reads('aXb', 'x')).toBe(true);
  });

  it('7: its keyMatch lets ".." walk out of a pattern; here nothing is called so, and * is one segment', async () => {
    const snapshot = await snapshotOf('p, user:ann, /v1/table/a/*, read, allow');
    const path = ['v1', 'table', 'a', '..', 'b', 'query'];
    expect(snapshot.decide(ann, 'QueryTable', path).allowed).toBe(false);
    expect(await findingsOf('p, user:ann, /a/../b, read, allow\n')).toEqual([
      'policy.csv:1: the pattern "/a/../b" can match nothing: ".." cannot be a segment of an identifier',
    ]);
  });

  it('8: it follows ten steps of roles; here a deny reaches through any number', async () => {
    const chain = Array.from({ length: 500 }, (_, n) => `g, role:r${n}, role:r${n + 1}`);
    const snapshot = await snapshotOf(
      ...chain,
      'g, user:ann, role:r0',
      'p, user:ann, /**, read, allow',
      'p, role:r500, /a, *, deny',
    );
    expect(snapshot.decide(ann, 'QueryTable', ['a']).rule).toBe('policy.csv:503');
  });

  it('9: it explains no refusal; here the nearest line is named', async () => {
    const policy = await policyOf(['p, user:ann, /a, append, allow']);
    expect(explain(policy, ann, 'QueryTable', ['a']).nearest).toEqual({
      rule: 'policy.csv:1',
      text: 'it allows append, not QueryTable',
    });
  });

  it('10: its questions run unlocked beside a load; here nothing changes that is asked', async () => {
    const anyAllow = shippedModel.replace(' && !some(where (p.eft == deny))', '');
    const lines = ['p, user:ann, /a, read, allow', 'p, user:bob, /b, read, allow'];
    for (const model of [shippedModel, anyAllow]) {
      const { snapshot } = await policyOf(lines, model);
      const answers = await Promise.all(
        Array.from({ length: 200 }, async (_, n) => {
          const [name, object] =
            n % 2 === 0 ? (['user:ann', 'a'] as const) : (['user:bob', 'b'] as const);
          await policyOf(['p, user:eve, /**, *, allow'], model);
          const other = object === 'a' ? 'b' : 'a';
          return [object, other].map(
            (path) => snapshot.decide(principal(name), 'QueryTable', [path]).allowed,
          );
        }),
      );
      expect(answers.every(([own, others]) => own === true && others === false)).toBe(true);
    }
  });

  it('11: it is old and moves; here one version is pinned, behind few files', async () => {
    const root = new URL('../../', import.meta.url).pathname;
    const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
    const installed = await readFile(join(root, 'node_modules/casbin/package.json'), 'utf8');
    expect(packages['node_modules/casbin'].version).toBe(JSON.parse(installed).version);
    const sources = await readdir(join(root, 'src'), { recursive: true });
    const using = [];
    for (const path of sources.filter((name) => name.endsWith('.ts'))) {
      const text = await readFile(join(root, 'src', path), 'utf8');
      if (text.includes("from 'casbin'")) using.push(path);
    }
    expect(using.sort()).toEqual([
      'policy/decide/casbin-enforcer.ts',
      'policy/lines/csv.ts',
      'policy/lines/model.ts',
    ]);
  });
});
