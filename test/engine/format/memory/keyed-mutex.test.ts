import { describe, expect, it } from 'vitest';
import { KeyedMutex } from '../../../../src/engine/format/memory/keyed-mutex.ts';

describe('KeyedMutex', () => {
  it('runs the work of one key in the order of asking, and goes on after a failure', async () => {
    const mutex = new KeyedMutex();
    const seen: string[] = [];
    const work = (name: string, fails = false) =>
      mutex.run('key', async () => {
        seen.push(`${name} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      });
    const results = await Promise.allSettled([work('first'), work('second', true), work('third')]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(seen).toEqual(
      ['first', 'second', 'third'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    );
  });

  it('does not hold up other keys', async () => {
    const mutex = new KeyedMutex();
    let release = (): void => undefined;
    const held = mutex.run('a', () => new Promise<void>((resolve) => (release = resolve)));
    await expect(mutex.run('b', () => Promise.resolve('done'))).resolves.toBe('done');
    release();
    await held;
  });
});
