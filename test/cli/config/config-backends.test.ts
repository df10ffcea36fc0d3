import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/cli/config/config.ts';
import type { HttpSetting } from '../../../src/cli/config/config-backends.ts';
import { credentialOf, type Environment } from '../../../src/cli/config/config-environment.ts';

const folder = mkdtempSync(join(tmpdir(), 'arrowgate-config-'));
const file = join(folder, 'a.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

function load(yaml: string, environment: Environment = {}) {
  writeFileSync(file, yaml);
  return loadConfig({ config: file, values: new Map(), serving: true }, environment).backends;
}

const west = (more: string): string =>
  `backends:\n  - { name: e, type: embedded, namespaces: ["/**"] }\n  - name: west\n    type: http\n    url: https://w.example/c\n    namespaces: ["/west/**"]\n${more}`;

describe('The list of backends', () => {
  it('is the engine alone by default', () => {
    expect(load('')).toEqual([{ name: 'embedded', type: 'embedded', namespaces: ['/**'] }]);
  });

  it('is filled in with the documented defaults', () => {
    expect(load(west(''))[1]).toEqual({
      name: 'west',
      type: 'http',
      url: 'https://w.example/c',
      namespaces: ['/west/**'],
      strip_prefix: false,
      credential_env: null,
      dialect: 'both',
      database: null,
      trust: [],
      timeouts: { connect: 2000, idle: 60_000, total: 0 },
      connections: 64,
      breaker: { failures: 5, open: 10_000 },
    });
  });

  it('names credentials by variables, and never holds them', () => {
    const environment = { WEST_KEY: 'Bearer the-secret' };
    const [, setting] = load(west('    credential_env: WEST_KEY\n'), environment);
    expect(JSON.stringify(setting)).not.toContain('secret');
    expect(credentialOf(setting as HttpSetting, environment)).toBe('Bearer the-secret');
  });

  it('needs the variables of credentials only to serve', () => {
    writeFileSync(file, west('    credential_env: WEST_KEY\n'));
    expect(loadConfig({ config: file, values: new Map() }, {}).backends).toHaveLength(2);
  });

  it('comes from a variable too', () => {
    const [only] = load('', {
      ARROWGATE_BACKENDS: '[{ name: x, type: http, url: "http://h", namespaces: [/**] }]',
    });
    expect(only).toMatchObject({ name: 'x', url: 'http://h' });
  });

  it.each([
    ['backends: []\n', 'F:1: backends is [], but must be a list of at least one backend'],
    [
      'backends: { a: 1 }\n',
      'F:1: backends is {"a":1}, but must be a list of at least one backend',
    ],
    ['backends:\n  - west\n', 'F:2: backends[0] is "west", but must be keys and values'],
    [
      'backends:\n  - { name: a, type: ftp }\n',
      'F:2: backends[0].type is "ftp", but must be one of embedded, http',
    ],
    [
      'backends:\n  - name: a b\n    type: embedded\n    namespaces: [/**]\n',
      'F:2: backends[0].name is "a b", but must be 1 to 64 letters, digits, dots, dashes and underscores',
    ],
    [
      'backends:\n  - { name: a, type: embedded, namespaces: [/**], url: x }\n',
      'F:2: backends[0].url is not a key of the configuration',
    ],
    [
      'backends:\n  - { name: a, type: embedded, namespaces: [] }\n',
      'F:2: backends[0].namespaces is [], but must be a list of at least one pattern',
    ],
    [
      'backends:\n  - { name: a, type: embedded, namespaces: [prod] }\n',
      'F:2: backends[0].namespaces is ["prod"], but must be patterns as in a policy: the pattern "prod" does not begin with "/": write /prod',
    ],
    [
      west('  - { name: e, type: http, url: "http://h", namespaces: [/x] }\n'),
      'F:7: backends[2].name is "e", but must be a name that no other backend has',
    ],
    [
      west('  - { name: f, type: embedded, namespaces: [/x] }\n'),
      'F:7: backends[2].type is "embedded", but must be http: there is one embedded backend at most',
    ],
    [west('    urls: x\n'), 'F:7: backends[1].urls is not a key of the configuration'],
    [
      west('    strip_prefix: yes\n'),
      'F:7: backends[1].strip_prefix is "yes", but must be true or false',
    ],
    [
      west('    dialect: lance\n'),
      'F:7: backends[1].dialect is "lance", but must be one of both, namespace, lancedb',
    ],
    [
      west('    strip_prefix: true\n').replace('/west/**', '/*/x/**'),
      'F:6: backends[1].namespaces is ["/*/x/**"], but must be one pattern of fixed names that ends in /**, since strip_prefix is true',
    ],
    [
      west('    strip_prefix: true\n').replace('"/west/**"', '/a/**, /b/**'),
      'F:6: backends[1].namespaces is ["/a/**","/b/**"], but must be one pattern of fixed names that ends in /**, since strip_prefix is true',
    ],
    ...[`"a b"`, '""', '5'].map((text): [string, string] => [
      west(`    database: ${text}\n`),
      `F:7: backends[1].database is ${text}, but must be 1 to 256 visible ASCII characters`,
    ]),
    [
      'databases: { prod: prod }\n',
      'F:1: databases.prod is "prod", but must be the canonical path of a namespace outside of /system, such as /prod',
    ],
    ...['/prod/**', '/*', '/system', '/system/x', '/pro d', '/prod/', 7].map(
      (path): [string, string] => [
        `databases:\n  prod: ${path}\n`,
        `F:2: databases.prod is ${JSON.stringify(path)}, but must be the canonical path of a namespace outside of /system, such as /prod`,
      ],
    ),
    [
      'databases: { "a b": /prod }\n',
      'F:1: databases.a b is "/prod", but must be under a name of 1 to 256 visible ASCII characters',
    ],
    [
      'databases: [prod]\n',
      'F:1: databases is ["prod"], but must be names with a namespace each, such as { prod: /prod }',
    ],
    [
      'tables:\n  formats: { format: lance }\n',
      'F:2: tables.formats is {"format":"lance"}, but must be a list such as [{ tables: ["/spark/**"], format: lance }]',
    ],
    [
      'tables:\n  formats:\n    - { tables: [/a], format: delta }\n',
      'F:3: tables.formats[0].format is "delta", but must be one of arrow, lance',
    ],
    [
      'tables:\n  formats:\n    - { tables: [a], format: lance }\n',
      'F:3: tables.formats[0].tables is ["a"], but must be patterns as in a policy: ',
    ],
    [
      'tables:\n  formats:\n    - { tables: [], format: lance }\n',
      'F:3: tables.formats[0].tables is [], but must be a list of at least one pattern',
    ],
    [
      'tables:\n  formats:\n    - { tables: [/a], kind: lance }\n',
      'F:3: tables.formats[0].kind is not a key of the configuration',
    ],
    [
      'tables: { format: iceberg }\n',
      'F:1: tables.format is "iceberg", but must be one of arrow, lance',
    ],
    [
      west('    trust: [describe, Describe]\n'),
      'F:7: backends[1].trust[1] is "Describe", but must be the name of an operation or of an access group, or *',
    ],
    [
      west('    timeouts:\n      idle: 0\n'),
      'F:8: backends[1].timeouts.idle is 0, but must be a duration such as 300s, 15m or 24h',
    ],
    [
      west('    timeouts:\n      read: 1s\n'),
      'F:8: backends[1].timeouts.read is not a key of the configuration',
    ],
    [
      west('    timeouts: { total: 5 }\n'),
      'F:7: backends[1].timeouts.total is 5, but must be a duration such as 300s, 15m or 24h',
    ],
    ...['connect', 'idle', 'total'].map((name): [string, string] => [
      west(`    timeouts: { ${name}: 25d }\n`),
      `F:7: backends[1].timeouts.${name} is "25d", but must be a duration of at most 24d`,
    ]),
    [
      west('    connections: 0\n'),
      'F:7: backends[1].connections is 0, but must be a whole number from 1 to 65535',
    ],
    [
      west('    breaker: { failures: 0 }\n'),
      'F:7: backends[1].breaker.failures is 0, but must be a whole number from 1 to 1000000',
    ],
    [
      west('    breaker: { open: soon }\n'),
      'F:7: backends[1].breaker.open is "soon", but must be a duration such as 300s, 15m or 24h',
    ],
    [
      west('    credential_env: the secret itself\n'),
      'F:7: backends[1].credential_env is wrong, but must be the name of an environment variable',
    ],
    [
      west('    credential_env: WEST_KEY\n'),
      'F:7: backends[1].credential_env: the variable WEST_KEY is not set',
    ],
    [
      west('').replace('https://w.example/c', 'w.example'),
      'F:5: backends[1].url is wrong, but must be an address that begins with http:// or https://',
    ],
    [
      west('').replace('https://w.example/c', 'https://u:secret@w'),
      'F:5: backends[1].url is wrong, but must be an address without user and password: the credential is named by credential_env',
    ],
    [
      west('').replace('https://w.example/c', 'https://w?key=secret'),
      'F:5: backends[1].url is wrong, but must be an address without query and fragment',
    ],
  ])('is refused: %j', (yaml, sentence) => {
    expect(() => load(yaml)).toThrow(sentence.replace('F', file));
  });

  it.each(['a\nb', 'a\u00e9', ' a', 'a\u0007'])(
    'refuses the credential %j without showing it',
    (value) => {
      expect(() => load(west('    credential_env: WEST_KEY\n'), { WEST_KEY: value })).toThrow(
        `${file}:7: backends[1].credential_env: the variable WEST_KEY holds what cannot stand in a header`,
      );
    },
  );
});
