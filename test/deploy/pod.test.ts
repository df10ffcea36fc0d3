import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { send } from '../service/http.ts';
import { capture } from '../support/captured-program.ts';
import { root } from '../support/documents.ts';
import { waitUntil } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { hasHelm, rendered } from '../support/helm.ts';
import { containerOf, Pod, podOf, type Files } from '../support/pod.ts';

const key = 'an-administrator-key-of-a-secret';
const model = readFileSync(join(root, 'policies/model.conf'), 'utf8');
const open = readFileSync(join(root, 'policies/policy.csv'), 'utf8');
const closed = 'p, user:nobody, /**, read, allow\n';
const filesWith = (policy: string): Files => ({ 'model.conf': model, 'policy.csv': policy });

const adminKey = { secret: { name: 'admin' } };
const git = '/etc/arrowgate/git';

/** How the policy reaches the pod: the values, and how other files take its place. */
const sources = [
  {
    source: 'a ConfigMap',
    values: { adminKey, policy: { configMap: 'policies' } },
    replace: (pod: Pod, files: Files) => pod.write('/etc/arrowgate/policies', files),
  },
  {
    source: 'git',
    values: {
      adminKey,
      policy: { git: { repository: 'https://git.example.com/p', path: 'prod' } },
    },
    replace: (pod: Pod, files: Files) => pod.publish(git, 'prod', files),
  },
];

describe.runIf(hasHelm)('a pod of the chart (needs helm)', () => {
  it.each(sources)('serves, answers its probes, and follows $source', async (each) => {
    const manifests = rendered(each.values);
    const spec = podOf(manifests);
    const maps = manifests.filter(({ kind }) => kind === 'ConfigMap');
    const made = Object.fromEntries(maps.map((map) => [map.metadata.name, map.data ?? {}]));
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-pod-'));
    const given = { policies: filesWith(open), admin: { 'admin-key': key } };
    const pod = new Pod(folder, spec, { ...made, ...given });
    const admin = await freePort();
    try {
      await pod.mount();
      if (each.source === 'git') await each.replace(pod, filesWith(open));
      await capture([join(root, 'dist/cli/main.js'), 'serve', '--port', '0'], {
        cwd: folder,
        env: { ...pod.variables(), ARROWGATE_LISTEN_ADMIN_PORT: String(admin) },
        work: async (url) => {
          const { startupProbe, readinessProbe, livenessProbe } = containerOf(spec);
          for (const { httpGet } of [startupProbe, readinessProbe, livenessProbe]) {
            expect(httpGet.port).toBe('admin');
            const place = `http://127.0.0.1:${admin}`;
            expect((await send(place, `GET ${httpGet.path}`, { key: null })).status).toBe(200);
          }
          const create = async () => {
            const line = 'POST /v1/namespace/made/create';
            return (await send(url, line, { key, body: '{}' })).status;
          };
          expect(await create()).toBe(200);
          await each.replace(pod, filesWith(closed));
          await waitUntil(async () => (await create()) === 403);
          await each.replace(pod, filesWith(open));
          await waitUntil(async () => (await create()) === 409);
        },
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
