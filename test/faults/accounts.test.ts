import { describe, expect, it } from 'vitest';
import { Accounts } from './accounts.ts';

/** Accounts of a table with one acknowledged group, and the version after it. */
function oneGroup(): Accounts {
  const accounts = new Accounts();
  accounts.begin(accounts.newGroup(), 'append');
  accounts.acknowledge(0, 2);
  return accounts;
}

describe('the accounts of writers', () => {
  it('are content with what was acknowledged', () => {
    expect(oneGroup().faults(new Map([[0, 0]]), [1, 2], true)).toEqual([]);
  });

  it.each([
    ['a lost append', [], [1, 2], 'group 0 is absent, and must be 0'],
    ['a change that nobody made', [[0, 1]], [1, 2], 'group 0 is 1, and must be 0'],
    [
      'rows of nobody',
      [
        [0, 0],
        [7, 0],
      ],
      [1, 2],
      'group 7 is there, and nobody appended it',
    ],
    ['a lost version', [[0, 0]], [1], 'version 2 was acknowledged and is not there'],
    ['a gap in the versions', [[0, 0]], [1, 2, 4], 'version 4 is out of order'],
  ] satisfies [string, [number, number][], number[], string][])(
    'notice %s',
    (_, found, versions, fault) => {
      expect(oneGroup().faults(new Map(found), versions, true)).toEqual([fault]);
    },
  );

  it('notice a version that two changes were told', () => {
    const accounts = oneGroup();
    accounts.begin(0, 'mark');
    accounts.acknowledge(0, 2);
    expect(accounts.faults(new Map([[0, 1]]), [1, 2], true)).toEqual([
      'version 2 was answered twice',
    ]);
  });

  it.each([0, 1])('take a change without answer as made or not: %i', (marks) => {
    const accounts = oneGroup();
    accounts.begin(0, 'mark');
    accounts.leave(0);
    expect(accounts.faults(new Map([[0, marks]]), [1, 2], true)).toEqual([]);
    expect(accounts.faults(new Map([[0, 1 - marks]]), [1, 2], true)).toEqual([
      `group 0 is ${1 - marks}, and must be ${marks}`,
    ]);
  });

  it('notice a change without answer that was made twice', () => {
    const accounts = oneGroup();
    accounts.begin(0, 'mark');
    accounts.leave(0);
    expect(accounts.faults(new Map([[0, 2]]), [1, 2, 3], true)).toEqual([
      'group 0 is 2, and must be 0 or 1',
    ]);
  });

  it('let a change without answer take effect late while a process lives that may make it', () => {
    const accounts = oneGroup();
    accounts.begin(0, 'remove');
    accounts.leave(0);
    expect(accounts.faults(new Map([[0, 0]]), [1, 2], false)).toEqual([]);
    expect(accounts.free()).toEqual([]);
    expect(accounts.faults(new Map(), [1, 2, 3], false)).toEqual([]);
    expect(accounts.faults(new Map([[0, 0]]), [1, 2, 3], false)).toEqual([
      'group 0 is 0, and must be absent',
    ]);
  });

  it('take a refused change as not made', () => {
    const accounts = oneGroup();
    accounts.begin(0, 'remove');
    accounts.refuse(0);
    expect(accounts.faults(new Map(), [1, 2], true)).toEqual(['group 0 is absent, and must be 0']);
  });
});
