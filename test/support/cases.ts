/** Whether everything is tried, as by `npm run test:oracle` and `test:faults`; a sample otherwise. */
export const triesAll = process.env['ARROWGATE_TEST_CASES'] === 'all';

/**
 * How many random cases a test tries: some of them as a part of `npm test`, which has to end
 * within minutes, all of them where `ARROWGATE_TEST_CASES` is `all`.
 */
export function casesOf(some: number, all: number): number {
  return triesAll ? all : some;
}
