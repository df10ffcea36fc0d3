import { expect, it } from 'vitest';
import { Child } from '../../support/child.ts';

it('A supervisor goes on when it tells something to a process that has just died', async () => {
  const child = new Child(new URL('dead-process-child.ts', import.meta.url), []);
  await child.end();
  expect(child.lines).toEqual(['SIGKILL']);
});

it('A process tells its supervisor that it answers, since the first question may come before it can', async () => {
  const child = new Child(new URL('heartbeat-child.ts', import.meta.url), []);
  await child.end();
  expect(child.lines).toEqual(['answer']);
});
