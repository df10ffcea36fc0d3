/** How the files of Lance versions are named: V2 counts down, so that the newest comes first. */
export type NamingScheme = 'V1' | 'V2';

const MOST = 2n ** 64n - 1n;
const DIGITS = 20;
/** Versions from here on belong to no chain. */
const DETACHED = 2n ** 63n;
const SUFFIX = '.manifest';

/**
 * The name of a version's manifest inside `_versions/` (wire contract, section
 * 10.4). A version that belongs to no chain has the same name in both schemes.
 */
export function versionFile(version: bigint, scheme: NamingScheme): string {
  if (isDetached(version)) return `d${BigInt.asUintN(64, version)}${SUFFIX}`;
  const number = scheme === 'V2' ? String(MOST - version).padStart(DIGITS, '0') : String(version);
  return `${number}${SUFFIX}`;
}

/** A version that belongs to no chain has the highest bit set; on the wire it is negative. */
export function isDetached(version: bigint): boolean {
  return BigInt.asUintN(64, version) >= DETACHED;
}

/** What the name of a file in `_versions/` says. */
export interface VersionFile {
  /** Negative for a version that belongs to no chain. */
  readonly version: bigint;
  readonly scheme: NamingScheme;
  /** What follows the name in a staged file: `-<uuid>`; empty for the final one. */
  readonly staging: string;
}

const NAME = /^(?<detached>d?)(?<number>\d{1,20})\.manifest(?<staging>-[0-9A-Za-z-]{1,64})?$/;

/** Reads the name of a manifest; undefined for any other file. */
export function parseVersionFile(name: string): VersionFile | undefined {
  const parts = NAME.exec(name)?.groups;
  if (parts === undefined) return undefined;
  const { detached = '', number = '', staging = '' } = parts;
  const found = detached === '' ? inChain(number) : apart(number);
  return found === undefined ? undefined : { ...found, staging };
}

type Numbered = Omit<VersionFile, 'staging'>;

function inChain(number: string): Numbered | undefined {
  const value = BigInt(number);
  // A V1 name is short, or else a version that nobody reaches.
  if (number.length === DIGITS && value >= DETACHED) {
    return value > MOST ? undefined : { version: MOST - value, scheme: 'V2' };
  }
  if (value >= DETACHED || number !== value.toString()) return undefined;
  return { version: value, scheme: 'V1' };
}

function apart(number: string): Numbered | undefined {
  const value = BigInt(number);
  if (value < DETACHED || value > MOST || number !== value.toString()) return undefined;
  return { version: BigInt.asIntN(64, value), scheme: 'V2' };
}
