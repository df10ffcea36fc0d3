import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address of the internet. */
type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The addresses that begin with the same bits (RFC 4632, RFC 4291 section 2.3). */
export interface AddressBlock {
  readonly first: Address;
  /** Number of bits that all addresses of the block share. */
  readonly prefix: number;
}

/** Either the block, or one sentence with the fault and the correct form. */
type BlockResult = { readonly block: AddressBlock } | { readonly fault: string };

/** Reads an address without its zone; undefined if the text is no address. */
export function readAddress(text: string): Address | undefined {
  // The package alone also accepts octal, hexadecimal and shortened IPv4 addresses.
  if (isIPv4(text)) return ipaddr.IPv4.parse(text);
  const [plain = ''] = text.split('%', 1);
  if (!isIPv6(plain)) return undefined;
  // It would take `::1.2.3.4` for `::ffff:1.2.3.4`, which is another address.
  return ipaddr.IPv6.parse(plain.replace(/^::(?=\d+\.)/, '::0:'));
}

/** The same; an IPv4 address inside IPv6 (RFC 4291 section 2.5.5.2) becomes the IPv4 address. */
export function parseAddress(text: string): Address | undefined {
  const address = readAddress(text);
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
  return isMapped ? address.toIPv4Address() : address;
}

/** Reads `10.0.0.0/8`, `2001:db8::/32` or a single address. */
export function parseBlock(text: string): BlockResult {
  const [name = '', length, ...more] = text.split('/');
  const address = parseAddress(name);
  if (address === undefined || more.length > 0) {
    return { fault: `${JSON.stringify(text)} is no network: write one like 10.0.0.0/8` };
  }
  const bits = address.kind() === 'ipv4' ? 32 : 128;
  const prefix = length === undefined ? bits : Number(length);
  if ((length !== undefined && !/^\d{1,3}$/.test(length)) || prefix > bits) {
    return { fault: `${JSON.stringify(text)} is no network: a prefix is from 0 to ${bits}` };
  }
  const first = firstOf(address, prefix);
  const begin = first.toString();
  if (begin === address.toString()) return { block: { first, prefix } };
  return { fault: `${JSON.stringify(text)} has bits beyond its prefix: write ${begin}/${prefix}` };
}

function firstOf(address: Address, prefix: number): Address {
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return kind.networkAddressFromCIDR(`${address.toString()}/${prefix}`);
}

/** Whether the address lies in the block. */
export function blockHolds({ first, prefix }: AddressBlock, address: Address): boolean {
  return first.kind() === address.kind() && address.match(first, prefix);
}

/** Whether all lists of blocks have an address in common. */
export function haveCommonAddress(lists: readonly (readonly AddressBlock[])[]): boolean {
  // Two blocks that meet are one inside the other, so what all have in common is one of them.
  return lists
    .flat()
    .some((block) =>
      lists.every((blocks) =>
        blocks.some((other) => other.prefix <= block.prefix && blockHolds(other, block.first)),
      ),
    );
}
