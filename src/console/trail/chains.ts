import { logStorage } from '../../audit/chain/log-files.ts';
import { newestRequests } from '../../audit/search/newest.ts';
import { logPartsOf, type LogPart } from '../../audit/segments/log-part.ts';

/** Verifications and hits that are listed. */
const MOST = 10;
const WEEK_MICROS = 7n * 86_400_000_000n;

/** An instance of the log: one process, and its chain of records. */
interface Chain {
  readonly instance: string;
  /** Records in sealed segments; those after them are in files of lines. */
  sealed: bigint;
  segments: number;
  lines: number;
  bytes: number;
  /** Times of the first and last sealed record; null without any. */
  from: string | null;
  to: string | null;
}

/** The chains of a log, the newest first, and the newest verifications. */
export async function chainsOf(folder: string): Promise<object> {
  const chains = new Map<string, Chain>();
  for (const part of await logPartsOf(folder)) {
    const { instance } = part;
    const chain = chains.get(instance) ?? {
      instance,
      sealed: 0n,
      segments: 0,
      lines: 0,
      bytes: 0,
      from: null,
      to: null,
    };
    chains.set(instance, chain);
    add(chain, part);
  }
  const newest = [...chains.values()].reverse();
  return { chains: newest, verifications: await verificationsOf(folder) };
}

function add(chain: Chain, { file, seal }: LogPart): void {
  chain.bytes += logStorage.stat(file.path)?.bytes ?? 0;
  if (seal === undefined) {
    chain.lines += 1;
    return;
  }
  chain.segments += 1;
  chain.sealed = seal.after.count;
  chain.from ??= seal.from;
  chain.to = seal.to;
}

/** Verifications that came to an end, the newest first, with their findings. */
async function verificationsOf(folder: string): Promise<readonly object[]> {
  const filter = { operations: new Set(['AuditVerify']), decision: 'allow' } as const;
  const { requests } = await newestRequests(folder, filter, { limit: MOST });
  return requests
    .filter(({ record }) => record.phase === 'outcome')
    .map(({ record, began }) => {
      const { findings, records, to = null } = record.context;
      const counts = { findings: Number(findings), records: Number(records), to };
      return { began, subject: record.subject, decision_id: record.decision_id, ...counts };
    });
}

/** What a log says that needs attention: the newest verification, canaries that were hit, flagged requests. */
export async function attentionOf(folder: string, nowMillis: number): Promise<object> {
  const since = BigInt(nowMillis) * 1000n - WEEK_MICROS;
  const [verification = null] = await verificationsOf(folder);
  const hits = await newestRequests(folder, { since, canary: () => true }, { limit: MOST });
  const flagged = await newestRequests(folder, { review: 'flagged' }, { limit: MOST });
  const canaries = hits.requests.map(({ record, began }) => {
    const { subject, object, canary, decision_id } = record;
    return { began, subject, object, canary, decision_id };
  });
  return {
    verification,
    canaries,
    flagged: flagged.requests.length,
    more_flagged: flagged.more,
  };
}
