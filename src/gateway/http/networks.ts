import { BlockList, isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { readAddress } from '../../policy/conditions/address.ts';
import { BoundedCache } from '../../policy/lines/bounded-cache.ts';

/** The network of an address, such as `10.1.2.0/24`; the text itself if it is no address. */
export function networkOf(
  address: string,
  bits: { readonly 4: number; readonly 6: number },
): string {
  const parsed = readAddress(address);
  if (parsed === undefined) return address;
  const length = parsed.kind() === 'ipv4' ? bits[4] : bits[6];
  const masked = parsed.toByteArray().map((byte, index) => byte & byteMask(length - 8 * index));
  return `${ipaddr.fromByteArray(masked).toNormalizedString()}/${length}`;
}

/** A byte whose first `bits` bits are set. */
function byteMask(bits: number): number {
  return 0xff00 >> Math.max(0, Math.min(8, bits));
}

/** Length of the longest text of an address, with an IPv4 part and a zone. */
const LONGEST_ADDRESS = 64;

/** A set of networks. */
export class Networks {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;
  /** Recent answers: each request of a proxy asks several times, and a check costs as much as a decision. */
  readonly #known = new BoundedCache<string, boolean>(1024);

  /** @param texts `10.0.0.0/8`, `fd00::/8`, or a single address. @throws RangeError for anything else. */
  constructor(texts: readonly string[]) {
    for (const text of texts) this.#add(text);
    this.#isEmpty = texts.length === 0;
  }

  /** Whether an address lies in one of the networks. False for a text that is no address. */
  has(address: string): boolean {
    if (this.#isEmpty || address.length > LONGEST_ADDRESS) return false;
    return this.#known.get(address, () => this.#holds(address));
  }

  #holds(address: string): boolean {
    const version = isIP(address);
    return version !== 0 && this.#list.check(address, version === 4 ? 'ipv4' : 'ipv6');
  }

  #add(text: string): void {
    const [address = '', bits, more] = text.split('/');
    const version = isIPv4(address) ? 'ipv4' : 'ipv6';
    const most = version === 'ipv4' ? 32 : 128;
    const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
    if (isIP(address) === 0 || more !== undefined || length < 0 || length > most) {
      throw new RangeError(`${JSON.stringify(text)} is not a network such as 10.0.0.0/8`);
    }
    this.#list.addSubnet(address, length, version);
  }
}
