// Checksums of files: the first scan of a table after a start, with them and without.
import { Service } from '../test/support/service.ts';
import { sendGranted } from '../test/service/http.ts';
import { WIDE_ROW_BYTES, wideStream } from '../test/service/wide-rows.ts';
import { readOptions } from './harness/options.ts';
import { measureRounds, timed, type Side } from './harness/rounds.ts';
import { printResult } from './harness/table.ts';

/** Loaded before the program: takes the checks away, as no configuration can. */
const WITHOUT = new URL('checks/without-checks.mjs', import.meta.url).href;
const MIB = 2 ** 20;
const BATCHES = 6;
/** Less than a table, so that none stays in memory. */
const CACHE_MIB = 8;
/** Scans of another table before the measured ones, for code that is compiled while it runs. */
const WARMUPS = 4;

const options = readOptions();
/** The first table is for warming up. */
const tables = options.quick ? 3 : 9;
const batchMib = options.quick ? 4 : 16;

const services = [await started([]), await started(['--import', WITHOUT])];
const names = ['with checksums', 'without'];
const sides = services.map((service, at): Side => ({ name: names[at]!, ...scansOf(service) }));
const samples = await measureRounds(sides, options.rounds);
const work = `first scan of ${BATCHES * batchMib} MiB`;
printResult('checks', notes(), [{ work, unit: 'ms', samples, target: '≤ 1.05' }]);
for (const service of services) await service.stop();

/** A service with tables of the same size. */
async function started(nodeFlags: readonly string[]): Promise<Service> {
  const config = `cache: { bytes: ${CACHE_MIB}MiB }\n`;
  const service = await Service.start({ config, nodeFlags });
  const rowsPerBatch = Math.ceil((batchMib * MIB) / WIDE_ROW_BYTES);
  for (let at = 0; at < tables; at++) {
    const body = wideStream({ batches: BATCHES, rowsPerBatch });
    await sendGranted(service.url, `POST /v1/table/t${at}/create`, { body });
  }
  return service;
}

function scansOf(service: Service): Omit<Side, 'name'> {
  const scan = (at: number) =>
    sendGranted(service.url, `POST /v1/table/t${at}/query`, { body: { k: 1e9, vector: [] } });
  return {
    measure: async () => {
      await service.end();
      await service.restart();
      for (let time = 0; time < WARMUPS; time++) await scan(0);
      const total = await timed(async () => {
        for (let at = 1; at < tables; at++) await scan(at);
      });
      return total / (tables - 1);
    },
  };
}

function notes(): readonly string[] {
  return [
    `${tables - 1} tables, each scanned once after a start of the service, by one client that reads all rows; the mean of`,
    'a round. The files are in the memory of the system, so that no disk hides the checks.',
  ];
}
