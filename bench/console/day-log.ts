// Writes the log of a day into a data folder: npx tsx bench/console/day-log.ts DATA RECORDS
import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type * as Background from '../../src/audit/segments/background-sealing.ts';
import type { AuditRecord } from '../../src/audit/record/record.ts';
import type * as Sealing from '../../src/audit/segments/sealing.ts';
import type * as Keys from '../../src/audit/signing/keys.ts';
import type * as Time from '../../src/audit/record/time.ts';
import type * as Writer from '../../src/audit/writer.ts';
import { built } from '../harness/built.ts';

/** Period of the log, in microseconds: it ends when the writing begins. */
const DAY_MICROS = 20n * 3_600_000_000n;
const SUBJECTS = 400;
const TABLES = 5_000;
const ROTATE_BYTES = 64 * 2 ** 20;
const OPERATIONS = [
  'DescribeTable',
  'QueryTable',
  'InsertIntoTable',
  'CountTableRows',
  'ListTables',
];
/** One request in this many is denied, and one is about the table that is searched. */
const RARE = { deny: 97, salaries: 25_003 };
/** The table of few requests, and a text that few records have. */
export const SALARIES = '/prod/hr/salaries';

async function writeDay(data: string, records: number): Promise<void> {
  const { openAuditLog } = await built<typeof Writer>('audit/writer.js');
  const { timeOf } = await built<typeof Time>('audit/record/time.js');
  const folder = join(data, 'private', 'audit');
  const end = Date.now();
  const first = BigInt(end) * 1000n - DAY_MICROS;
  const open = () => openAuditLog({ folder, rotateBytes: ROTATE_BYTES });
  const log = await begunAt(Number(first / 1000n), open);
  const step = (2n * DAY_MICROS) / BigInt(records);
  for (let at = 0; at < records / 2; at++) {
    const micros = first + step * BigInt(at);
    const attempt = attemptOf(at, timeOf(micros));
    await log.write(attempt, false);
    await log.write(outcomeOf(attempt, at, timeOf(micros + 1500n)), false);
  }
  await log.close();
  await dateLast(join(folder, log.instance), end);
  await seal(data, folder, log.instance);
}

/** Runs the beginning of something as if it were another time, in ms since 1970: an instance is named after its start. */
function begunAt<Result>(millis: number, begin: () => Result): Result {
  const own = Date;
  globalThis.Date = class extends own {
    constructor() {
      super(millis);
    }
  } as DateConstructor;
  try {
    return begin();
  } finally {
    globalThis.Date = own;
  }
}

/** Gives the last file the time of its last record, as that of a log that was written while it happened. */
async function dateLast(folder: string, millis: number): Promise<void> {
  const last = (await readdir(folder)).toSorted().at(-1)!;
  await utimes(join(folder, last), millis / 1000, millis / 1000);
}

/** Seals all files but the last, which a running gateway would still write. */
async function seal(data: string, folder: string, own: string): Promise<void> {
  const { sealFinished } = await built<typeof Sealing>('audit/segments/sealing.js');
  const { SealingThread } = await built<typeof Background>('audit/segments/background-sealing.js');
  const { readOrMakeSigningKey } = await built<typeof Keys>('audit/signing/keys.js');
  const thread = new SealingThread();
  const run = await sealFinished({
    folder,
    own,
    key: await readOrMakeSigningKey(join(data, 'private', 'audit-signing-key.pem')),
    staleMillis: 1e12,
    retainMillis: 1e15,
    write: thread.write,
  });
  await thread.end();
  if (run.failures.length + run.unfit.length > 0) throw new Error('not all files were sealed');
}

/** An id that depends on the number alone. */
function idOf(number: number, salt: number): string {
  const words = [1, 2, 3, 4].map((word) =>
    (Math.imul(number + salt, 0x9e3779b1 + 2 * word * salt) >>> 0).toString(16).padStart(8, '0'),
  );
  const digits = `${words.join('').slice(0, 24)}${number.toString(16).padStart(8, '0')}`;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5').slice(0, 36);
}

const principals = Array.from({ length: SUBJECTS }, (_, at) => ({
  subject: `user:u${at}`,
  groups: ['group:data', `group:team${at % 12}`],
  roles: ['role:reader'],
}));

function attemptOf(number: number, time: string): AuditRecord {
  const who = (number * 7919) % SUBJECTS;
  const principal = principals[who]!;
  const isRare = number % RARE.salaries === RARE.salaries - 1;
  const object = isRare ? SALARIES : `/prod/team${number % 40}/t${(number * 31) % TABLES}`;
  return {
    phase: 'attempt',
    time,
    request_id: idOf(number, 11),
    decision_id: idOf(number, 29),
    principal,
    subject: principal.subject,
    credential: `k${who}aaaaaaaa`,
    source_ip: `10.0.${number % 4}.${number % 250}`,
    user_agent: 'LanceDB-Node-Client/0.31.0',
    operation: isRare ? 'QueryTable' : OPERATIONS[number % OPERATIONS.length]!,
    object,
    mode: null,
    branch: null,
    backend: number % 9 === 0 ? 'warehouse' : 'embedded',
    decision: number % RARE.deny === 1 ? 'deny' : 'allow',
    rule: `policy.csv:${(number % 40) + 1}`,
    policy_digest: 'b'.repeat(64),
    context: number % 29 === 0 ? { 'x-trace': `t${number}`, team: 'a "b"' } : {},
  };
}

function outcomeOf(attempt: AuditRecord, number: number, time: string): AuditRecord {
  const isDenied = attempt.decision === 'deny';
  const isRead = !isDenied && attempt.operation === 'QueryTable';
  return {
    ...attempt,
    phase: 'outcome',
    time,
    duration_us: 1500n,
    status: isDenied ? 403 : 200,
    code: isDenied ? 15 : null,
    bytes_in: 2 + (number % 900),
    bytes_out: 640 + (number % 70_000),
    ...(isRead && {
      read: {
        columns: attempt.object === SALARIES ? ['salary', 'id'] : ['id', `c${number % 50}`],
        rows: 10n,
        version: 3n,
        filter: number % 7 === 0 ? `id > ${number}` : null,
      },
    }),
  };
}

const [data, count] = process.argv.slice(2);
if (process.argv[1]?.endsWith('day-log.ts') === true) {
  if (data === undefined || count === undefined) throw new Error('DATA and RECORDS are needed');
  await writeDay(data, Number(count));
}
