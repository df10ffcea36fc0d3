import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../protocol/backend.ts';
import { CatalogError, TryAgain } from '../protocol/errors.ts';
import type { Recorded } from '../gateway/decision/steps.ts';
import { callerAct } from './caller-act.ts';
import type { KeyAccess } from './keys.ts';
import { filterTextOf } from './trail/filter-text.ts';

/** Long work on the whole log, which ends with its signal. */
export interface IntegrityWork {
  /** Verifies every chain. @returns The result of `audit verify`, as JSON */
  verify(signal: AbortSignal, progress: (text: string) => void): Promise<string>;
  /** The folder of `audit evidence`, as pieces of a compressed archive. */
  evidence(signal: AbortSignal, period: EvidencePeriod): AsyncIterable<Uint8Array>;
}

/** Arrivals of the requests, RFC 3339; absent for the whole log. */
interface EvidencePeriod {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

interface IntegrityCall {
  readonly integrity: IntegrityWork;
  readonly keys: Pick<KeyAccess, 'act'>;
  readonly recorded: Recorded;
  readonly query: URLSearchParams;
  readonly isAllowed: () => Promise<boolean>;
}

/** Interval of the lines of progress, in ms. */
const PROGRESS_MILLIS = 500;
/** Maximum duration of a verification and of evidence, in ms. */
export const INTEGRITY_MILLIS = 600_000;

let isBusy = false;

/** Refuses a second verification or evidence at a time. @throws TryAgain */
function begin(): void {
  if (isBusy) {
    throw new TryAgain('a verification or evidence is being made: try again when it is done', '10');
  }
  isBusy = true;
}

/** Verifies the log. The answer is a JSON object a line: `progress`, and at the end `result` or `error`. */
export function verified(call: IntegrityCall): Answer {
  begin();
  return {
    status: 200,
    contentType: 'application/x-ndjson',
    headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    body: progressLines(call),
  };
}

async function* progressLines(call: IntegrityCall): AsyncGenerator<Uint8Array> {
  const ending = new AbortController();
  const timeout = AbortSignal.timeout(INTEGRITY_MILLIS);
  const signal = AbortSignal.any([ending.signal, call.recorded.signal(), timeout]);
  let [doing, shown]: (string | undefined)[] = [];
  const work = verification(call, signal, (text) => (doing = text));
  const state = { isOver: false };
  const end = (): void => {
    state.isOver = true;
  };
  const over = work.then(end, end);
  try {
    // The head is sent with the first bytes.
    yield lineOf({ progress: 'reading the checkpoints' });
    while (!state.isOver) {
      await Promise.race([over, sleep(PROGRESS_MILLIS)]);
      if (!state.isOver && !(await call.isAllowed())) return;
      if (state.isOver || doing === shown) continue;
      shown = doing;
      yield lineOf({ progress: doing });
    }
    yield lineOf({ result: JSON.parse(await work) as unknown });
  } catch (error) {
    const why = timeout.aborted ? 'it took longer than ten minutes' : messageOf(error);
    yield lineOf({ error: `the verification was broken off: ${why}` });
  } finally {
    ending.abort();
    await over;
    isBusy = false;
  }
}

/** The verification between the records of its attempt and its outcome. */
function verification(
  { integrity, keys, recorded }: IntegrityCall,
  signal: AbortSignal,
  progress: (text: string) => void,
): Promise<string> {
  return keys.act(callerAct(recorded, 'AuditVerify', {}), async () => {
    const result = await integrity.verify(signal, progress);
    const { instances, records, unsigned, to, findings } = JSON.parse(result) as VerifiedCounts;
    const details = {
      instances: String(instances),
      records: String(records),
      unsigned: String(unsigned),
      findings: String(findings.length),
      ...(to === null ? {} : { to }),
    };
    return { result, details };
  });
}

interface VerifiedCounts {
  readonly instances: number;
  readonly records: number;
  readonly unsigned: number;
  readonly to: string | null;
  readonly findings: readonly unknown[];
}

/** An archive of evidence. @throws TryAgain; CatalogError InvalidInput for a period that can mean nothing */
export async function evidence(call: IntegrityCall): Promise<Answer> {
  const { since, until, ...others } = filterTextOf(call.query, Date.now());
  if (Object.keys(others).length > 0) {
    throw new CatalogError('InvalidInput', 'evidence is of a period: it has since and until alone');
  }
  begin();
  const pieces = archive(call, { since, until });
  try {
    // What fails before the first piece is an answer of its own.
    const first = await pieces.next();
    return {
      status: 200,
      contentType: 'application/gzip',
      headers: {
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-disposition': `attachment; filename="evidence-${new Date().toISOString().slice(0, 10)}.tar.gz"`,
      },
      body: after(first, pieces),
    };
  } catch (error) {
    if (error instanceof CatalogError) throw error;
    throw new CatalogError('Internal', `the evidence cannot be made: ${messageOf(error)}`);
  }
}

async function* archive(
  { integrity, recorded }: IntegrityCall,
  period: EvidencePeriod,
): AsyncGenerator<Uint8Array> {
  const ending = new AbortController();
  const timeout = AbortSignal.timeout(INTEGRITY_MILLIS);
  const signal = AbortSignal.any([ending.signal, recorded.signal(), timeout]);
  try {
    yield* integrity.evidence(signal, period);
  } finally {
    ending.abort();
    isBusy = false;
  }
}

async function* after(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    if (first.done !== true) yield first.value;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

function lineOf(line: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(line)}\n`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
