// Writes a large audit log as a gateway does that is killed at its end: npx tsx bench/audit/large-log.ts DATA RECORDS [sealed]
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Background from '../../src/audit/segments/background-sealing.ts';
import type { AuditRecord } from '../../src/audit/record/record.ts';
import type * as Sealing from '../../src/audit/segments/sealing.ts';
import type * as Keys from '../../src/audit/signing/keys.ts';
import type * as Places from '../../src/audit/checkpoints/places.ts';
import type * as Stores from '../../src/store/open/open-store.ts';
import type * as Time from '../../src/audit/record/time.ts';
import type * as Writer from '../../src/audit/writer.ts';
import { built } from '../harness/built.ts';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const POLICIES = fileURLToPath(new URL('../../policies', import.meta.url));
const FIRST_MICROS = 1_790_000_000_000_000;
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
/** One request in this many has an object list and rights, a context, or a commit. */
const STRUCTURED = { objects: 53, context: 29, commit: 37 };
/** One request in this many is denied, and one is never answered. */
const RARE = { deny: 997, open: 500_009 };

async function makeLog(folder: string, records: string, isSealed: boolean): Promise<void> {
  await makeDataFolder(folder);
  const self = fileURLToPath(import.meta.url);
  const flags = [...process.execArgv, self, folder, records, 'child'];
  spawnSync(process.execPath, flags, { stdio: 'inherit' });
  if (isSealed) await sealAll(folder);
}

/** A start of the gateway, which makes the folder, and its end. */
async function makeDataFolder(folder: string): Promise<void> {
  const flags = ['serve', '--data', folder, '--policies', POLICIES, '--port', '0'];
  const child = spawn(process.execPath, [MAIN, ...flags], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  await once(child, 'exit');
}

async function writeAndDie(folder: string, records: number): Promise<void> {
  const { openAuditLog } = await built<typeof Writer>('audit/writer.js');
  const { openNotes } = await built<typeof Stores>('store/open/open-store.js');
  const { notesPlace } = await built<typeof Places>('audit/checkpoints/places.js');
  const { timeOf } = await built<typeof Time>('audit/record/time.js');
  const inner = join(folder, 'private');
  const notes = await openNotes({ redis: null, catalog: 'default', folder: join(inner, 'store') });
  const log = await openAuditLog({
    folder: join(inner, 'audit'),
    processes: join(inner, 'audit-processes'),
    rotateBytes: ROTATE_BYTES,
    checkpoints: { key: await keyOf(folder), places: [notesPlace(notes)], failed: failedWith },
    start: { starts: join(inner, 'audit-starts'), store: 'embedded', anchor: '' },
  });
  let written: Promise<void> | undefined;
  for (let at = 0; at < records / 2; at++) {
    const attempt = attemptOf(at, timeOf(FIRST_MICROS + at * 133));
    await log.write(attempt, false);
    if (at % RARE.open === RARE.open - 1) continue;
    written = log.write(outcomeOf(attempt, at, timeOf(FIRST_MICROS + at * 133 + 1500)), false);
    // The timers of the log need turns.
    if (at % 512 === 0) await new Promise((resolve) => setImmediate(resolve));
    await written;
  }
  // The last records are on stable storage, and not all of them are signed.
  const last = attemptOf(records, timeOf(FIRST_MICROS + records * 133));
  await log.write(last, true);
  process.kill(process.pid, 'SIGKILL');
}

function failedWith(place: string, error: unknown): void {
  throw new Error(`no checkpoint in ${place}`, { cause: error });
}

async function sealAll(folder: string): Promise<void> {
  const { sealFinished } = await built<typeof Sealing>('audit/segments/sealing.js');
  const { SealingThread } = await built<typeof Background>('audit/segments/background-sealing.js');
  const thread = new SealingThread();
  const run = await sealFinished({
    folder: join(folder, 'private', 'audit'),
    own: '',
    key: await keyOf(folder),
    staleMillis: 1e12,
    retainMillis: 1e15,
    write: thread.write,
  });
  await thread.end();
  if (run.failures.length + run.unfit.length > 0) throw new Error('not all files were sealed');
}

async function keyOf(folder: string) {
  const { readOrMakeSigningKey } = await built<typeof Keys>('audit/signing/keys.js');
  return readOrMakeSigningKey(join(folder, 'private', 'audit-signing-key.pem'));
}

/** An id that depends on the number alone, so that logs of two builds are equal. */
function idOf(number: number, salt: number): string {
  const words = [1, 2, 3, 4].map((word) =>
    (Math.imul(number + salt, 0x9e3779b1 + 2 * word * salt) >>> 0).toString(16).padStart(8, '0'),
  );
  const digits = `${words.join('').slice(0, 24)}${number.toString(16).padStart(8, '0')}`;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-4$3-8$4-$5').slice(0, 36);
}

const principals = Array.from({ length: SUBJECTS }, (_, at) => ({
  subject: `user:u${at}`,
  groups: ['group:data', `group:team${at % 12}`],
  roles: ['role:reader'],
}));

function attemptOf(number: number, time: string): AuditRecord {
  const who = (number * 7919) % SUBJECTS;
  const principal = principals[who]!;
  const object = `/prod/team${number % 40}/t${(number * 31) % TABLES}`;
  const isDenied = number % RARE.deny === 1;
  const isBatch = number % STRUCTURED.objects === 0;
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
    operation: OPERATIONS[number % OPERATIONS.length]!,
    object,
    ...(isBatch && { objects: [object, `/prod/batch/t${number % 100}`] }),
    mode: null,
    branch: null,
    backend: 'embedded',
    decision: isDenied ? 'deny' : 'allow',
    rule: `policy.csv:${(number % 40) + 1}`,
    policy_digest: 'b'.repeat(64),
    ...(isBatch && { rights: [{ action: 'read', branch: null, objects: [object] }] }),
    context: number % STRUCTURED.context === 0 ? { 'x-trace': `ü${number}`, team: 'a "b"' } : {},
  };
}

function outcomeOf(attempt: AuditRecord, number: number, time: string): AuditRecord {
  const isDenied = attempt.decision === 'deny';
  return {
    ...attempt,
    phase: 'outcome',
    time,
    duration_us: 1500n,
    status: isDenied ? 403 : 200,
    code: isDenied ? 15 : null,
    bytes_in: 2 + (number % 900),
    bytes_out: 640 + (number % 70_000),
    ...(number % STRUCTURED.commit === 0 && {
      commit: {
        kind: 'append',
        baseVersion: BigInt(number),
        version: BigInt(number + 1),
        rowsAdded: 10n,
        rowsRemoved: 0n,
        schemaChanged: false,
        rules: [],
        table: idOf(number, 5),
        rowsChanged: 0n,
        columns: [],
        statement: null,
      },
    }),
  };
}

const [data, count, mode] = process.argv.slice(2);
if (data === undefined || count === undefined) throw new Error('DATA and RECORDS are needed');
if (mode === 'child') await writeAndDie(data, Number(count));
else await makeLog(data, count, mode === 'sealed');
