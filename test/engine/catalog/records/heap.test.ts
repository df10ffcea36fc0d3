import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Heap } from '../../../../src/engine/catalog/records/table-walk.ts';

it('gives the least element first, whatever is pushed and popped in between', () => {
  const command = fc.oneof(fc.integer(), fc.constant('pop' as const));
  fc.assert(
    fc.property(fc.array(command), (commands) => {
      const heap = new Heap<number>((left, right) => left - right);
      const model: number[] = [];
      for (const next of commands) {
        if (next === 'pop') {
          expect(heap.pop()).toBe(model.shift());
        } else {
          heap.push(next);
          model.push(next);
          model.sort((left, right) => left - right);
        }
      }
      for (const left of [...model, undefined]) expect(heap.pop()).toBe(left);
    }),
  );
});
