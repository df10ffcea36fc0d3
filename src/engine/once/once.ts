import { randomUUID } from 'node:crypto';
import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Store } from '../../store/store.ts';
import { commitLoop, type Committer } from '../catalog/records/commit-loop.ts';
import { unchanged } from '../catalog/records/reader.ts';
import { AlreadyDone, type Seal } from '../catalog/records/seal.ts';
import {
  decodeAnswer,
  encodeAnswer,
  storedAnswer,
  replayed,
  type AnswerRecord,
} from './answer-record.ts';
import { requireAgain, type RecordingPermit } from './recording-permit.ts';
import type { HashedBody } from './request-digest.ts';

/** How a request's change is made once, even if the request is repeated. */
export interface Once {
  /**
   * What a commit of the change takes along, so that a repeat is answered like
   * the first; nothing where the client gave the request no id.
   * @param answer The answer, from what is committed.
   */
  seal<Result>(answer: (result: Result) => Answer): Seal<Result> | undefined;
  /** Remembers the answer of a request that has nothing to change, and gives it back. */
  note(answer: Answer): Promise<Answer>;
}

/** A request without repetition. */
export const unrepeatable: Once = {
  seal: () => undefined,
  note: async (answer) => answer,
};

/** A request that its client can repeat. */
interface RepeatableRequest {
  /** The key of its answer. */
  readonly key: string;
  /** The id that the client gave it. */
  readonly id: string;
  /** Digest of the request without its Arrow body. */
  readonly asked: string;
  /** Its Arrow body, if it has one. */
  readonly body: HashedBody | null;
  /** Rights granted so far; required again when a stored answer is replayed. */
  readonly rights: RecordingPermit;
}

/** Store of the answers, and their lifetime. */
export interface AnswerStore {
  readonly store: Pick<Store, 'get'>;
  readonly committer: Committer;
  /** How long an answer is kept, in milliseconds. */
  readonly windowMillis: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** A request with an id of its client: its answer is kept in the commit of its change. */
export class RepeatableOnce implements Once {
  readonly #request: RepeatableRequest;
  readonly #answers: AnswerStore;
  readonly #maker = randomUUID();

  constructor(request: RepeatableRequest, answers: AnswerStore) {
    this.#request = request;
    this.#answers = answers;
  }

  /**
   * The answer of the first time, unless this is the first. It takes the rights
   * that it took then.
   * @throws CatalogError InvalidInput when something else was asked then, or when the
   * answer was too large to be kept; PermissionDenied when a right was withdrawn since.
   */
  async answered(): Promise<Answer | undefined> {
    const record = await this.#read();
    if (record === undefined) return undefined;
    if (!(await this.#isSameRequest(record))) throw misused(this.#request.id);
    const { answer, rights } = record;
    const { text } = answer;
    requireAgain(this.#request.rights, rights);
    if (typeof text === 'number') throw tooLarge(this.#request.id, text);
    // Its line may still be missing from the journal, if a crash came in between.
    await this.#answers.committer.catchUp?.();
    return replayed({ ...answer, text });
  }

  seal<Result>(answer: (result: Result) => Answer): Seal<Result> {
    const { key } = this.#request;
    return {
      checks: [{ kind: 'value', key, value: null }],
      writes: (result) => [{ key, value: encodeAnswer(this.#record(answer(result))) }],
      broken: async () => {
        throw new AlreadyDone((await this.#read())?.maker === this.#maker);
      },
    };
  }

  async note(answer: Answer): Promise<Answer> {
    const { committer } = this.#answers;
    const seal = this.seal(() => answer);
    return commitLoop<Answer>({ committer, seal }, async () => ({ kind: 'done', result: answer }));
  }

  #record(answer: Answer): AnswerRecord {
    return {
      asked: this.#request.asked,
      body: this.#request.body?.digest ?? null,
      maker: this.#maker,
      expires: this.#answers.clock() + this.#answers.windowMillis,
      ...storedAnswer(answer, this.#request.rights.granted),
    };
  }

  /** The record, if it still counts; one that does not is removed, so that the seal finds none. */
  async #read(): Promise<AnswerRecord | undefined> {
    const { store, committer, clock } = this.#answers;
    const { key } = this.#request;
    const value = await store.get(key);
    if (value === undefined) return undefined;
    const record = decodeAnswer(value);
    if (record.expires > clock()) return record;
    await committer.commit([unchanged({ key, value })], [{ key, value: null }]);
    return undefined;
  }

  async #isSameRequest({ asked, body: before }: AnswerRecord): Promise<boolean> {
    const { body } = this.#request;
    if (asked !== this.#request.asked) return false;
    // A body that was not read the first time made no difference.
    if (body === null || before === null) return true;
    return (await body.drain(before.bytes)) && body.digest?.sha256 === before.sha256;
  }
}

function misused(id: string): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `the request id ${id} was used before for the same operation on the same object with another body or other parameters`,
  );
}

function tooLarge(id: string, bytes: number): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `the request ${id} was carried out before; its answer of ${bytes} bytes was too large to be kept`,
  );
}
