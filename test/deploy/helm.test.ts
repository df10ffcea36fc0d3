import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configPaths, settings, variablesOf } from '../../src/cli/config/config-table.ts';
import { BUCKET_CREDENTIALS } from '../support/bucket-server.ts';
import { makeCertificate } from '../support/certificates.ts';
import { pythonFault, pythonWithManifests } from '../support/client-packages.ts';
import { root } from '../support/documents.ts';
import {
  CHART,
  hasHelm,
  helm,
  KUBERNETES,
  manifestOf,
  notesOf,
  rendered,
} from '../support/helm.ts';
import { RedisServer } from '../support/redis-server.ts';
import { containerOf, imageVariables, Pod, podOf, workloadOf } from '../support/pod.ts';

const MAIN = join(root, 'dist/cli/main.js');
/** Said once where it is not: the tests of this file are skipped then, and not passed. */
if (!hasHelm) process.stderr.write('arrowgate: no helm: the chart is not rendered in this run\n');

const policyFiles = Object.fromEntries(
  ['model.conf', 'policy.csv'].map((name) => [
    name,
    readFileSync(join(root, 'policies', name), 'utf8'),
  ]),
);
const issuers = `issuers:
  - name: corp
    issuer: https://idp.example.com
    audience: catalog
    jwks_file: /etc/arrowgate/secrets/corp-keys/jwks.json
    algorithms: [EdDSA]
`;
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'EdDSA', use: 'sig' };

const ofMap = { policy: { configMap: 'policies' } };
const shared = {
  ...ofMap,
  replicas: 3,
  redis: { urlSecret: { name: 'redis' } },
  persistence: { accessMode: 'ReadWriteMany', storageClass: 'nfs' },
};
/** Gateways that share nothing but Redis and a bucket. */
const apart = {
  ...ofMap,
  replicas: 3,
  redis: { urlSecret: { name: 'redis' } },
  journal: 'lake:/catalog',
  keys: { sharedSecret: { name: 'shared-keys' } },
  env: [
    { name: 'LAKE_ACCESS_KEY_ID', value: BUCKET_CREDENTIALS.id },
    {
      name: 'LAKE_SECRET_ACCESS_KEY',
      valueFrom: { secretKeyRef: { name: 'lake', key: 'secret' } },
    },
  ],
  config: {
    object_stores: [{ name: 'lake', url: 's3://lake/arrowgate', credentials_env: 'LAKE' }],
    audit: { archive: 'lake:/audit' },
    locations: { managed: 'lake:/lance' },
    tables: { format: 'lance' },
  },
};

/** Values that suit each other, as somebody would set them. */
const good: Readonly<Record<string, unknown>> = {
  'one gateway with a ConfigMap': ofMap,
  'files of the values, and no volume': {
    policy: { files: policyFiles },
    persistence: { enabled: false },
    networkPolicy: { enabled: false },
    shutdown: { delaySeconds: 0, graceSeconds: 5 },
  },
  'a policy in git': {
    policy: {
      git: {
        repository: 'https://git.example.com/policies.git',
        path: 'prod/arrowgate',
        credentialsSecret: 'git',
      },
    },
  },
  'a policy in git over SSH': {
    policy: {
      git: { repository: 'ssh://git@git.example.com/policies', credentialsSecret: 'git' },
    },
  },
  'several gateways': shared,
  'gateways that share nothing but Redis and a bucket': apart,
  everything: {
    ...shared,
    image: { repository: 'registry.example.com/arrowgate', tag: 'v1', pullSecrets: ['registry'] },
    issuers: { secret: { name: 'issuers' } },
    adminKey: { secret: { name: 'admin' } },
    tls: {
      secret: 'certificate',
      clientCaSecret: { name: 'clients' },
      clientSubject: 'san_uri',
    },
    audit: { signingKeySecret: { name: 'signing' } },
    keys: { sharedSecret: { name: 'shared-keys' } },
    secretFiles: ['corp-keys'],
    serviceAccountName: 'lake-reader',
    env: [{ name: 'LAKE_TOKEN', value: 'word' }],
    config: {
      processes: 2,
      cache: { bytes: '64MiB' },
      listen: { backlog: 100 },
      audit: { durable: 'all' },
      coordination: { catalog: 'prod' },
      trusted_proxies: ['10.0.0.0/8'],
    },
    service: { type: 'LoadBalancer', port: 443, annotations: { 'example.com/internal': 'true' } },
    metrics: {
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: { enabled: true },
    },
    networkPolicy: {
      clients: [{ namespaceSelector: { matchLabels: { name: 'apps' } } }],
      monitoring: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
      egress: [{ to: [{ podSelector: {} }], ports: [{ port: 6379 }] }],
    },
    podDisruptionBudget: { maxUnavailable: '50%' },
    podAnnotations: { 'example.com/team': 'data' },
    podLabels: { team: 'data' },
    nodeSelector: { disk: 'fast' },
    tolerations: [{ key: 'data', operator: 'Exists' }],
    affinity: { podAntiAffinity: {} },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' },
    ],
    priorityClassName: 'high',
  },
};

const names = Object.keys(good);

describe.runIf(hasHelm)('the chart (needs helm)', () => {
  let folder: string;
  let server: RedisServer;
  let objects: Record<string, Record<string, string>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'arrowgate-chart-'));
    server = await RedisServer.start();
    const made = await makeCertificate(folder, 'server', { commonName: 'arrowgate' });
    const cert = await readFile(made.cert, 'utf8');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    objects = {
      policies: policyFiles,
      redis: { url: server.url },
      certificate: { 'tls.crt': cert, 'tls.key': await readFile(made.key, 'utf8') },
      clients: { 'ca.crt': cert },
      admin: { 'admin-key': 'an-administrator-key-of-a-secret' },
      signing: { 'key.pem': pem },
      lake: { secret: BUCKET_CREDENTIALS.secret },
      'shared-keys': { 'key-secret': randomBytes(32).toString('base64url') },
      issuers: { 'issuers.yaml': issuers },
      'corp-keys': { 'jwks.json': JSON.stringify({ keys: [jwk] }) },
    };
  });

  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  it('passes the linter of Helm', () => {
    const flags = ['--strict', '--quiet'];
    expect(names.map((name) => helm('lint', good[name], flags).error)).toEqual(names.map(() => ''));
  });

  it.each(names)('makes a configuration that the program accepts: %s', async (name) => {
    const manifests = rendered(good[name]);
    const pod = podOf(manifests);
    const maps = manifests.filter(({ kind }) => kind === 'ConfigMap');
    const made = Object.fromEntries(maps.map((map) => [map.metadata.name, map.data ?? {}]));
    const laid = new Pod(await mkdtemp(join(folder, 'pod-')), pod, { ...objects, ...made });
    await laid.mount();
    const env = laid.variables();
    if (existsSync(laid.at('/etc/arrowgate/git')))
      await laid.publish('/etc/arrowgate/git', gitPath(env['ARROWGATE_POLICIES']!), policyFiles);
    const run = (...words: readonly string[]) =>
      spawnSync(process.execPath, [MAIN, ...words], {
        env: { ...outer(), ...env },
        encoding: 'utf8',
      });
    const checked = run('config', 'check', '--json');
    expect([checked.status, checked.stderr]).toEqual([0, '']);
    // Its bucket is in no network; stateful-set.test.ts starts it with one.
    if (good[name] === apart) return;
    const report = JSON.parse(run('check', '--json', '--port', '0').stdout);
    expect([report.refusals, report.warnings]).toEqual([[], []]);
    expect(report.loaded.store.kind).toBe('redis' in (good[name] as object) ? 'redis' : 'embedded');
    expect(report.loaded.policies.lines).toBeGreaterThan(0);
    if (name !== 'everything') return;
    expect(report.loaded).toMatchObject({
      certificate: { certificates: 1 },
      policies: { issuers: 1 },
    });
  });

  it('sets no other listener than the image and the probes know', () => {
    const manifests = rendered(ofMap);
    const map = manifestOf(manifests, 'ConfigMap').data!['arrowgate.yaml']!;
    const { listen, data } = parse(map);
    const image = imageVariables();
    expect([listen.host, String(listen.port), data]).toEqual([
      image['ARROWGATE_HOST'],
      image['ARROWGATE_PORT'],
      image['ARROWGATE_DATA'],
    ]);
    const { ports } = containerOf(podOf(manifests));
    expect(ports).toEqual([
      { name: 'http', containerPort: listen.port },
      { name: 'admin', containerPort: listen.admin.port },
    ]);
  });

  it.each(names)('runs with nothing that it does not need: %s', (name) => {
    const pod = podOf(rendered(good[name]));
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    const all = [...(pod.initContainers ?? []), ...pod.containers];
    expect(all).toHaveLength('initContainers' in pod ? 3 : 1);
    for (const { securityContext, resources, volumeMounts } of all) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(resources).toHaveProperty('limits.memory');
      const writable = volumeMounts.filter(({ readOnly }) => readOnly !== true);
      expect(writable.map(({ mountPath }) => mountPath)).toSatisfy((paths: string[]) =>
        paths.every((path) => ['/data', '/tmp', '/git'].includes(path)),
      );
    }
  });

  it('waits for as long as the gateway drains, and replaces it as its volume permits', () => {
    const { template, strategy } = workloadOf(
      rendered({ ...ofMap, shutdown: { delaySeconds: 7, graceSeconds: 100 } }),
    );
    expect([template.spec.terminationGracePeriodSeconds, strategy?.type]).toEqual([
      122,
      'Recreate',
    ]);
    expect(workloadOf(rendered(shared)).strategy?.type).toBe('RollingUpdate');
  });

  it('gives each gateway a volume and a name of its own where they share no folder', () => {
    const manifests = rendered({ ...apart, persistence: { storageClass: 'fast', size: '5Gi' } });
    expect(workloadOf(manifests)).toMatchObject({
      serviceName: 'arrowgate-metrics',
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'RollingUpdate' },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            storageClassName: 'fast',
            resources: { requests: { storage: '5Gi' } },
          },
        },
      ],
      template: { spec: { terminationGracePeriodSeconds: 55 } },
    });
    expect(manifestOf(manifests, 'Service', 'arrowgate-metrics').spec).toMatchObject({
      clusterIP: 'None',
    });
    expect(manifests.map(({ kind }) => kind)).not.toContain('PersistentVolumeClaim');
  });

  it('has a budget of disruptions for several gateways alone', () => {
    const kinds = (values: unknown) => rendered(values).map(({ kind }) => kind);
    expect(kinds(ofMap)).not.toContain('PodDisruptionBudget');
    expect(kinds(shared)).toContain('PodDisruptionBudget');
    expect(kinds(apart)).toContain('PodDisruptionBudget');
  });

  it('lets nobody in where no peer is named', () => {
    const none = { ...ofMap, networkPolicy: { clients: [] } };
    expect(manifestOf(rendered(none), 'NetworkPolicy').spec).toEqual({
      podSelector: { matchLabels: expect.anything() },
      policyTypes: ['Ingress'],
    });
  });

  it('has the alerts of Prometheus, and a monitor that finds its Service', async () => {
    const manifests = rendered(good['everything']);
    const text = await readFile(join(CHART, 'files/alerts.yaml'), 'utf8');
    expect(manifestOf(manifests, 'PrometheusRule').spec).toEqual(parse(text));
    const monitor = manifestOf(manifests, 'ServiceMonitor');
    const service = manifestOf(manifests, 'Service', 'arrowgate-metrics');
    expect(monitor.metadata.labels['release']).toBe('prometheus');
    expect(monitor.spec).toEqual({
      selector: { matchLabels: expect.anything() },
      endpoints: [{ port: 'admin', path: '/metrics', interval: '30s' }],
    });
    const { matchLabels } = (monitor.spec as { selector: { matchLabels: Record<string, string> } })
      .selector;
    expect(service.metadata.labels).toMatchObject(matchLabels);
    expect(service.spec).toMatchObject({ clusterIP: 'None', ports: [{ name: 'admin' }] });
  });

  it('says where the first key is', () => {
    const notes = (values: unknown) => notesOf(values, 'catalog');
    expect(notes(ofMap)).toContain(
      'kubectl -n catalog exec deployment/arrowgate -c arrowgate -- cat /data/private/initial-admin-key',
    );
    expect(notes(apart)).toContain(
      'kubectl -n catalog exec arrowgate-$at -c arrowgate -- cat /data/private/initial-admin-key',
    );
    expect(notes(apart)).toContain('for at in $(seq 0 2); do');
    expect(notes(apart)).toContain('rollout status statefulset/arrowgate');
    const given = notes({ ...ofMap, adminKey: { secret: { name: 'admin' } } });
    expect(given).toContain('the administrator key in the Secret admin (key admin-key)');
    expect(given).not.toContain('initial-admin-key');
  });

  it.runIf(pythonFault() === undefined)('is valid for Kubernetes (needs Python)', async () => {
    const python = await pythonWithManifests();
    const custom = ['ServiceMonitor', 'PrometheusRule'];
    for (const name of names) {
      const manifests = rendered(good[name]).filter(({ kind }) => !custom.includes(kind));
      const file = join(folder, 'manifests.yaml');
      await writeFile(file, manifests.map((each) => JSON.stringify(each)).join('\n---\n'));
      const flags = ['-m', 'kubernetes_validate', '--strict', '--quiet', '-k'];
      const version = KUBERNETES.replace(/\.0$/, '');
      const checked = spawnSync(python, [...flags, version, file], { encoding: 'utf8' });
      expect([name, checked.status, checked.stdout + checked.stderr]).toEqual([name, 0, '']);
    }
  });
});

const redis = { redis: { urlSecret: { name: 'redis' } } };

/** Keys of the configuration that the chart sets, and what its sentence says to do. */
const ownKeys: readonly (readonly [string, unknown, string])[] = [
  ['data', { data: '/d' }, 'the volume is mounted at /data'],
  ['policies', { policies: '/p' }, 'set policy'],
  [
    'shutdown',
    { shutdown: { delay: '1s' } },
    'set shutdown.delaySeconds and shutdown.graceSeconds',
  ],
  ['listen.port', { listen: { port: 1 } }, 'set service.port'],
  ['listen.tls', { listen: { tls: {} } }, 'set tls'],
  ['coordination.redis', { coordination: { redis: 'redis://h' } }, 'set redis.urlSecret'],
  ['journal', { journal: 'lake:/catalog' }, 'set journal'],
  ['audit.signing_key', { audit: { signing_key: 'k' } }, 'set audit.signingKeySecret'],
  ['keys.secret_file', { keys: { secret_file: 'k' } }, 'set keys.sharedSecret'],
];

/** Values that are refused, and with what. */
const refused: readonly (readonly [string, unknown, string])[] = [
  ['an unknown value', { ...ofMap, replica: 2 }, "additional properties 'replica' not allowed"],
  [
    'an unknown value of a part',
    { ...ofMap, persistence: { sizes: '1Gi' } },
    "at '/persistence': additional properties 'sizes' not allowed",
  ],
  ['a wrong type', { ...ofMap, replicas: 'two' }, "at '/replicas': got string, want integer"],
  ['no replica', { ...ofMap, replicas: 0 }, "at '/replicas': minimum: got 0, want 1"],
  [
    'no policy',
    {},
    'there is no policy: set one of policy.configMap, policy.files and policy.git.repository',
  ],
  [
    'two policies',
    { policy: { configMap: 'policies', files: policyFiles } },
    'there are several policies: set only one of policy.configMap, policy.files and policy.git.repository',
  ],
  [
    'a policy without its model',
    { policy: { files: { 'policy.csv': '' } } },
    'policy.files has no model.conf: a policy folder needs model.conf and policy.csv',
  ],
  [
    'a way out of the repository',
    { policy: { git: { repository: 'https://git.example.com/p', path: '../secrets' } } },
    "at '/policy/git/path': 'not' failed",
  ],
  [
    'issuers beside git',
    {
      policy: { git: { repository: 'https://git.example.com/p' } },
      issuers: { secret: { name: 'issuers' } },
    },
    'issuers.secret needs a policy from a ConfigMap: with policy.git, put issuers.yaml into the repository',
  ],
  [
    'issuers twice',
    {
      policy: { files: { ...policyFiles, 'issuers.yaml': issuers } },
      issuers: { secret: { name: 'issuers' } },
    },
    'issuers.yaml is in policy.files and in issuers.secret: keep one of them',
  ],
  [
    'two replicas without Redis',
    { ...ofMap, replicas: 2 },
    'replicas is 2, but the embedded store serves one replica: set redis.urlSecret.name, or replicas to 1',
  ],
  [
    'two replicas without a volume',
    { ...ofMap, ...redis, replicas: 2, persistence: { enabled: false } },
    'several replicas share one data folder: set persistence.enabled to true',
  ],
  [
    'two replicas on a volume of one',
    { ...ofMap, ...redis, replicas: 2 },
    'several replicas write one volume: set persistence.accessMode to ReadWriteMany instead of ReadWriteOnce, or name a shared persistence.existingClaim',
  ],
  [
    'Redis without a volume',
    { ...ofMap, ...redis, persistence: { enabled: false } },
    'a catalog in Redis needs its data folder after a restart: set persistence.enabled to true',
  ],
  [
    'a journal that is no place in a store',
    { ...apart, journal: '/mnt/catalog' },
    "at '/journal': '/mnt/catalog' does not match pattern",
  ],
  [
    'a journal in a store that is not configured',
    { ...apart, journal: 'lakes:/catalog' },
    'journal is lakes:/catalog, but config.object_stores has no store named lakes: add it',
  ],
  [
    'a journal without Redis',
    { ...apart, redis: {} },
    'journal is for gateways that share a Redis: set redis.urlSecret.name, or leave journal out',
  ],
  [
    'a journal, and audit logs that end with their pods',
    { ...apart, persistence: { enabled: false } },
    'each gateway keeps the newest part of its audit log on its volume: set persistence.enabled to true',
  ],
  [
    'a journal, and one volume for all gateways',
    { ...apart, persistence: { existingClaim: 'one' } },
    'with journal each gateway has a volume of its own: leave persistence.existingClaim out',
  ],
  [
    'a journal, and keys of each gateway',
    { ...apart, keys: {} },
    'with journal each gateway would have API keys of its own: set keys.sharedSecret, which keeps them in Redis',
  ],
  [
    'a journal, and audit logs that only their gateways can read',
    { ...apart, config: { object_stores: apart.config.object_stores } },
    'with journal each gateway would search its own audit log alone: set config.audit.archive, such as lake:/audit',
  ],
  [
    'client certificates without TLS',
    { ...ofMap, tls: { clientCaSecret: { name: 'clients' } } },
    'tls.clientCaSecret needs a certificate: set tls.secret',
  ],
  [
    'a monitor that is let in by nobody',
    { ...ofMap, metrics: { serviceMonitor: { enabled: true } } },
    'metrics.serviceMonitor is enabled, but the network policy lets nobody read metrics: name Prometheus in networkPolicy.monitoring',
  ],
  [
    'a variable that overrides the configuration',
    { ...ofMap, env: [{ name: 'ARROWGATE_PORT', value: '1' }] },
    'env has ARROWGATE_PORT: variables override the configuration of the chart; set the key in config instead',
  ],
  ...ownKeys.map(
    ([key, config, todo]) =>
      [
        `the key ${key} of the chart`,
        { ...ofMap, config },
        `config.${key} is set by the chart: ${todo}`,
      ] as const,
  ),
];

describe.runIf(hasHelm)('the chart refuses (needs helm)', () => {
  it.each(refused)('%s', (_, values, sentence) => {
    expect(helm('template', values).error).toContain(sentence);
  });

  it('each key of the configuration that it sets by itself', () => {
    const own = ['data', 'policies', 'journal', 'coordination.redis', 'audit.signing_key'];
    const parts = /^(listen\.(host|port|tls|admin)|shutdown)\b/;
    const set = Object.keys(settings).filter((path) => own.includes(path) || parts.test(path));
    expect(set.length).toBeGreaterThan(own.length + 5);
    for (const path of set) {
      const config = path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), 'x');
      expect(helm('template', { ...ofMap, config }).error).toMatch(
        /config\.\S+ is set by the chart/,
      );
    }
  });
});

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly items?: Schema;
  readonly description?: string;
  readonly additionalProperties?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}

describe('the values of the chart', () => {
  const read = (name: string) => readFileSync(join(CHART, name), 'utf8');
  const schema = JSON.parse(read('values.schema.json')) as Schema;

  it('are the keys of their schema, each described there', () => {
    const found = pathsOf(parse(read('values.yaml')), schema);
    const described = [...schemaPaths(schema)];
    expect(described.filter(({ description }) => description === undefined)).toEqual([]);
    // Helm sets `global` by itself.
    const paths = described.map(({ path }) => path).filter((path) => path !== 'global');
    expect(paths.toSorted()).toEqual(found.toSorted());
  });

  it.runIf(hasHelm)('each change what is made of them (needs helm)', () => {
    const usual = parse(read('values.yaml')) as object;
    const bases = Object.values(good).map((values) => merged(usual, values as object));
    const before = bases.map((base) => helm('template', base).out);
    const dead = [...leavesOf(schema)].filter(
      ({ path, leaf }) =>
        !bases.some((base, at) => {
          const values = changed(base, path, leaf);
          const { out, error } = helm('template', values);
          return error === '' && out !== before[at];
        }),
    );
    expect(dead.map(({ path }) => path.join('.'))).toEqual([]);
  });

  it('have the version of the program', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(parse(read('Chart.yaml'))).toMatchObject({ version, appVersion: version });
  });
});

/** The paths of values, as deep as the schema lists keys. */
function pathsOf(values: unknown, { properties }: Schema): readonly string[] {
  return Object.entries(values as object).flatMap(([key, value]) => {
    const inner = properties?.[key];
    if (inner?.properties === undefined || key === 'resources') return [key];
    return [key, ...pathsOf(value, inner).map((path) => `${key}.${path}`)];
  });
}

function* schemaPaths(
  schema: Schema,
  above = '',
): Iterable<{ path: string; description?: string }> {
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    const path = above === '' ? key : `${above}.${key}`;
    yield inner.description === undefined ? { path } : { path, description: inner.description };
    if (key !== 'resources') yield* schemaPaths(inner, path);
  }
}

/** The values that have no further keys of the schema. */
function* leavesOf(
  { properties = {} }: Schema,
  above: readonly string[] = [],
): Iterable<{ readonly path: readonly string[]; readonly leaf: Schema }> {
  for (const [key, inner] of Object.entries(properties)) {
    if (key === 'global') continue;
    const path = [...above, key];
    if (inner.properties === undefined) yield { path, leaf: inner };
    else yield* leavesOf(inner, path);
  }
}

type Values = Readonly<Record<string, unknown>>;

function merged(usual: object, own: object): Values {
  const found: Record<string, unknown> = { ...usual };
  for (const [key, value] of Object.entries(own)) {
    const before = found[key];
    found[key] = isValues(before) && isValues(value) ? merged(before, value) : value;
  }
  return found;
}

function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function changed(values: Values, [key = '', ...rest]: readonly string[], leaf: Schema): Values {
  const before = values[key];
  const next = rest.length > 0 ? changed(before as Values, rest, leaf) : otherThan(before, leaf);
  return { ...values, [key]: next };
}

/** Another value that the schema takes. */
function otherThan(value: unknown, { type, enum: choices, pattern, items }: Schema): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (choices !== undefined) return choices.find((choice) => choice !== value);
  if (typeof value === 'string') {
    const others = ['other', '7Gi', '7m', 'lake:/other', 'https://git.example.com/other.git'];
    return others.find((other) => new RegExp(pattern ?? '').test(other) && other !== value);
  }
  if (type === 'array')
    return [...(value as unknown[]), items?.type === 'string' ? 'other' : { name: 'OTHER' }];
  return { ...(value as object), sample: 'other' };
}

function gitPath(policies: string): string {
  return policies.split('/etc/arrowgate/git/current')[1]!;
}

/** The variables of this process without those of the gateway. */
function outer(): NodeJS.ProcessEnv {
  const own = new Set(['ARROWGATE_CONFIG', ...configPaths.flatMap(variablesOf)]);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.has(name)));
}
