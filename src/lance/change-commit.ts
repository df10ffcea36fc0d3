import { CatalogError } from '../protocol/errors.ts';
import type { LanceVersions } from '../engine/versions/managed/lance-library.ts';
import type { VersionQuestion, VersionReply } from './wire/messages.ts';

/** The one commit of a change: what the library asks of the catalog, and what came of it. */
export class ChangeCommit {
  readonly #versions: LanceVersions;
  #made: Promise<boolean> = Promise.resolve(false);
  #refusal: unknown;
  #isClosed = false;

  constructor(versions: LanceVersions) {
    this.#versions = versions;
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
      return error instanceof CatalogError
        ? refused(error.row.status, error.row.code)
        : refused(500, 18);
    }
  }

  /**
   * Whether the change is committed, once that is certain.
   * @throws what the catalog refused it with
   */
  async isMade(): Promise<boolean> {
    const isMade = await this.#made;
    if (!isMade && this.#refusal !== undefined) throw this.#refusal;
    return isMade;
  }

  /** Commits nothing more. @throws as `isMade` does */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.isMade();
  }

  /** Nothing is committed twice, nor after a refusal. */
  async #create(branch: string, body: VersionQuestion['body']): Promise<VersionReply> {
    if (this.#isClosed || this.#refusal !== undefined || (await this.#made))
      return refused(503, 17);
    const entry = this.#versions.create(branch, body);
    this.#made = entry.then(
      (made) => made !== undefined,
      (error: unknown) => {
        this.#refusal = error;
        return false;
      },
    );
    const made = await entry;
    return made === undefined ? refused(409, 14) : granted({ version: made });
  }
}

function granted(value: object): VersionReply {
  return { status: 200, value };
}

function refused(status: number, code: number): VersionReply {
  return { status, value: { error: 'the catalog refused it', code } };
}
