import type { Answer, Backend, CatalogRequest } from '../protocol/backend.ts';
import { CatalogError } from '../protocol/errors.ts';
import type { Permit } from '../protocol/permit.ts';
import { StoreError } from '../store/errors.ts';
import { checkedBody, readBody, withBodyContext } from './body.ts';
import { fullDisk, isFullDisk } from './full-disk.ts';
import type { Call, HandlerTable } from './handler.ts';
import { unrepeatable } from './once/once.ts';
import type { Repeats } from './once/repeats.ts';
import { namedBranch } from './parameters.ts';
import { CommitJudge, judging, noRules, type Judging } from './rules/commit-judge.ts';
import { MAIN } from './table/chain.ts';

export interface EmbeddedBackendOptions {
  /** The operations that are built. */
  readonly handlers: HandlerTable;
  /** What recognises requests that come again; without it none is. */
  readonly repeats?: Repeats;
  /** What commits are judged with; without it there are no rules. */
  readonly judging?: Judging;
  /** The largest JSON body, in bytes. */
  readonly jsonBody: number;
  /** Whether the engine can serve now; a sentence when it cannot. */
  readonly health: () => Promise<string | undefined>;
  /** Whether what is acknowledged may be lost; a sentence when it may. */
  readonly weakness: () => Promise<string | undefined>;
}

/** The catalog engine inside the process, as a backend of the gateway. */
export class EmbeddedBackend implements Backend {
  readonly name = 'embedded';
  readonly #options: EmbeddedBackendOptions;
  readonly #judging: Judging;

  constructor(options: EmbeddedBackendOptions) {
    this.#options = options;
    this.#judging =
      options.judging ??
      judging(
        () => noRules,
        () => undefined,
        Date.now,
      );
  }

  /**
   * An operation that is not built is refused after its body was found to agree
   * with the route: what is at odds is bad input whatever is asked.
   * @throws CatalogError Unsupported for it, and whatever a handler refuses.
   */
  async handle(request: CatalogRequest, permit: Permit): Promise<Answer> {
    try {
      return await this.#handle(request, permit);
    } catch (error) {
      throw told(error);
    }
  }

  async health(): Promise<string | undefined> {
    return this.#options.health();
  }

  async weakness(): Promise<string | undefined> {
    return this.#options.weakness();
  }

  async #handle(asked: CatalogRequest, permit: Permit): Promise<Answer> {
    const { handlers, jsonBody, repeats } = this.#options;
    const { name, body: kind } = asked.operation;
    const handler = handlers[name];
    const { request, recorded } = readAhead(asked);
    const read = kind === 'arrow' ? {} : readBody(request, jsonBody);
    const sent = read instanceof Promise ? await read : read;
    if (handler === undefined) throw new CatalogError('Unsupported', `${name} is not built yet`);
    const answer = async (told: Omit<Call, 'once' | 'rules'>): Promise<Answer> => {
      const rules = new CommitJudge(this.#judging, told.request, permit);
      const call = { ...told, rules };
      const made = repeats?.run(call, handler) ?? handler({ ...call, once: unrepeatable });
      return named(rules, await made);
    };
    if (kind === 'arrow') return answer({ request, permit, body: sent, recorded });
    const body = checkedBody(request, sent);
    const call = { request: withBodyContext(request, body), permit, body, recorded };
    if (!isBranchOfBody(request)) return answer(call);
    const branch = namedBranch(call);
    if (branch !== null || !permit.holds(name, request.object, MAIN)) {
      permit.require(name, request.object, branch ?? MAIN);
    }
    const answered = await answer(call);
    return branch === null ? answered : { branch, ...answered };
  }
}

/** The answer with the names of the rules that judged its commit. */
function named(rules: CommitJudge, answer: Answer): Answer {
  const { names } = rules;
  if (names.length === 0 || answer.commit === undefined) return answer;
  return { ...answer, commit: { ...answer.commit, rules: names } };
}

/** A request whose body need not wait for its attempt, with what its commit waits for instead. */
function readAhead(request: CatalogRequest): {
  readonly request: CatalogRequest;
  readonly recorded: Call['recorded'];
} {
  const { ahead } = request;
  if (ahead === undefined) return { request, recorded: undefined };
  return {
    request: { ...request, body: ahead.bytes },
    recorded: () => ahead.recorded(),
  };
}

/** What a caller is told of a failure that is nobody's bad input. */
function told(error: unknown): unknown {
  if (isAway(error)) return storeAway();
  return isFullDisk(error) ? fullDisk() : error;
}

function isAway(error: unknown): boolean {
  return error instanceof StoreError && error.kind !== 'key';
}

function storeAway(): CatalogError {
  return new CatalogError('ServiceUnavailable', 'the store of the catalog does not answer');
}

/** Whether nothing but the body names the branch of a table: whoever decided by the route did not see it. */
function isBranchOfBody({ operation, query }: CatalogRequest): boolean {
  return operation.object === 'table' && operation.query.includes('branch') && !query.has('branch');
}
