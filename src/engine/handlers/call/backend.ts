import { basename } from 'node:path';
import type { Answer, Backend, CatalogRequest } from '../../../protocol/backend.ts';
import type { CommitSummary } from '../../../protocol/commit-summary.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import { LONG_JSON } from '../../../protocol/json-parser.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { Permit } from '../../../protocol/permit.ts';
import { RuleRefusal } from '../../../rules/commit-rule.ts';
import { StoreError } from '../../../store/errors.ts';
import { LinkedPath } from '../../../storage/plain-path.ts';
import { requireArrowType, schemaBody, sendsSchema } from './arrow-body.ts';
import {
  bodyOf,
  checkedBody,
  checkedLongBody,
  readText,
  textAtHand,
  withBodyContext,
} from './body.ts';
import { fullDisk, isFullDisk } from '../../base/disk.ts';
import type { Basis, Call, Handler, HandlerTable } from './handler.ts';
import { questionOf, type KnownAnswers } from './known-answers.ts';
import type { FormulaThreads } from '../../base/statement.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { digestOf } from '../../once/request-digest.ts';
import { unrepeatable } from '../../once/once.ts';
import type { Adoption } from '../../versions/managed/adoption.ts';
import type { Repeats } from './repeats.ts';
import { namedBranch } from './parameters.ts';
import { statementOf } from './statement.ts';
import { CommitJudge, judging, noRules, type Judging } from '../../rules/commit-judge.ts';
import { MAIN } from '../../format/chain.ts';
import { BodyMeter, RequestMemory } from '../../format/memory/request-memory.ts';

export interface EmbeddedBackendOptions {
  /** The operations that are built. */
  readonly handlers: HandlerTable;
  /** Where long expressions are evaluated; all are here when absent. */
  readonly threads?: FormulaThreads;
  /** What recognises requests that come again; without it none is. */
  readonly repeats?: Repeats;
  /** Answers that may be given again; without it every one is made anew. */
  readonly known?: KnownAnswers;
  /** What commits are judged with; without it there are no rules. */
  readonly judging?: Judging;
  /** What adopts versions that were written without the catalog; without it none is. */
  readonly adoption?: Adoption;
  /** The largest JSON body, in bytes. */
  readonly jsonBody: number;
  /** What the bodies of all requests hold; any number of bytes unless given. */
  readonly memory?: RequestMemory;
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
  readonly #memory: RequestMemory;

  constructor(options: EmbeddedBackendOptions) {
    this.#options = options;
    this.#memory = options.memory ?? new RequestMemory(Infinity);
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
    return this.answer(request, permit);
  }

  /** The same, at once where nothing has to be waited for. */
  answer(request: CatalogRequest, permit: Permit): Answer | Promise<Answer> {
    try {
      const answer = this.#begin(request, permit);
      return answer instanceof Promise
        ? answer.catch((error: unknown) => refuse(error, request))
        : answer;
    } catch (error) {
      return refuse(error, request);
    }
  }

  async health(): Promise<string | undefined> {
    return this.#options.health();
  }

  async weakness(): Promise<string | undefined> {
    return this.#options.weakness();
  }

  #begin(asked: CatalogRequest, permit: Permit): Answer | Promise<Answer> {
    const told = readAhead(asked, permit);
    const { request } = told;
    if (request.operation.body === 'arrow') {
      requireArrowType(request);
      return this.#made({ ...told, body: {} });
    }
    const { jsonBody } = this.#options;
    if (sendsSchema(request)) return this.#answeredSchema(told);
    const text = textAtHand(request, jsonBody);
    return text === undefined
      ? this.#answeredLate(told, new BodyMeter(this.#memory, request.budget))
      : this.#answered(told, text);
  }

  /** The answer to a request that sends the schema of an Arrow stream in place of JSON. */
  async #answeredSchema(told: Told): Promise<Answer> {
    const limits = { maxArrowBytes: this.#options.jsonBody, memory: this.#memory };
    return this.#answered(told, await schemaBody(told.request, limits));
  }

  /** The answer to a request whose body is still to come. */
  async #answeredLate(told: Told, meter: BodyMeter): Promise<Answer> {
    try {
      const text = await readText(told.request.body, this.#options.jsonBody, meter);
      return await this.#answered(told, text);
    } finally {
      meter.close();
    }
  }

  #answered(told: Told, text: string): Answer | Promise<Answer> {
    const { known } = this.#options;
    const question = known && questionOf(told.request, text);
    if (known === undefined || question === undefined) return this.#read(told, text);
    const found = known.find(question, told.request);
    if (found instanceof Promise) {
      return found.then((late) => again(told, late) ?? this.#kept(known, told, text, question));
    }
    return again(told, found) ?? this.#kept(known, told, text, question);
  }

  async #kept(known: KnownAnswers, told: Told, text: string, question: string): Promise<Answer> {
    let basis: Basis | undefined;
    const rests = (told: Basis) => {
      basis = told;
    };
    const answer = await this.#read({ ...told, rests }, text);
    if (basis !== undefined) known.keep(question, answer, basis);
    return answer;
  }

  async #read(told: Told, text: string): Promise<Answer> {
    const { request, permit } = told;
    const reading = bodyOf(request, text);
    const sent = reading instanceof Promise ? await reading : reading;
    this.#requireBuilt(request.operation.name);
    const isLong = text.length > LONG_JSON;
    const body = isLong ? await checkedLongBody(request, sent) : checkedBody(request, sent);
    const { recorded, rests } = told;
    const bodyDigest = isLong ? digestOf(text) : undefined;
    const asked = withBodyContext(request, body);
    const call = { request: asked, permit, body, bodyDigest, recorded, rests };
    if (!isBranchOfBody(request)) return this.#made(call);
    const branch = namedBranch(call);
    askForBranch(request, permit, branch);
    const answer = await this.#made(call);
    return branch === null ? answer : { branch, ...answer };
  }

  async #made({ request, permit, body, bodyDigest, recorded, rests }: Asked): Promise<Answer> {
    const { repeats, threads, adoption } = this.#options;
    const handler = this.#requireBuilt(request.operation.name);
    const rules = new CommitJudge(this.#judging, request, permit);
    const asked = { request, permit, body, bodyDigest, recorded, rests };
    const call = { ...asked, rules, threads, adoption, once: unrepeatable };
    try {
      return described(call, await (repeats?.run(call, handler) ?? handler(call)));
    } catch (error) {
      throw error instanceof RuleRefusal ? error.of(refusedSummary(call)) : error;
    }
  }

  #requireBuilt(name: OperationName): Handler {
    const handler = this.#options.handlers[name];
    if (handler === undefined) throw new CatalogError('Unsupported', `${name} is not built yet`);
    return handler;
  }
}

/** A request whose body is read. */
type Asked = Omit<Call, 'once' | 'rules' | 'threads' | 'adoption'>;

/** A request before its body is read. */
type Told = Omit<Asked, 'body'>;

/** An answer that was given before, for whoever may have it. */
function again({ request, permit }: Told, answer: Answer | undefined): Answer | undefined {
  if (answer !== undefined && isBranchOfBody(request)) {
    askForBranch(request, permit, answer.branch ?? null);
  }
  return answer;
}

/** Asks for the branch that only the body names; whoever decided by the route took it for `main`, if that was of any help. */
function askForBranch(
  { operation: { name }, object }: CatalogRequest,
  permit: Permit,
  branch: string | null,
): void {
  if (branch !== null || !permit.holds(name, object, MAIN)) {
    permit.require(name, object, branch ?? MAIN);
  }
}

/** What a request asked for whose commit a rule refused: nothing was changed. */
function refusedSummary({ rules, request, body }: Call): CommitSummary {
  const statement = statementOf(request.operation.name, { body, query: request.query });
  return { ...placeSummary('refused'), rules: rules.names, statement };
}

/** The answer with the names of the rules that judged its commit, and with what was asked. */
function described({ rules, request, body }: Call, answer: Answer): Answer {
  if (answer.commit === undefined) return answer;
  const statement = statementOf(request.operation.name, { body, query: request.query });
  const { names } = rules;
  if (names.length === 0 && statement === null) return answer;
  const judged = names.length === 0 ? answer.commit.rules : names;
  return { ...answer, commit: { ...answer.commit, rules: judged, statement } };
}

/** A request whose body need not wait for its attempt, with what its commit waits for instead. */
function readAhead(request: CatalogRequest, permit: Permit): Told {
  const { ahead } = request;
  if (ahead === undefined) return { request, permit };
  return {
    request: { ...request, body: ahead.bytes },
    permit,
    recorded: () => ahead.recorded(),
  };
}

/** What no caller has to understand is put in words that one can. */
async function refuse(error: unknown, request: CatalogRequest): Promise<never> {
  throw told(error, request);
}

/** What a caller is told of a failure that is nobody's bad input. */
function told(error: unknown, { object }: CatalogRequest): unknown {
  if (error instanceof LinkedPath) return linkedFile(error, object);
  if (isAway(error)) return storeAway();
  return isFullDisk(error) ? fullDisk() : error;
}

/** Folders in a table's folder, with which a path in it begins. */
const IN_TABLE = /\/((?:data|deletions|indices|versions|tree|_[a-z]+)\/.*)$/;

/** Says which file of a table is not read because a symbolic link leads to it. */
function linkedFile({ path }: LinkedPath, object: ObjectPath): CatalogError {
  const file = IN_TABLE.exec(path)?.[1] ?? basename(path);
  return new CatalogError(
    'Internal',
    `table ${canonicalPath(object)}: ${file} is a symbolic link or lies behind one, and is not read: put the file itself there`,
  );
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
