import { describe, expect, it } from 'vitest';
import { periodOf } from '../../../src/cli/config/key-details.ts';
import { MOMENTS } from '../../../src/protocol/moment.ts';
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

  it.each(['2026-13-01', '2026-01-31T18:30:00', '', '-7d', '7'])('is not %j', (since) => {
    const sentence = `--since is ${JSON.stringify(since)}, but must be ${MOMENTS}`;
    expect(() => periodOf({ since }, now)).toThrow(new UsageError(sentence));
  });

  it('ends after its start', () => {
    expect(() => periodOf({ since: '1h', until: '2h' }, now)).toThrow(
      '--since 1h is not before --until 2h',
    );
  });
});
