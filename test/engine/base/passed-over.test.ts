import { expect, it } from 'vitest';
import { failureText, PassedOver } from '../../../src/engine/base/passed-over.ts';

it('names each item that fails, and gives the others their results', async () => {
  const passedOver = new PassedOver();
  const results: (number | undefined)[] = [];
  for (const [at, name] of ['/a', '/b', '/c'].entries()) {
    results.push(
      await passedOver.around(name, async () => {
        if (name === '/a') throw new Error('it is damaged');
        // What fails may be no error.
        if (name === '/b') throw 'gone';
        return at;
      }),
    );
  }
  expect(results).toEqual([undefined, undefined, 2]);
  expect(passedOver.failures.map(failureText)).toEqual([
    '/a is passed over: it is damaged',
    '/b is passed over: gone',
  ]);
});
