import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../support/documents.ts';
import { hasHelm, manifestsIn, rendered, type Manifest } from '../support/helm.ts';

const hasKubectl = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' }).status === 0;
if (!hasKubectl) process.stderr.write('arrowgate: no kubectl: kustomize is not run\n');

/** Labels and annotations of Helm, and the digest that stands for the configuration. */
const OF_HELM = [
  'app.kubernetes.io/version',
  'app.kubernetes.io/managed-by',
  'helm.sh/chart',
  'helm.sh/resource-policy',
  'checksum/config',
];

/** The manifests of a folder. @throws Error with what kustomize says */
function built(folder: string): readonly Manifest[] {
  const place = join(root, 'deploy/kustomize', folder);
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', place], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return manifestsIn(stdout);
}

/** Manifests by kind and name, without those labels, and with ConfigMaps named without a digest. */
function essential(manifests: readonly Manifest[]): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(manifests, (key, value: unknown) => {
    if (OF_HELM.includes(key)) return undefined;
    if (key === 'annotations' && isOfHelm(value)) return undefined;
    // Both orders of variables mean the same: none refers to another.
    if (key === 'env') return (value as { name: string }[]).toSorted(byName);
    return value;
  });
  const plain = text.replaceAll(/"arrowgate-[a-z0-9]{10}"/g, '"arrowgate"');
  const all = JSON.parse(plain) as readonly Manifest[];
  return Object.fromEntries(all.map((each) => [`${each.kind} ${each.metadata.name}`, each]));
}

function isOfHelm(annotations: unknown): boolean {
  return Object.keys(annotations as object).every((name) => OF_HELM.includes(name));
}

function byName(left: { readonly name: string }, right: { readonly name: string }): number {
  return left.name < right.name ? -1 : 1;
}

const policy = { configMap: 'policies' };

describe.runIf(hasKubectl && hasHelm)('kustomize (needs kubectl and helm)', () => {
  it.each([
    ['base', { policy }],
    [
      'redis',
      {
        policy,
        replicas: 3,
        redis: { urlSecret: { name: 'redis' } },
        persistence: { accessMode: 'ReadWriteMany' },
      },
    ],
  ])('makes of %s what the chart makes', (folder, values) => {
    const made = essential(built(folder));
    expect(Object.keys(made)).toContain('Deployment arrowgate');
    expect(made).toEqual(essential(rendered(values)));
  });
});
