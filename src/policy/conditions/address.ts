import { isIPv4, isIPv6 } from 'node:net';

/** An address of the internet as a number. */
export interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** The addresses that begin with the same bits (RFC 4632, RFC 4291 section 2.3). */
export interface AddressBlock extends Address {
  readonly prefix: number;
}

/** Either the block, or one sentence with the fault and the correct form. */
export type BlockResult = { readonly block: AddressBlock } | { readonly fault: string };

/** An IPv4 address inside IPv6 (RFC 4291 section 2.5.5.2). */
const MAPPED = 0xffffn << 32n;

/** Parses an address; undefined if invalid. IPv4 inside IPv6 is the IPv4 address. */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { bits: 32, value: numberOf(text.split('.').map(Number), 8n) };
  const [plain = ''] = text.split('%', 1);
  if (!isIPv6(plain)) return undefined;
  const value = numberOf(groupsOf(plain), 16n);
  if (value >> 32n === MAPPED >> 32n) return { bits: 32, value: value & 0xffff_ffffn };
  return { bits: 128, value };
}

function numberOf(parts: readonly number[], width: bigint): bigint {
  return parts.reduce((sum, part) => (sum << width) | BigInt(part), 0n);
}

/** The eight groups of an IPv6 address that is well formed. */
function groupsOf(text: string): readonly number[] {
  const dotted = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [left = '', right] = dotted.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((g) => parseInt(g, 16)));
  const [before, after] = [groups(left), groups(right ?? '')];
  const zeros = right === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array.from({ length: zeros }, () => 0), ...after];
}

/** Reads `10.0.0.0/8`, `2001:db8::/32` or a single address. */
export function parseBlock(text: string): BlockResult {
  const [name = '', length, ...more] = text.split('/');
  const address = parseAddress(name);
  if (address === undefined || more.length > 0) {
    return { fault: `${JSON.stringify(text)} is no network: write one like 10.0.0.0/8` };
  }
  const { bits, value } = address;
  if (length === undefined) return { block: { ...address, prefix: bits } };
  const prefix = Number(length);
  if (!/^\d{1,3}$/.test(length) || prefix > bits) {
    return { fault: `${JSON.stringify(text)} is no network: a prefix is from 0 to ${bits}` };
  }
  const rest = BigInt(bits - prefix);
  if ((value >> rest) << rest === value) return { block: { ...address, prefix } };
  const begin = formatAddress({ bits, value: (value >> rest) << rest });
  return {
    fault: `${JSON.stringify(text)} has bits beyond its prefix: write ${begin}/${prefix}`,
  };
}

function formatAddress({ bits, value }: Address): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((at) => (value >> at) & 0xffn).join('.');
  const groups = [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((at) =>
    ((value >> at) & 0xffffn).toString(16),
  );
  return groups.join(':').replace(/(^|:)(0(:|$)){2,}/, '::');
}

/** Whether the address lies in the block. */
export function blockHolds({ bits, value, prefix }: AddressBlock, address: Address): boolean {
  const rest = BigInt(bits - prefix);
  return bits === address.bits && value >> rest === address.value >> rest;
}

/** Whether all lists of blocks have an address in common. */
export function haveCommonAddress(lists: readonly (readonly AddressBlock[])[]): boolean {
  // Two blocks that meet are one inside the other, so what all have in common is one of them.
  return lists
    .flat()
    .some((block) =>
      lists.every((blocks) =>
        blocks.some((other) => other.prefix <= block.prefix && blocksMeet(other, block)),
      ),
    );
}

function blocksMeet(one: AddressBlock, other: AddressBlock): boolean {
  return one.prefix <= other.prefix ? blockHolds(one, other) : blockHolds(other, one);
}
