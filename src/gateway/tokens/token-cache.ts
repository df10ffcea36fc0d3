import { hash } from 'node:crypto';
import type { Principal } from '../../protocol/principal.ts';

interface Entry {
  readonly principal: Principal;
  readonly expires: number;
}

/**
 * Whom verified tokens stand for, by a hash of the token, until they expire
 * and never beyond. Holds no token.
 */
export class TokenCache {
  readonly #entries = new Map<string, Entry>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @param now Milliseconds since 1970. */
  get(token: string, now: number): Principal | undefined {
    const key = hashOf(token);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (now < entry.expires) return entry.principal;
    this.#entries.delete(key);
    return undefined;
  }

  /** @param expires The token's own end, in milliseconds since 1970. */
  put(token: string, principal: Principal, expires: number): void {
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= this.#limit && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(hashOf(token), { principal, expires });
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }
}

function hashOf(token: string): string {
  return hash('sha256', token, 'base64url');
}
