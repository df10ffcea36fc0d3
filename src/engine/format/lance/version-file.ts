/** Naming schemes of Lance manifests; V2 counts down, so that the newest comes first. */
export type NamingScheme = 'V1' | 'V2';

const MOST = 2n ** 64n - 1n;
const DIGITS = 20;
/** Detached versions, which belong to no chain, start here. */
const DETACHED = 2n ** 63n;
const SUFFIX = '.manifest';

/**
 * Name of a version's manifest inside `_versions/` (wire contract, section 10.4). A detached
 * version has the same name in both schemes.
 */
export function versionFile(version: bigint, scheme: NamingScheme): string {
  if (isDetached(version)) return `d${BigInt.asUintN(64, version)}${SUFFIX}`;
  const number = scheme === 'V2' ? String(MOST - version).padStart(DIGITS, '0') : String(version);
  return `${number}${SUFFIX}`;
}

/**
 * Whether a version belongs to no chain: its highest bit is set, and it is negative on the wire.
 */
export function isDetached(version: bigint): boolean {
  return BigInt.asUintN(64, version) >= DETACHED;
}

/** A parsed name of a file in `_versions/`. */
export interface VersionFile {
  /** Negative for a detached version. */
  readonly version: bigint;
  readonly scheme: NamingScheme;
  /** Suffix of a staged file, `-<uuid>`, or of one that the catalog holds, `.<uuid>`; empty for a final one. */
  readonly staging: string;
}

const NAME = /^(?<detached>d?)(?<number>\d{1,20})\.manifest(?<staging>[.-][0-9A-Za-z-]{1,64})?$/;

/** Parses the name of a manifest; undefined for any other file. */
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
  // V1 names are short, unless the version is unreachably large.
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
