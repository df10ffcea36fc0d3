import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;

/** A new API key of a data folder, for a subject with one role. A running service knows it at once. */
export async function newApiKey(data: string, subject: string, role: string): Promise<string> {
  const flags = ['--subject', subject, '--role', role, '--data', data, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, [
    MAIN,
    'keys',
    'create',
    ...flags,
  ]);
  const { key } = JSON.parse(stdout) as { readonly key: string };
  return key;
}
