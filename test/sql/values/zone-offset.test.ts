import { assert, constantFrom, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { zoneOffset } from '../../../src/sql/values/zone-offset.ts';

const second = (text: string) => Date.parse(text) / 1000;

describe('zoneOffset', () => {
  it.each([
    ['+05:30', '2024-01-01T00:00:00Z', 19_800],
    ['-0330', '2024-01-01T00:00:00Z', -12_600],
    ['Asia/Kolkata', '1999-05-05T12:00:00Z', 19_800],
    ['America/New_York', '2024-03-10T06:59:59Z', -18_000],
    ['America/New_York', '2024-03-10T07:00:00Z', -14_400],
    ['America/New_York', '2024-11-03T05:59:59Z', -14_400],
    ['America/New_York', '2024-11-03T06:00:00Z', -18_000],
    ['Australia/Lord_Howe', '2024-01-01T00:00:00Z', 39_600],
    ['Africa/Casablanca', '2024-03-20T00:00:00Z', 0],
    ['Europe/Berlin', '1800-01-01T00:00:00Z', 3208],
  ])('is that of %s at %s', (zone, at, seconds) => {
    expect(zoneOffset(zone)!(second(at))).toBe(seconds);
  });

  it('is undefined for what is no zone', () => {
    expect(['', 'Nowhere/Else', '+5', 'x'.repeat(1000)].map(zoneOffset)).toEqual(
      Array.from({ length: 4 }, () => undefined),
    );
  });

  it('takes moments that no date can stand for', () => {
    expect(zoneOffset('Asia/Tokyo')!(9e15)).toBe(32_400);
    expect(zoneOffset('Asia/Kolkata')!(-9e15)).toBe(zoneOffset('Asia/Kolkata')!(-8.64e12));
  });

  it('is what clocks show', () => {
    const zones = ['Europe/London', 'America/Sao_Paulo', 'Africa/Cairo', 'Pacific/Apia'];
    assert(
      property(constantFrom(...zones), integer({ min: -1e9, max: 4e9 }), (zone, moment) => {
        const shown = new Intl.DateTimeFormat('sv-SE', {
          timeZone: zone,
          dateStyle: 'short',
          timeStyle: 'medium',
        }).format(moment * 1000);
        expect(zoneOffset(zone)!(moment)).toBe(second(`${shown.replace(' ', 'T')}Z`) - moment);
      }),
      { numRuns: 60 },
    );
  });
});
