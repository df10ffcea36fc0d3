import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isDetached,
  parseVersionFile,
  versionFile,
} from '../../../../src/engine/format/lance/version-file.ts';

describe('the name of a version', () => {
  it('counts down in V2 and up in V1', () => {
    expect(versionFile(1n, 'V2')).toBe('18446744073709551614.manifest');
    expect(versionFile(1n, 'V1')).toBe('1.manifest');
  });

  it('is read back, staged or final', () => {
    const version = fc.bigInt({ min: 1n, max: 2n ** 62n });
    fc.assert(
      fc.property(
        version,
        fc.constantFrom('V1', 'V2'),
        fc.constantFrom('', '-6f1c', '.6f1c'),
        (number, scheme, staging) => {
          const name = `${versionFile(number, scheme)}${staging}`;
          expect(parseVersionFile(name)).toEqual({ version: number, scheme, staging });
        },
      ),
    );
  });

  it('of a detached version is that of its 64 bits in both schemes', () => {
    for (const scheme of ['V1', 'V2'] as const) {
      expect(versionFile(-1n, scheme)).toBe('d18446744073709551615.manifest');
    }
    expect(parseVersionFile('d9223372036854775809.manifest-x')).toMatchObject({
      version: -(2n ** 63n) + 1n,
      staging: '-x',
    });
  });

  it.each([
    'd1.manifest',
    'd18446744073709551616.manifest',
    '',
    '1.manifes',
    'x.manifest',
    '01.manifest',
    '1.manifest-',
    '1.manifest.',
    '1.manifest.manifest.x',
    '1.manifest-a/b',
    '99999999999999999999.manifest',
    '../1.manifest',
    'latest_version_hint.json',
  ])('is not %j', (name) => {
    expect(parseVersionFile(name)).toBeUndefined();
  });

  it('is detached with the highest bit set, negative or not', () => {
    expect([1n, -1n, 2n ** 63n, 2n ** 63n - 1n].map(isDetached)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});
