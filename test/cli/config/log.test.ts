import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const CHILD = new URL('log-child.ts', import.meta.url).pathname;

it.each(['json', 'text'])('A log of %s on a full disk does not end its process', async (format) => {
  const command = 'exec "$0" --import tsx "$@" 2>/dev/full';
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    command,
    process.execPath,
    CHILD,
    format,
  ]);
  expect(stdout).toBe('went on\n');
});
