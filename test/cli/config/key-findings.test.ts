import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate, type MadeCertificate } from '../../support/certificates.ts';
import { run } from '../captured.ts';

let folder: string;
let [one, other]: MadeCertificate[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-keys-'));
  one = await makeCertificate(folder, 'one', { commonName: 'one' });
  other = await makeCertificate(folder, 'other', { commonName: 'other' });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** What is found of a configuration, and the code of the command. */
async function check(lines: string): Promise<readonly unknown[]> {
  const config = join(folder, 'arrowgate.yaml');
  await writeFile(config, lines);
  const { code, lines: said } = await run('config', 'check', '--json', '--config', config);
  const { findings = [] } = JSON.parse(said[0]!) as { findings?: readonly string[] };
  return [code, ...findings];
}

const tls = (cert: string, key: string, more = '') =>
  `listen: { tls: { cert: ${cert}, key: ${key}${more} } }\n`;
const signing = (path: string) => `audit: { signing_key: ${path} }\n`;

describe('the keys that a configuration names', () => {
  it('are opened by its check', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const path = join(folder, 'signing.pem');
    await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    expect(await check(tls(one!.cert, one!.key) + signing(path))).toEqual([0]);
  });

  it('are findings where they cannot be used', async () => {
    const [cert, key, none] = [one!.cert, other!.key, join(folder, 'none.pem')];
    expect(await check(tls(cert, key))).toEqual([
      1,
      expect.stringContaining(`${cert} and ${key} are no certificate with its key`),
    ]);
    expect(await check(tls(none, key))).toEqual([1, `${none} cannot be read (ENOENT)`]);
    expect(await check(signing(none))).toEqual([1, `${none} cannot be read (ENOENT)`]);
    expect(await check(signing(cert))).toEqual([1, `${cert} holds no key in PEM`]);
    expect(await check(signing(one!.key))).toEqual([
      1,
      expect.stringMatching(/holds a key of type \w+, not Ed25519$/),
    ]);
  });
});
