import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectPath } from '../../src/protocol/identifier.ts';
import { applies, cell, circumstances, conditionalModel, examples } from './conditions.ts';
import { Oracle } from './oracle.ts';
import { policyOf, principal } from './support.ts';
import { casesOf } from '../support/cases.ts';

const letters = ['a', 'b'];

const universe: readonly ObjectPath[] = [0, 1, 2, 3].flatMap(pathsOfLength);

function pathsOfLength(length: number): readonly ObjectPath[] {
  if (length === 0) return [[]];
  return pathsOfLength(length - 1).flatMap((path) =>
    [...letters, 'z'].map((name) => [...path, name]),
  );
}

function isBelow(object: ObjectPath, top: ObjectPath): boolean {
  return top.every((name, at) => name === object[at]);
}

const pattern = fc
  .tuple(fc.array(fc.constantFrom(...letters, '*'), { maxLength: 2 }), fc.boolean())
  .map(([parts, below]) => `/${[...parts, ...(below ? ['**'] : [])].join('/')}`);

const action = fc.constantFrom('*', 'read', 'QueryTable', 'describe', 'append');

const line = fc.record({
  subject: fc.constantFrom('user:ann', 'role:r', '*', 'user:other'),
  object: pattern,
  action,
  effect: fc.constantFrom<('allow' | 'deny')[]>('allow', 'deny'),
  condition: fc.constantFrom(...examples),
});

const lines = fc.array(line, { minLength: 1, maxLength: 8 });
const scopes = fc.option(fc.array(fc.record({ action, pattern }), { maxLength: 3 }), {
  nil: undefined,
});
const rights = ['QueryTable', 'InsertIntoTable', 'DescribeTable', 'ListTables'] as const;

describe('a policy with conditions', () => {
  it('is, at each moment, the policy of the lines that apply then', async () => {
    await fc.assert(
      fc.asyncProperty(
        lines,
        scopes,
        fc.array(circumstances, { minLength: 3, maxLength: 3 }),
        async (written, scoped, moments) => {
          const texts = written.map(
            (l) =>
              `p, ${l.subject}, ${l.object}, ${l.action}, ${l.effect}, ${cell(l.condition.text)}`,
          );
          const { snapshot } = await policyOf(texts, conditionalModel);
          const ann = principal('user:ann', ['role:r'], scoped);
          for (const now of moments) {
            const inForce = written.filter(({ condition, effect }) =>
              applies(condition, effect, now),
            );
            const oracle = new Oracle(inForce, ['user:ann', 'role:r', '*'], scoped);
            const held = universe.map((object) => oracle.held(object));
            for (const right of rights) {
              expect(
                universe.map((object) => snapshot.decide(ann, right, object, now).allowed),
              ).toEqual(held.map((there) => there.has(right)));
            }
            const shown = universe.filter((object) => oracle.shows(object));
            for (const object of universe.filter(({ length }) => length < 3)) {
              const inside = shown.filter((one) => object.every((name, at) => name === one[at]));
              expect(snapshot.sees(ann, object, 'namespace', now)).toBe(inside.length > 0);
              expect(snapshot.sees(ann, object, 'table', now)).toBe(
                inside.some(({ length }) => length === object.length),
              );
            }
            for (const right of rights) {
              expect(snapshot.mayAnywhere(ann, right, now)).toBe(
                held.some((there) => there.has(right)),
              );
              const surely = universe.filter((object) => snapshot.holdsBelow(ann, right, object));
              const unheld = universe.filter((_, at) => !held[at]!.has(right));
              expect(unheld.filter((one) => surely.some((top) => isBelow(one, top)))).toEqual([]);
            }
            const open = universe.filter((object) => snapshot.holdsBelow(ann, 'see', object));
            const hidden = universe.filter((object) => !oracle.shows(object));
            expect(hidden.filter((one) => open.some((top) => isBelow(one, top)))).toEqual([]);
          }
        },
      ),
      { numRuns: casesOf(60, 120) },
    );
  });
});
