import { describe, expect, it } from 'vitest';
import { Pace } from '../../../src/engine/base/pace.ts';

describe('long work', () => {
  it('lets what waits have its turn', async () => {
    const pace = new Pace();
    let served = false;
    setImmediate(() => {
      served = true;
    });
    const end = performance.now() + 20;
    while (performance.now() < end);
    await pace.turn();
    expect(served).toBe(true);
  });
});
