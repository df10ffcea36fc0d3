import { basename } from 'node:path';
import type { Answer, Backend, CatalogRequest } from '../../../protocol/backend.ts';
import type { CommitSummary } from '../../../protocol/commit-summary.ts';
import { damageOf, DamagedFile } from '../../../arrow/sealed/file-seal.ts';
import { CatalogError } from '../../../protocol/errors.ts';
import { canonicalPath, type ObjectPath } from '../../../protocol/identifier.ts';
import { LONG_JSON } from '../../../protocol/json-parser.ts';
import type { OperationName } from '../../../protocol/operations/operation-name.ts';
import type { Permit } from '../../../protocol/permit.ts';
import type { Restrictions } from '../../../protocol/restrictions.ts';
import { RuleRefusal } from '../../../rules/commit-rule.ts';
import { isStoreDamage, StoreError } from '../../../store/store-error.ts';
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
import { isFullDisk, isMissing, isOutage } from '../../../storage/storage-error.ts';
import type { Basis, Call, Handler, HandlerTable } from './handler.ts';
import { questionOf, type KnownAnswers } from './known-answers.ts';
import type { FormulaThreads } from '../../base/statement.ts';
import { placeSummary } from '../../once/commit-summary.ts';
import { digestOf } from '../../once/request-digest.ts';
import { unrepeatable } from '../../once/once.ts';
import type { Adoption } from '../../versions/managed/adoption.ts';
import type { Repeats } from './repeats.ts';
import { noteCanaries } from './named-canaries.ts';
import { namedBranch } from './parameters.ts';
import { requiredRestrictions } from './restricted-calls.ts';
import { statementText } from './statement.ts';
import { CommitJudge, judging, noRules, type Judging } from '../../rules/commit-judge.ts';
import { MAIN } from '../../format/chain.ts';
import { BodyMeter, RequestMemory } from '../../format/memory/request-memory.ts';
import type { MaybePromise } from '../../../protocol/maybe-promise.ts';
import { andThen } from '../../../protocol/maybe-promise.ts';
import { isAvailable } from '../../../protocol/maybe-promise.ts';

interface EmbeddedBackendOptions {
  /** The operations that are built. */
  readonly handlers: HandlerTable;
  /** Worker threads for long expressions; if absent, this thread evaluates all. */
  readonly threads?: FormulaThreads;
  /** Recognises repeated requests; if absent, none is recognised. */
  readonly repeats?: Repeats;
  /** Cached answers; if absent, nothing is cached. */
  readonly known?: KnownAnswers;
  /** Dependencies of commit rules; if absent, there are no rules. */
  readonly judging?: Judging;
  /** Adopts versions that were written without the catalog; if absent, none is adopted. */
  readonly adoption?: Adoption;
  /** The largest JSON body, in bytes. */
  readonly jsonBody: number;
  /** Shared memory limit of request bodies; unlimited if absent. */
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

  /** The same, synchronously if possible. */
  answer(request: CatalogRequest, permit: Permit): MaybePromise<Answer> {
    try {
      const answer = this.#begin(request, permit);
      return isAvailable(answer)
        ? answer
        : answer.catch((error: unknown) => refuse(error, request));
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

  #begin(received: CatalogRequest, permit: Permit): MaybePromise<Answer> {
    const restrictions = requiredRestrictions({ request: received, permit });
    const pending = pendingCall(received, permit, restrictions);
    const { request } = pending;
    if (request.operation.body === 'arrow') {
      requireArrowType(request);
      return this.#made({ ...pending, body: {} });
    }
    const { jsonBody } = this.#options;
    if (sendsSchema(request)) return this.#answeredSchema(pending);
    const text = textAtHand(request, jsonBody);
    return text === undefined
      ? this.#answeredLate(pending, new BodyMeter(this.#memory, request.budget))
      : this.#answered(pending, text);
  }

  /** The answer to a request that sends the schema of an Arrow stream in place of JSON. */
  async #answeredSchema(pending: PendingCall): Promise<Answer> {
    const limits = { maxArrowBytes: this.#options.jsonBody, memory: this.#memory };
    return this.#answered(pending, await schemaBody(pending.request, limits));
  }

  /** The answer to a request whose body is still to come. */
  async #answeredLate(pending: PendingCall, meter: BodyMeter): Promise<Answer> {
    try {
      const text = await readText(pending.request.body, this.#options.jsonBody, meter);
      return await this.#answered(pending, text);
    } finally {
      meter.close();
    }
  }

  #answered(pending: PendingCall, text: string): MaybePromise<Answer> {
    const { known } = this.#options;
    const question = known && questionOf(pending.request, text, pending.restrictions);
    if (known === undefined || question === undefined) return this.#read(pending, text);
    return andThen(
      known.find(question, pending.request),
      (found) => replayCached(pending, found) ?? this.#cachedAnswer(known, pending, text, question),
    );
  }

  async #cachedAnswer(
    known: KnownAnswers,
    pending: PendingCall,
    text: string,
    question: string,
  ): Promise<Answer> {
    let basis: Basis | undefined;
    const reportBasis = (given: Basis) => {
      basis = given;
    };
    const answer = await this.#read({ ...pending, reportBasis }, text);
    if (basis !== undefined) known.keep(question, answer, basis);
    return answer;
  }

  async #read(pending: PendingCall, text: string): Promise<Answer> {
    const { request, permit, restrictions } = pending;
    const reading = bodyOf(request, text);
    const sent = isAvailable(reading) ? reading : await reading;
    const namesCanary = restrictions !== null && noteCanaries(request, restrictions, sent);
    this.#requireBuilt(request.operation.name);
    const isLong = text.length > LONG_JSON;
    const body = isLong ? await checkedLongBody(request, sent) : checkedBody(request, sent);
    const { recorded } = pending;
    // A canary is noted each time.
    const reportBasis = namesCanary ? undefined : pending.reportBasis;
    const bodyDigest = isLong ? digestOf(text) : undefined;
    const merged = withBodyContext(request, body);
    const call = { request: merged, permit, body, bodyDigest, recorded, reportBasis };
    if (!isBranchOfBody(request)) return this.#made(call);
    const branch = namedBranch(call);
    requireBranch(request, permit, branch);
    const answer = await this.#made(call);
    return branch === null ? answer : { branch, ...answer };
  }

  async #made({
    request,
    permit,
    body,
    bodyDigest,
    recorded,
    reportBasis,
  }: ParsedCall): Promise<Answer> {
    const { repeats, threads, adoption } = this.#options;
    const handler = this.#requireBuilt(request.operation.name);
    const rules = new CommitJudge(this.#judging, request, permit);
    const call = {
      request,
      permit,
      body,
      bodyDigest,
      recorded,
      reportBasis,
      rules,
      threads,
      adoption,
      once: unrepeatable,
    };
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
type ParsedCall = Omit<Call, 'once' | 'rules' | 'threads' | 'adoption'>;

/** A request before its body is read. */
interface PendingCall extends Omit<ParsedCall, 'body'> {
  /** Those that bind the caller on the object; null for none. */
  readonly restrictions: Restrictions | null;
}

/** A cached answer, after the check that the caller may have it. */
function replayCached(
  { request, permit }: PendingCall,
  answer: Answer | undefined,
): Answer | undefined {
  if (answer !== undefined && isBranchOfBody(request)) {
    requireBranch(request, permit, answer.branch ?? null);
  }
  return answer;
}

/** Requires the right on a branch that only the body names: the check of the route assumed `main`. */
function requireBranch(
  { operation: { name }, object }: CatalogRequest,
  permit: Permit,
  branch: string | null,
): void {
  if (branch !== null || !permit.holds(name, object, MAIN)) {
    permit.require(name, object, branch ?? MAIN);
  }
}

/** Summary of a request whose commit a rule refused: nothing was changed. */
function refusedSummary({ rules, request, body }: Call): CommitSummary {
  const statement = statementText(request.operation.name, { body, query: request.query });
  return { ...placeSummary('refused'), rules: rules.names, statement };
}

/** The answer with the names of the rules that judged its commit, and with the statement of the request. */
function described({ rules, request, body }: Call, answer: Answer): Answer {
  if (answer.commit === undefined) return answer;
  const statement = statementText(request.operation.name, { body, query: request.query });
  const { names } = rules;
  if (names.length === 0 && statement === null) return answer;
  const judged = names.length === 0 ? answer.commit.rules : names;
  return { ...answer, commit: { ...answer.commit, rules: judged, statement } };
}

/** A request whose body is complete; its commit waits for the record of the attempt instead. */
function pendingCall(
  request: CatalogRequest,
  permit: Permit,
  restrictions: Restrictions | null,
): PendingCall {
  const { ahead } = request;
  if (ahead === undefined) return { request, permit, restrictions };
  const passed = { ...request, body: ahead.bytes };
  return { request: passed, permit, restrictions, recorded: () => ahead.recorded() };
}

/** Rejects with an error that a client can understand. */
async function refuse(error: unknown, request: CatalogRequest): Promise<never> {
  throw clientError(error, request);
}

/** The error that the client gets for a failure of the service. */
function clientError(error: unknown, { object }: CatalogRequest): unknown {
  if (error instanceof LinkedPath) return linkedFile(error, object);
  if (error instanceof DamagedFile) return damagedFile(error, object);
  if (isMissing(error)) return missingFile(error, object) ?? error;
  if (isStoreDamage(error)) return damagedStore();
  if (isStoreFailure(error)) return storeUnavailable(error);
  if (isOutage(error)) return new CatalogError('ServiceUnavailable', error.message);
  return isFullDisk(error) ? fullDisk() : error;
}

/** The refusal of a disk that is full or takes no writes: temporary, and not the fault of the caller. */
function fullDisk(): CatalogError {
  return new CatalogError('ServiceUnavailable', 'the disk of the catalog takes no more writes');
}

/** A path inside a table, from one of the table's folders on. */
const IN_TABLE = /\/((?:data|deletions|indices|fragments|versions|tree|_[a-z]+)\/.*)$/;

/** Says which file of a table is not read because a symbolic link leads to it. */
function linkedFile({ path }: LinkedPath, object: ObjectPath): CatalogError {
  const file = IN_TABLE.exec(path)?.[1] ?? basename(path);
  return new CatalogError(
    'Internal',
    `table ${canonicalPath(object)}: ${file} is a symbolic link or lies behind one, and is not read: put the file itself there`,
  );
}

/** Says which file of a table is damaged. */
function damagedFile({ path, part }: DamagedFile, object: ObjectPath): CatalogError {
  const file = IN_TABLE.exec(path)?.[1] ?? basename(path);
  return new CatalogError(
    'Internal',
    `table ${canonicalPath(object)}: ${damageOf(part, file)}: restore the file from a backup`,
  );
}

/** Says which file of a table is missing; undefined if the error is about another file. */
function missingFile(error: unknown, object: ObjectPath): CatalogError | undefined {
  const path = error instanceof Error && 'path' in error ? String(error.path) : '';
  const file = IN_TABLE.exec(path)?.[1];
  if (file === undefined) return undefined;
  return new CatalogError(
    'Internal',
    `table ${canonicalPath(object)}: ${file} is missing: restore the file from a backup`,
  );
}

function isStoreFailure(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind !== 'key';
}

/** The sentence names no key: the caller may not know of the object that it belongs to. */
function damagedStore(): CatalogError {
  return new CatalogError(
    'Internal',
    'a record of the catalog is damaged: the log of the service names it, and catalog verify finds all of them',
  );
}

function storeUnavailable({ kind, message }: StoreError): CatalogError {
  const sentence = kind === 'busy' ? message : 'the store of the catalog does not answer';
  return new CatalogError('ServiceUnavailable', sentence);
}

/** Whether only the body names the branch, so that the check of the route did not see it. */
function isBranchOfBody({ operation, query }: CatalogRequest): boolean {
  return operation.object === 'table' && operation.query.includes('branch') && !query.has('branch');
}
