import { CatalogError } from '../protocol/errors.ts';
import type { LanceVersions } from '../engine/versions/managed/lance-library.ts';
import type { VersionQuestion, VersionReply } from './wire/messages.ts';

/** The status of a refusal. After a conflict, 409, the library would stage the change again. */
const REFUSED = 400;

/** Stands in the errors of the library in place of what the catalog said. */
const REFUSAL = 'the catalog refused it';

/** The commit of a change: what the library asks of the catalog, and what came of it. */
export class ChangeCommit {
  readonly #versions: LanceVersions;
  #made: Promise<boolean> = Promise.resolve(false);
  #refusal: unknown;
  /** What the catalog last answered a question that is none of a commit, if it was an error. */
  #unanswered: unknown;
  #isClosed = false;
  readonly #isSeveral: boolean;
  /** Resolves with the first commit; stays open if there is none. */
  readonly first: Promise<void>;
  #haveFirst: () => void = () => undefined;

  /** @param isSeveral Whether the change is several commits, one after the other. */
  constructor(versions: LanceVersions, isSeveral = false) {
    this.#versions = versions;
    this.#isSeveral = isSeveral;
    this.first = new Promise((resolve) => {
      this.#haveFirst = resolve;
    });
  }

  /** Answers a question of the library. Does not reject. */
  async answer({ action, branch, body }: VersionQuestion): Promise<VersionReply> {
    try {
      if (action === 'version/list') {
        const newest = await this.#versions.newest(branch);
        return granted({ versions: newest === undefined ? [] : [newest] });
      }
      if (action === 'version/describe') {
        return granted({ version: await this.#versions.at(branch, body['version']) });
      }
      return action === 'version/create' ? await this.#create(branch, body) : refused(406, 0);
    } catch (error) {
      this.#unanswered = error;
      return error instanceof CatalogError ? refused(REFUSED, error.row.code) : refused(500, 18);
    }
  }

  /**
   * Whether the change is committed, or a part of it, once that is certain.
   * @throws what the catalog refused it with
   */
  async isMade(): Promise<boolean> {
    const isMade = await this.#made;
    if (this.#refusal !== undefined && (this.#isSeveral || !isMade)) throw this.#refusal;
    return isMade;
  }

  /** The error of a change that made no version: what the catalog said, where the library only repeats that it was refused. */
  causeOf(error: unknown): unknown {
    const isRefusal = error instanceof CatalogError && error.message.includes(REFUSAL);
    return isRefusal ? (this.#unanswered ?? error) : error;
  }

  /** Commits nothing more. @throws as `isMade` does */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.isMade();
  }

  /** Nothing is committed twice, nor after a refusal. */
  async #create(branch: string, body: VersionQuestion['body']): Promise<VersionReply> {
    const wasMade = await this.#made;
    if (this.#isClosed || this.#refusal !== undefined || (wasMade && !this.#isSeveral))
      return refused(503, 17);
    const entry = this.#versions.create(branch, body);
    this.#made = entry.then(
      (made) => wasMade || made !== undefined,
      (error: unknown) => {
        this.#refusal = error;
        return wasMade;
      },
    );
    const made = await entry;
    if (made === undefined) return refused(409, 14);
    this.#haveFirst();
    return granted({ version: made });
  }
}

function granted(value: object): VersionReply {
  return { status: 200, value };
}

function refused(status: number, code: number): VersionReply {
  return { status, value: { error: REFUSAL, code } };
}
