import { describe, expect, it } from 'vitest';
import { timeOf } from '../../../src/audit/record/time.ts';
import { momentOf } from '../../../src/cli/output/moment.ts';
import { MOMENTS } from '../../../src/protocol/moment.ts';
import { zoneOf } from '../../../src/cli/output/zone.ts';

const now = Date.UTC(2026, 2, 29, 12);
const at = (typed: string, zone = 'UTC') => timeOf(momentOf('--since', typed, zoneOf(zone), now));

describe('a typed time', () => {
  it.each([
    ['2026-01-31T18:30:00Z', 'UTC', '2026-01-31T18:30:00.000000Z'],
    ['2026-01-31t18:30:00.1234567+02:00', 'UTC', '2026-01-31T16:30:00.123456Z'],
    ['2026-01-31 18:30Z', 'UTC', '2026-01-31T18:30:00.000000Z'],
    ['24h', 'UTC', '2026-03-28T12:00:00.000000Z'],
    ['today', 'UTC', '2026-03-29T00:00:00.000000Z'],
    ['yesterday', 'UTC', '2026-03-28T00:00:00.000000Z'],
    ['2026-01-31', 'UTC', '2026-01-31T00:00:00.000000Z'],
    ['2026-01-31', 'America/New_York', '2026-01-31T05:00:00.000000Z'],
    // The clocks go forward at 01:00 UTC of that day.
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000000Z'],
    ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000000Z'],
    ['today', 'Pacific/Auckland', '2026-03-29T11:00:00.000000Z'],
    ['yesterday', 'Europe/Berlin', '2026-03-27T23:00:00.000000Z'],
  ])('%s in %s is %s', (typed, zone, time) => {
    expect(at(typed, zone)).toBe(time);
  });

  it.each([
    'tomorrow',
    '2026-02-31',
    '2026-13-01',
    '2026-01-31T18:30:00',
    '',
    '-7d',
    '7',
    '1960-01-01',
  ])('is not %j', (typed) => {
    expect(() => at(typed)).toThrow(`--since is ${JSON.stringify(typed)}, but must be ${MOMENTS}`);
  });
});

describe('a zone', () => {
  it.each([
    ['UTC', '2026-07-01T23:30:00.000001Z'],
    ['Europe/Berlin', '2026-07-02T01:30:00.000001+02:00'],
    ['Asia/Kolkata', '2026-07-02T05:00:00.000001+05:30'],
    ['America/St_Johns', '2026-07-01T21:00:00.000001-02:30'],
  ])('%s shows a time as its clocks do', (zone, shown) => {
    expect(zoneOf(zone).shown('2026-07-01T23:30:00.000001Z')).toBe(shown);
  });

  it('is UTC unless it is named', () => {
    expect(zoneOf(undefined).name).toBe('UTC');
    expect(() => zoneOf('Mars/Olympus')).toThrow('--tz is "Mars/Olympus", but must be UTC, local');
  });
});
