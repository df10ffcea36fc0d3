import { describe, expect, it } from 'vitest';
import { periodOf } from '../../../src/cli/config/key-details.ts';
import { UsageError } from '../../../src/cli/output/service-error.ts';

const now = Date.UTC(2026, 0, 31, 12);

describe('a period', () => {
  it.each([
    ['2026-01-31T18:30:00Z', '2026-01-31T18:30:00.000000Z'],
    ['2026-01-31T18:30:00.5+02:00', '2026-01-31T16:30:00.500000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000000Z'],
    ['7d', '2026-01-24T12:00:00.000000Z'],
    ['90m', '2026-01-31T10:30:00.000000Z'],
  ])('begins %s', (since, moment) => {
    expect(periodOf({ since }, now)).toEqual({ since: moment, until: undefined });
    expect(periodOf({ until: since }, now)).toEqual({ since: undefined, until: moment });
  });

  it('is everything unless it is given', () => {
    expect(periodOf({}, now)).toEqual({ since: undefined, until: undefined });
  });

  it.each(['yesterday', '2026-13-01', '2026-01-31T18:30:00', '', '-7d', '7'])(
    'is not %j',
    (since) => {
      const how = 'a moment such as 2026-01-31T18:30:00Z or 2026-01-31, or an age such as 7d';
      const sentence = `--since is ${JSON.stringify(since)}: write ${how}`;
      expect(() => periodOf({ since }, now)).toThrow(new UsageError(sentence));
    },
  );
});
