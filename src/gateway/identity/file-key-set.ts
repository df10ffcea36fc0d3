import { readFileSync } from 'node:fs';
import { errors, type JWTVerifyGetKey } from 'jose';
import { keyFileFault } from '../../policy/settings/issuer.ts';
import { systemErrorCode, fileMark } from '../http/file-mark.ts';
import {
  KeysUnavailable,
  lookupIn,
  type KeySet,
  type KeySetEvents,
  type VerificationKey,
} from './key-set.ts';

/** A key set in a file, which is read again when it is another one. The last good one stays while a bad one lies there. */
export class FileKeySet implements KeySet {
  readonly find: JWTVerifyGetKey = (header, token) => this.#find(header, token);
  readonly #path: string;
  readonly #events: KeySetEvents;
  #keys: JWTVerifyGetKey | undefined;
  #text = '';
  #mark: string | undefined;
  #fault: string | undefined;

  constructor(path: string, events: KeySetEvents) {
    this.#path = path;
    this.#events = events;
    this.#look();
  }

  get fault(): string | undefined {
    return this.#fault;
  }

  tick(): void {
    this.#look();
  }

  close(): void {}

  async #find(...parameters: Parameters<JWTVerifyGetKey>): Promise<VerificationKey> {
    try {
      return await this.#current()(...parameters);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      this.#look();
      return this.#current()(...parameters);
    }
  }

  #current(): JWTVerifyGetKey {
    if (this.#keys !== undefined) return this.#keys;
    throw new KeysUnavailable(this.#fault ?? `${this.#path} was not read`);
  }

  #look(): void {
    const mark = fileMark(this.#path);
    if (mark === this.#mark) return;
    this.#mark = mark;
    const text = this.#read();
    if (text === undefined) return;
    try {
      this.#take(text);
    } catch {
      this.#fail('cannot be used');
    }
  }

  /** An unreadable file is tried again at each look, because its mark may not change. Reported once. */
  #read(): string | undefined {
    try {
      return readFileSync(this.#path, 'utf8');
    } catch (error) {
      this.#mark = undefined;
      const why = `cannot be read (${systemErrorCode(error)})`;
      if (this.#fault !== this.#faultOf(why)) this.#fail(why);
      return undefined;
    }
  }

  #take(text: string): void {
    const fault = keyFileFault(text);
    if (fault !== undefined) return this.#fail(fault);
    if (text !== this.#text) {
      this.#keys = lookupIn(text);
      this.#text = text;
      this.#events.changed();
    }
    if (this.#fault !== undefined) this.#events.recovered();
    this.#fault = undefined;
  }

  #fail(why: string): void {
    this.#fault = this.#faultOf(why);
    this.#events.failed(this.#fault);
  }

  #faultOf(why: string): string {
    return `${this.#path} ${why}`;
  }
}
