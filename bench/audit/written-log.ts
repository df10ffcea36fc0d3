import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type * as Background from '../../src/audit/segments/background-sealing.ts';
import type { AuditRecord } from '../../src/audit/record/record.ts';
import type * as Sealing from '../../src/audit/segments/sealing.ts';
import type * as Keys from '../../src/audit/signing/keys.ts';
import type * as Time from '../../src/audit/record/time.ts';
import type * as Writer from '../../src/audit/writer.ts';
import { DATA_FORMAT, formatPath } from '../../src/engine/catalog/journal/data-format.ts';
import { built } from '../harness/built.ts';

export const DAYS = 10;
const SUBJECTS = 100;
const TABLES = 500;
const FIRST_MICROS = 1_750_000_000_000_000n;
const ROTATE_BYTES = 64 * 2 ** 20;
const OPERATIONS = ['DescribeTable', 'QueryTable', 'InsertIntoTable', 'CountTableRows'];

/** A log of ten days of requests, and the same lines as one text file. */
export interface WrittenLog {
  /** The audit folder. */
  readonly folder: string;
  /** Every line of the log, as it was before it was sealed. */
  readonly text: string;
  readonly records: number;
  /** The beginning and the end of the day that is searched, as RFC 3339. */
  readonly day: readonly [string, string];
}

/** Writes the log of a data folder as a gateway does, and seals all of it but the last file. */
export async function writeLog(data: string, records: number): Promise<WrittenLog> {
  const { openAuditLog } = await built<typeof Writer>('audit/writer.js');
  const { readOrMakeSigningKey } = await built<typeof Keys>('audit/signing/keys.js');
  const { sealFinished } = await built<typeof Sealing>('audit/segments/sealing.js');
  const { SealingThread } = await built<typeof Background>('audit/segments/background-sealing.js');
  const { timeOf } = await built<typeof Time>('audit/record/time.js');
  await mkdir(data, { recursive: true });
  await writeFile(formatPath(data), `${DATA_FORMAT}\n`);
  const folder = join(data, 'private', 'audit');
  const log = await openAuditLog({ folder, rotateBytes: ROTATE_BYTES });
  const step = (BigInt(DAYS) * 86_400_000_000n) / BigInt(records);
  for (let at = 0; at < records; at += 2) {
    const micros = FIRST_MICROS + step * BigInt(at);
    const attempt = attemptOf(at / 2, timeOf(micros));
    await log.write(attempt, false);
    await log.write(outcomeOf(attempt, timeOf(micros + 1500n)), false);
  }
  await log.close();
  const text = join(data, 'log.txt');
  await copyLines(join(folder, log.instance), text);
  const thread = new SealingThread();
  await sealFinished({
    folder,
    own: log.instance,
    key: await readOrMakeSigningKey(join(data, 'private', 'audit-signing-key.pem')),
    staleMillis: 1e12,
    retainMillis: 1e15,
    write: thread.write,
  });
  await thread.end();
  const [from, to] = [4n, 5n].map((day) => timeOf(FIRST_MICROS + day * 86_400_000_000n));
  return { folder, text, records, day: [from!, to!] };
}

function attemptOf(number: number, time: string): AuditRecord {
  const id = randomUUID();
  const subject = `user:u${(number * 7919) % SUBJECTS}`;
  return {
    phase: 'attempt',
    time,
    request_id: id,
    decision_id: randomUUID(),
    principal: { subject, groups: ['group:data'], roles: ['role:reader'] },
    subject,
    credential: `k${number % SUBJECTS}aaaaaaaa`,
    source_ip: `10.0.${number % 4}.${number % 250}`,
    user_agent: 'LanceDB-Node-Client/0.31.0',
    operation: OPERATIONS[number % OPERATIONS.length]!,
    object: `/prod/t${(number * 31) % TABLES}`,
    mode: null,
    branch: null,
    backend: 'embedded',
    decision: 'allow',
    rule: `policy.csv:${(number % 40) + 1}`,
    policy_digest: 'b'.repeat(64),
    context: {},
  };
}

function outcomeOf(attempt: AuditRecord, time: string): AuditRecord {
  return {
    ...attempt,
    phase: 'outcome',
    time,
    duration_us: 1500n,
    status: 200,
    bytes_in: 2n,
    bytes_out: 640n,
  };
}

async function copyLines(folder: string, to: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
  for (const name of names.sort()) {
    await writeFile(to, await readFile(join(folder, name)), { flag: 'a' });
  }
}
