import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { updateKeys } from '../../src/gateway/identity/key-file.ts';
import { makeKey } from '../../src/gateway/identity/keys.ts';
import { makeCertificate } from '../support/certificates.ts';
import { signingKey } from '../support/identity-provider.ts';

const CHILD = new URL('few-files-child.ts', import.meta.url).pathname;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-few-'));
});

afterEach(() => rm(folder, { recursive: true }));

/** Everything that a gateway reads again when it changes; gives the key that is in the file. */
async function place(prefix: string): Promise<string> {
  const made = makeKey({ subject: 'user:ann', roles: [], expires: null }, new Date());
  await updateKeys(join(folder, `${prefix}keys.json`), () => [made.stored]);
  const set = { keys: [(await signingKey(`${prefix}one`)).shown] };
  await writeFile(join(folder, `${prefix}jwks.json`), JSON.stringify(set));
  const { cert, key } = await makeCertificate(folder, `${prefix}made`, { commonName: 'gateway' });
  await rename(cert, join(folder, `${prefix}tls.pem`));
  await rename(key, join(folder, `${prefix}tls.key`));
  return made.text;
}

describe('keys, key sets and certificates that are replaced', () => {
  it('come into force though no file could be opened just then, which is told once', async () => {
    await place('');
    const key = await place('next-');
    const command = 'ulimit -n 128; exec "$0" --import tsx "$@"';
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      command,
      process.execPath,
      CHILD,
      folder,
      key,
    ]);
    const path = (name: string): string => join(folder, name);
    const faults = ['keys.json', 'tls.pem', 'jwks.json'].map(
      (name) => `${path(name)} cannot be read (EMFILE)`,
    );
    const { without, told, after } = JSON.parse(stdout);
    expect(without).toEqual({
      kind: 'unknown',
      changes: 0,
      faults: [faults[0], faults[1], `corp: ${faults[2]}`],
    });
    expect(told.sort()).toEqual(faults.sort());
    expect(after).toEqual({ kind: 'known', changes: 1, faults: [null, null, null] });
  });
});
