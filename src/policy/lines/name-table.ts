/** Names with consecutive numbers, as arrays that move between threads without a copy. */
export interface NameTable {
  /** UTF-16 code units of all names, one after the other. */
  readonly units: Uint16Array<ArrayBuffer>;
  /** End of each name in `units`. */
  readonly ends: Uint32Array<ArrayBuffer>;
  /** Hash table of a power of two: the number of a name plus one; 0 for a free slot. */
  readonly slots: Uint32Array<ArrayBuffer>;
}

/** Collects names and numbers them in the order of their first use. */
export class NameNumbers {
  readonly #numbers = new Map<string, number>();

  /** The number of a name. */
  of(name: string): number {
    let number = this.#numbers.get(name);
    if (number === undefined) this.#numbers.set(name, (number = this.#numbers.size));
    return number;
  }

  get size(): number {
    return this.#numbers.size;
  }

  table(): NameTable {
    const names = [...this.#numbers.keys()];
    const ends = new Uint32Array(names.length);
    let end = 0;
    for (const [number, name] of names.entries()) ends[number] = end += name.length;
    const units = new Uint16Array(end);
    const slots = new Uint32Array(slotCount(names.length));
    for (const [number, name] of names.entries()) {
      const start = ends[number]! - name.length;
      for (let at = 0; at < name.length; at++) units[start + at] = name.charCodeAt(at);
      fillSlot(slots, hashOfName(name), number);
    }
    return { units, ends, slots };
  }
}

/** Number of slots for some entries: a power of two, at most half of them in use. */
export function slotCount(entries: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(entries, 1) * 2));
}

/** Takes the first free slot for an entry. */
export function fillSlot(slots: Uint32Array, hash: number, number: number): void {
  const mask = slots.length - 1;
  let at = hash & mask;
  while (slots[at] !== 0) at = (at + 1) & mask;
  slots[at] = number + 1;
}

/** FNV-1a over the code units. */
function hashOfName(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  }
  return hash ^ (hash >>> 15);
}

/** Finds names in a table. */
export class Names {
  readonly #table: NameTable;
  /** Texts that were requested before. */
  readonly #texts: (string | undefined)[] = [];

  constructor(table: NameTable) {
    this.#table = table;
  }

  /** The number of a name; undefined if the table does not have it. */
  find(name: string): number | undefined {
    const { slots } = this.#table;
    const mask = slots.length - 1;
    let at = hashOfName(name) & mask;
    for (let slot = slots[at]!; slot !== 0; slot = slots[at]!) {
      if (this.#is(slot - 1, name)) return slot - 1;
      at = (at + 1) & mask;
    }
    return undefined;
  }

  /** The name of a number. */
  name(number: number): string {
    return (this.#texts[number] ??= this.#text(number));
  }

  #is(number: number, name: string): boolean {
    const { units, ends } = this.#table;
    const start = this.#start(number);
    if (ends[number]! - start !== name.length) return false;
    for (let at = 0; at < name.length; at++) {
      if (units[start + at] !== name.charCodeAt(at)) return false;
    }
    return true;
  }

  #text(number: number): string {
    const { units, ends } = this.#table;
    return decoder.decode(units.subarray(this.#start(number), ends[number]));
  }

  #start(number: number): number {
    return number === 0 ? 0 : this.#table.ends[number - 1]!;
  }
}

const decoder = new TextDecoder('utf-16le', { ignoreBOM: true });
