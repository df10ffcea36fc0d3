import { BlockList, isIP, isIPv4 } from 'node:net';

/** The network of an address, such as `10.1.2.0/24`; the address itself if it has none. */
export function networkOf(
  address: string,
  bits: { readonly 4: number; readonly 6: number },
): string {
  const version = isIP(address);
  if (version === 4) return `${maskedFour(address, bits[4])}/${bits[4]}`;
  return version === 6 ? `${maskedSix(address, bits[6])}/${bits[6]}` : address;
}

function maskedFour(address: string, bits: number): string {
  const kept = address
    .split('.')
    .map(Number)
    .map((part, index) => part & byteMask(bits - 8 * index));
  return kept.join('.');
}

/** A byte whose first `bits` bits are set. */
function byteMask(bits: number): number {
  return (0xff << (8 - Math.max(0, Math.min(8, bits)))) & 0xff;
}

function maskedSix(address: string, bits: number): string {
  return groupsOf(address)
    .map((group, index) => {
      const left = Math.max(0, Math.min(16, bits - 16 * index));
      return (group & (0xffff << (16 - left)) & 0xffff).toString(16);
    })
    .join(':');
}

/** The eight groups of an IPv6 address (RFC 4291 section 2.2). */
function groupsOf(address: string): readonly number[] {
  const [plain = ''] = address.split('%', 1);
  const [head = '', tail] = plain.split('::');
  const [first, last] = [partsOf(head), tail === undefined ? [] : partsOf(tail)];
  const gap = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => 0);
  return [...first, ...gap, ...last];
}

function partsOf(text: string): readonly number[] {
  if (text === '') return [];
  return text
    .split(':')
    .flatMap((part) => (part.includes('.') ? pairOf(part) : [parseInt(part, 16)]));
}

/** An IPv4 address at the end of one of IPv6. */
function pairOf(dotted: string): readonly number[] {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

/** Some networks that addresses may lie in. */
export class Networks {
  readonly #list = new BlockList();

  /** @param texts `10.0.0.0/8`, `fd00::/8`, or a single address. @throws RangeError for anything else. */
  constructor(texts: readonly string[]) {
    for (const text of texts) this.#add(text);
  }

  has(address: string): boolean {
    const version = isIP(address);
    return version !== 0 && this.#list.check(address, version === 4 ? 'ipv4' : 'ipv6');
  }

  #add(text: string): void {
    const [address = '', bits, more] = text.split('/');
    const version = isIPv4(address) ? 'ipv4' : 'ipv6';
    const most = version === 'ipv4' ? 32 : 128;
    const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
    if (isIP(address) === 0 || more !== undefined || length < 0 || length > most) {
      throw new RangeError(`${JSON.stringify(text)} is no network such as 10.0.0.0/8`);
    }
    this.#list.addSubnet(address, length, version);
  }
}
