import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadIssuers, parseIssuers } from '../../../src/policy/settings/issuers.ts';
import { loadPolicy } from '../../../src/policy/load.ts';
import { PolicyError } from '../../../src/policy/lines/policy-error.ts';
import { shippedFolder } from '../support.ts';

const corp = `issuers:
  - name: corp
    issuer: https://idp.example.com
    audience: catalog
    jwks_uri: https://idp.example.com/jwks
    algorithms: [RS256]
`;

/** One more issuer, as lines that stand below the first. */
function other(...lines: readonly string[]): string {
  const own = ['name: other', 'issuer: https://other.example.com', 'audience: catalog'];
  const keys = ['jwks_file: other.json', 'algorithms: [ES256]'];
  return `  - ${[...own, ...keys, ...lines].join('\n    ')}\n`;
}

function findingsOf(text: string): readonly string[] {
  try {
    parseIssuers(text, '/policies');
  } catch (error) {
    if (error instanceof PolicyError) return error.findings;
    throw error;
  }
  return [];
}

/** Eight lists, each of ten of the one before. */
const aliases = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  .map(
    (name, at, names) =>
      `${name}: &${name} [${`${at === 0 ? 'x' : `*${names[at - 1]}`}, `.repeat(10)}]\n`,
  )
  .join('');

describe('issuers', () => {
  it('have defaults for what is not said', () => {
    expect(parseIssuers(corp, '/policies')).toEqual([
      {
        name: 'corp',
        issuer: 'https://idp.example.com',
        audiences: ['catalog'],
        keys: { kind: 'uri', uri: 'https://idp.example.com/jwks' },
        algorithms: ['RS256'],
        subjectClaim: 'sub',
        groupsClaim: 'groups',
        subjectPrefix: '',
        groupPrefix: '',
        clockTolerance: 5,
      },
    ]);
  });

  it('may be several, when no name of one could be one of another', () => {
    const text =
      corp.replace('RS256]', 'RS256]\n    subject_prefix: "a:"\n    group_prefix: "a:"') +
      other('subject_prefix: "b:"', 'group_prefix: "b:"', 'clock_tolerance: 2m');
    expect(parseIssuers(text, '/policies')[1]).toMatchObject({
      keys: { kind: 'file', path: '/policies/other.json' },
      subjectPrefix: 'b:',
      clockTolerance: 120,
    });
  });

  it.each(['http://127.0.0.1:81/jwks', 'http://localhost/jwks', 'http://[::1]:9/jwks'])(
    'may have their keys at %s, which is this machine',
    (uri) => {
      expect(findingsOf(corp.replace('https://idp.example.com/jwks', uri))).toEqual([]);
    },
  );

  const near = 'https://idp.example.com/jwks';

  it.each<readonly [what: string, text: string, findings: readonly string[]]>([
    ['nothing', '', ['1: the file must be a mapping with the key issuers, not nothing']],
    ['a list', '- a\n', ['1: the file must be a mapping with the key issuers, not a list']],
    ['no list', 'issuers: 5\n', ['1: issuers must be a list of at most 100 issuers, not 5']],
    ['no mapping', 'issuers:\n  - x\n', ['2: issuers must be a mapping, not "x"']],
    [
      'aliases of aliases',
      aliases,
      [
        'the file cannot be read: ReferenceError: Excessive alias count indicates a resource exhaustion attack',
      ],
    ],
    [
      'an unknown key',
      `${corp}    jwks: x\n`,
      [
        '7: unknown key "jwks": there are name, issuer, audience, jwks_uri, jwks_file, algorithms, ' +
          'subject_claim, groups_claim, subject_prefix, group_prefix, clock_tolerance',
      ],
    ],
    [
      'a key that is missing',
      corp.replace('    audience: catalog\n', ''),
      ['2: an entry of issuers has no audience'],
    ],
    [
      'a key twice',
      `${corp}    audience: catalog\n`,
      ['7: Map keys must be unique at line 7, column 5:'],
    ],
    [
      'an empty issuer',
      corp.replace('issuer: https://idp.example.com\n', 'issuer: ""\n'),
      ['3: issuer must be a text that is not empty, not ""'],
    ],
    [
      'a number for an audience',
      corp.replace('audience: catalog', 'audience: 5'),
      ['4: audience must be a text that is not empty, or a list of such, not 5'],
    ],
    [
      'no audience in the list',
      corp.replace('audience: catalog', 'audience: []'),
      ['4: audience must be a text that is not empty, or a list of such, not an empty list'],
    ],
    ...['none', 'None', 'HS256', 'HS512', 'RS1', 'dir'].map(
      (algorithm) =>
        [
          `the algorithm ${algorithm}`,
          corp.replace('RS256', algorithm),
          [
            `6: algorithms must be of public keys, one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519, not "${algorithm}"`,
          ],
        ] as const,
    ),
    [
      'no algorithm',
      corp.replace('RS256', ''),
      [
        '6: algorithms must be a list of different ones of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519, not an empty list',
      ],
    ],
    [
      'a tolerance without a unit',
      `${corp}    clock_tolerance: 5\n`,
      ['7: clock_tolerance must be seconds or minutes, at most 5m, such as 5s, not 5'],
    ],
    [
      'a tolerance that is too long',
      `${corp}    clock_tolerance: 301s\n`,
      ['7: clock_tolerance must be at most 5m, not "301s"'],
    ],
    [
      'no keys',
      corp.replace(`    jwks_uri: ${near}\n`, ''),
      ['2: corp has neither a jwks_uri nor a jwks_file'],
    ],
    [
      'keys in two places',
      `${corp}    jwks_file: x.json\n`,
      ['2: corp has both a jwks_uri and a jwks_file: one of them is enough'],
    ],
    ['keys at no URL', corp.replace(near, 'keys'), ['5: jwks_uri is no valid URL']],
    ...['http://idp.example.com/jwks', 'http://127.0.0.1.example.com/', 'ftp://127.0.0.1/'].map(
      (uri) =>
        [
          `keys at ${uri}`,
          corp.replace(near, uri),
          [
            '5: jwks_uri must begin https:// unless it is on this machine: otherwise the keys could be changed in transit',
          ],
        ] as const,
    ),
    [
      'keys behind a password',
      corp.replace(near, 'https://me:secret@idp.example.com/'),
      ['5: jwks_uri holds a user or a password: a key set is public'],
    ],
    [
      'two issuers without prefixes',
      corp + other(),
      [
        '7: corp and other could yield the same subject: the subject_prefix "" and "" begin alike',
        '7: corp and other could yield the same group: the group_prefix "" and "" begin alike',
      ],
    ],
    [
      'a prefix within another',
      corp.replace('RS256]', 'RS256]\n    subject_prefix: "a"\n    group_prefix: "a:"') +
        other('subject_prefix: "a:"', 'group_prefix: "b:"'),
      [
        '14: corp and other could yield the same subject: the subject_prefix "a" and "a:" begin alike',
      ],
    ],
    [
      'one issuer twice',
      corp.replace('RS256]', 'RS256]\n    subject_prefix: "a:"\n    group_prefix: "a:"') +
        other('subject_prefix: "b:"', 'group_prefix: "b:"')
          .replace('name: other', 'name: corp')
          .replace('https://other.example.com', 'https://idp.example.com'),
      [
        '9: two issuers have the name "corp"',
        '10: two issuers have the issuer "https://idp.example.com"',
      ],
    ],
  ])('are refused with %s', (_, text, findings) => {
    expect(findingsOf(text)).toEqual(
      findings.map((finding) => `issuers.yaml:${/^\d/.test(finding) ? '' : ' '}${finding}`),
    );
  });
});

describe('a key set in a file', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'arrowgate-issuers-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const inFile = corp.replace('jwks_uri: https://idp.example.com/jwks', 'jwks_file: keys.json');

  it.each([
    ['is not there', undefined, 'cannot be read (ENOENT)'],
    ['is no JSON', '{', 'is no JSON Web Key Set'],
    ['is no key set', '{"keys":5}', 'is no JSON Web Key Set'],
    ['holds something else', '{"keys":["x"]}', 'is no JSON Web Key Set'],
    ['is empty', '{"keys":[]}', 'holds no key'],
    [
      'shows a private key',
      '{"keys":[{"kty":"EC","d":"x"}]}',
      'holds a private or shared key, which must not be there',
    ],
    [
      'shows a shared key',
      '{"keys":[{"kty":"oct","k":"x"}]}',
      'holds a private or shared key, which must not be there',
    ],
  ])('is refused when it %s', async (_, text, fault) => {
    const path = join(folder, 'keys.json');
    if (text !== undefined) await writeFile(path, text);
    await expect(loadIssuers(inFile, folder)).rejects.toThrow(
      `issuers.yaml: the jwks_file of corp, ${path}, ${fault}`,
    );
  });
});

describe('the example', () => {
  it('loads beside the shipped policy, and changes its digest', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-example-'));
    try {
      await cp(shippedFolder, folder, { recursive: true });
      const before = await loadPolicy(folder);
      await cp(join(folder, 'examples', 'issuers.yaml'), join(folder, 'issuers.yaml'));
      await writeFile(join(folder, 'builds.jwks.json'), '{"keys":[{"kty":"OKP"}]}');
      const after = await loadPolicy(folder);
      expect(before.issuers).toEqual([]);
      expect(after.issuers.map(({ name }) => name)).toEqual(['corp']);
      expect(after.digest).not.toBe(before.digest);
      const text = await readFile(join(folder, 'issuers.yaml'), 'utf8');
      expect(text).toContain('docs/schemas/issuers.schema.json');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
