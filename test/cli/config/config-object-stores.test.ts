import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/cli/config/config.ts';
import { keyOfLocation } from '../../../src/cli/config/config-object-stores.ts';
import { storeCredentials, type Environment } from '../../../src/cli/config/config-environment.ts';

const folder = mkdtempSync(join(tmpdir(), 'arrowgate-config-'));
const file = join(folder, 'a.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

function load(yaml: string, environment: Environment = {}) {
  writeFileSync(file, yaml);
  return loadConfig({ config: file, values: new Map(), serving: true }, environment);
}

const REDIS = 'coordination: { redis: "redis://localhost" }\n';
const store = (more: string): string =>
  `object_stores:\n  - name: lake\n    url: s3://bucket/a/b\n${more}`;

describe('The list of object stores', () => {
  it('is empty by default', () => {
    expect(load('').object_stores).toEqual([]);
  });

  it('is filled in with the documented defaults', () => {
    expect(load(store('')).object_stores).toEqual([
      {
        name: 'lake',
        bucket: 'bucket',
        prefix: 'a/b',
        endpoint: null,
        region: 'us-east-1',
        path_style: false,
        credentials_env: null,
        vend: { role_arn: null, duration: 3_600_000, static: false, endpoint: null },
      },
    ]);
  });

  it('takes every key', () => {
    const [lake] = load(
      '{object_stores: [{name: l, url: "s3://bucket/", endpoint: "http://h:1/", region: eu, path_style: true, credentials_env: L, vend: {role_arn: r, duration: 15m, static: false, endpoint: "https://sts:2"}}]}',
      { L_ACCESS_KEY_ID: 'id', L_SECRET_ACCESS_KEY: 'secret' },
    ).object_stores;
    const more = { bucket: 'bucket', prefix: '', endpoint: 'http://h:1', region: 'eu' };
    const vend = { role_arn: 'r', duration: 900_000, static: false, endpoint: 'https://sts:2' };
    expect(lake).toEqual({ name: 'l', ...more, path_style: true, credentials_env: 'L', vend });
  });

  it('names credentials by variables, and never holds them', () => {
    const environment = { LAKE_ACCESS_KEY_ID: 'the-id', LAKE_SECRET_ACCESS_KEY: 'the-secret' };
    const { object_stores: stores } = load(store('    credentials_env: LAKE\n'), environment);
    expect(JSON.stringify(stores)).not.toMatch(/the-/);
    expect(storeCredentials(stores[0]!, environment)).toEqual({
      id: 'the-id',
      secret: 'the-secret',
    });
    expect(storeCredentials(load(store('')).object_stores[0]!, environment)).toBeNull();
    expect(() => storeCredentials(stores[0]!, {})).toThrow(
      'the object store lake: the variable LAKE_ACCESS_KEY_ID is not set',
    );
  });

  it('hold tables where locations say', () => {
    const yaml = `${store('')}locations: { managed: "lake:/lance", allowed: [/a, "lake:/b/c/"] }\n`;
    const { object_stores: stores, 'locations.allowed': allowed } = load(yaml);
    expect(keyOfLocation('lake:/lance', stores)).toBe('/s3:/bucket/a/b/lance');
    expect(allowed.map((place) => keyOfLocation(place, stores))).toEqual([
      undefined,
      '/s3:/bucket/a/b/b/c',
    ]);
  });

  it('can lie beside each other, in one bucket too', () => {
    const yaml = `${store('')}  - { name: other, url: "s3://bucket/a/bc" }\n  - { name: far, url: "s3://bucket-2/a/b", endpoint: "http://h" }\n`;
    expect(load(yaml).object_stores).toHaveLength(3);
  });

  it.each([
    [
      'object_stores: { name: lake }\n',
      'F:1: object_stores is {"name":"lake"}, but must be a list of object stores',
    ],
    ['object_stores: [lake]\n', 'F:1: object_stores[0] is "lake", but must be keys and values'],
    [store('    bucket: b\n'), 'F:4: object_stores[0].bucket is not a key of the configuration'],
    [
      store('    region: ""\n'),
      'F:4: object_stores[0].region is "", but must be a text that is not empty',
    ],
    [
      store('    path_style: yes\n'),
      'F:4: object_stores[0].path_style is "yes", but must be true or false',
    ],
    [
      store('    endpoint: "h:1"\n'),
      'F:4: object_stores[0].endpoint is wrong, but must be an address such as https://s3.example.com',
    ],
    [
      store('    endpoint: "https://u:p@h"\n'),
      'F:4: object_stores[0].endpoint is wrong, but must be an address such as https://s3.example.com',
    ],
    [
      store('    endpoint: "https://h/path"\n'),
      'F:4: object_stores[0].endpoint is wrong, but must be an address such as https://s3.example.com',
    ],
    [
      store('    credentials_env: AKIA/x\n'),
      'F:4: object_stores[0].credentials_env is wrong, but must be the name of an environment variable',
    ],
    [
      store('    credentials_env: LAKE\n'),
      'F:4: object_stores[0].credentials_env: the variable LAKE_ACCESS_KEY_ID is not set',
    ],
    [
      store('    vend: { static: true }\n'),
      'F:4: object_stores[0].vend.static is true, but must be false without credentials_env',
    ],
    [
      store('    vend: { role_arn: a, static: true }\n'),
      'F:4: object_stores[0].vend.static is true, but must be false where role_arn names a role',
    ],
    [
      store('    vend: { role_arn: "" }\n'),
      'F:4: object_stores[0].vend.role_arn is "", but must be a text that is not empty',
    ],
    [
      store('    vend: { role_arn: a, duration: 5m }\n'),
      'F:4: object_stores[0].vend.duration is "5m", but must be from 15m to 12h',
    ],
    [
      store('    vend: { role_arn: a, duration: 13h }\n'),
      'F:4: object_stores[0].vend.duration is "13h", but must be from 15m to 12h',
    ],
    [
      store('    vend: { role_arn: a, endpoint: "sts" }\n'),
      'F:4: object_stores[0].vend.endpoint is wrong, but must be an address such as https://s3.example.com',
    ],
    [
      store('    vend: { role: a }\n'),
      'F:4: object_stores[0].vend.role is not a key of the configuration',
    ],
    [
      `${store('')}  - { name: lake, url: "s3://other" }\n`,
      'F:4: object_stores[1].name is "lake", but must be a name that no other object store has',
    ],
    [
      `${store('')}  - { name: other, url: "s3://bucket/a/" }\n`,
      'F:4: object_stores[1].url is "s3://bucket/a", but must be a place that does not overlap with that of another object store',
    ],
    [
      `${store('')}  - { name: other, url: "s3://bucket" }\n`,
      'F:4: object_stores[1].url is "s3://bucket/", but must be a place that does not overlap with that of another object store',
    ],
    [
      `${store('')}  - { name: far, url: "s3://bucket/a", endpoint: "http://h" }\n`,
      'F:4: object_stores[1].url is "s3://bucket/a", but must be a place that does not overlap with that of another object store',
    ],
    [
      `${store('')}locations: { managed: "lane:/lance" }\n`,
      'F:4: locations.managed names "lane:/lance", but object_stores has no store "lane"',
    ],
    [
      `${store('')}locations: { managed: "lake:/" }\n`,
      'F:4: locations.managed names "lake:/", but a place in this store is lake:/PATH, and PATH and the prefix of the store consist of letters, digits and . _ = @ + -',
    ],
    [
      `${store('')}locations: { allowed: [/a, "lake:/a/../b"] }\n`,
      'F:4: locations.allowed names "lake:/a/../b", but a place in this store is lake:/PATH',
    ],
    [
      `${store('')}locations: { allowed: ["lake:/a b"] }\n`,
      'F:4: locations.allowed names "lake:/a b", but a place in this store is lake:/PATH',
    ],
    [
      `${store('')}journal: /srv/catalog\n`,
      'F:4: journal names "/srv/catalog", but a journal outside of the data folder is a place STORE:/PATH in an object store',
    ],
    [
      `${store('')}journal: "lane:/catalog"\n`,
      'F:4: journal names "lane:/catalog", but object_stores has no store "lane"',
    ],
    [
      `${store('')}journal: "lake:/catalog"\n`,
      'F:4: journal names "lake:/catalog", but a journal in an object store needs coordination.redis: the embedded store cannot be shared',
    ],
    [
      `${store('')}journal: "lake:/lance/catalog"\n${REDIS}locations: { managed: "lake:/lance" }\n`,
      'F:4: journal names "lake:/lance/catalog", which overlaps with locations.managed, where tables lie',
    ],
    [
      `${store('')}journal: "lake:/a"\n${REDIS}locations: { allowed: ["lake:/a/b"] }\n`,
      'F:4: journal names "lake:/a", which overlaps with locations.allowed, where tables lie',
    ],
    [
      `audit: { archive: "lake:/audit" }\n`,
      'F:1: audit.archive names "lake:/audit", but object_stores has no store "lake"',
    ],
    [
      `audit: { archive: "/var/audit" }\n`,
      'F:1: audit.archive names "/var/audit", but an audit archive is a place STORE:/PATH in an object store',
    ],
    [
      `${store('')}audit: { archive: "lake:/lance/audit" }\nlocations: { managed: "lake:/lance" }\n`,
      'F:4: audit.archive names "lake:/lance/audit", which overlaps with locations.managed, where tables lie',
    ],
    [
      `${store('')}audit: { archive: "lake:/catalog" }\n${REDIS}journal: "lake:/catalog"\n`,
      'F:4: audit.archive names "lake:/catalog", which overlaps with journal, where the journal lies',
    ],
  ])('%j is refused', (yaml, sentence) => {
    expect(() => load(yaml)).toThrow(sentence.replace('F', file));
  });

  it.each([
    'http://bucket',
    's3://',
    's3://B',
    's3://b',
    's3://bucket//a',
    's3://bucket/a/../b',
    's3://bucket/.',
    7,
  ])('%j is no place of an object store', (url) => {
    const yaml = JSON.stringify({ object_stores: [{ name: 'lake', url }] });
    expect(() => load(yaml)).toThrow('object_stores[0].url is');
    expect(() => load(yaml)).toThrow('must be of the form s3://BUCKET/PREFIX');
  });
});
