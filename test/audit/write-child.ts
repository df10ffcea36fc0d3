import { openAuditLog } from '../../src/audit/writer.ts';
import { record } from './records.ts';

/**
 * Writes durable records, several at a time, until it is killed. Prints the
 * request id of each after it is acknowledged, and `! <why>` when one is
 * refused, which ends it. Arguments: folder, prefix of the ids.
 */
const [folder = '', name = ''] = process.argv.slice(2);
const log = await openAuditLog({ folder, rotateBytes: 20_000 });
try {
  for (let round = 0; ; round++) {
    await log.write(record(`${name}/${round}/lazy`, { phase: 'outcome' }), false);
    await Promise.all([0, 1, 2].map((lane) => writeOne(`${name}/${round}/${lane}`)));
  }
} catch {
  process.stdout.write(`! ${log.healthy()}\n`);
  process.exit(0);
}

async function writeOne(id: string): Promise<void> {
  await log.write(record(id), true);
  process.stdout.write(`${id}\n`);
}
