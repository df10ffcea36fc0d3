import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { policyDigest, type PolicyTexts } from '../../src/policy/policy-folder.ts';
import { readPolicy } from '../../src/policy/policy-reading.ts';
import { watchShadow, type ShadowWatch } from '../../src/policy/shadow-policy.ts';
import { shippedModel } from './support.ts';
import { eventually } from '../support/eventually.ts';

let folder: string;
let watch: ShadowWatch;
let kept: PolicyTexts[];
let changes: (string | undefined)[];
let refusals: (readonly string[])[];

const good = 'p, user:ann, /a, read, allow\n';
const file = () => join(folder, 'shadow', 'policy.csv');
const until = (check: () => void) => eventually(check);

async function fill(policy: string): Promise<void> {
  await mkdir(join(folder, 'shadow'), { recursive: true });
  await writeFile(join(folder, 'shadow', 'model.conf'), shippedModel);
  await writeFile(file(), policy);
}

async function start(): Promise<void> {
  watch = await watchShadow(folder, {
    read: readPolicy,
    keep: async (texts) => void kept.push(texts),
    onChange: (snapshot) => void changes.push(snapshot?.digest),
    onRefused: (findings) => void refusals.push(findings),
  });
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-shadow-'));
  [kept, changes, refusals] = [[], [], []];
});

afterEach(async () => {
  watch.close();
  await rm(folder, { recursive: true });
});

it('comes and goes with its folder, and its texts are kept before it is asked', async () => {
  await start();
  expect([watch.current(), watch.refused()]).toEqual([undefined, undefined]);
  await fill(good);
  await until(() => expect(watch.current()).toBeDefined());
  expect(kept.map(policyDigest)).toEqual([watch.current()!.digest]);
  expect(changes).toEqual([watch.current()!.digest]);
  await rm(join(folder, 'shadow'), { recursive: true });
  await until(() => expect(watch.current()).toBeUndefined());
  expect(changes.at(-1)).toBeUndefined();
});

it('that is refused leaves the last good one, and nothing where there was none', async () => {
  await fill(`nonsense\n${good}`);
  await start();
  const finding = 'shadow/policy.csv:1: a line begins with p or g, not with "nonsense"';
  expect([watch.current(), watch.refused()]).toEqual([undefined, finding]);
  await writeFile(file(), good);
  await until(() => expect(watch.refused()).toBeUndefined());
  const { digest } = watch.current()!;
  await writeFile(file(), `${good}nonsense\n`);
  await until(() => expect(watch.refused()).toBe(finding.replace(':1:', ':2:')));
  expect(watch.current()!.digest).toBe(digest);
  expect(refusals).toEqual([[finding], [finding.replace(':1:', ':2:')]]);
});
