import { ADMIN_KEY } from '../../test/support/service.ts';
import { changeQuestions } from '../data/changes.ts';
import type { DataQuestion } from '../data/question.ts';
import { readQuestions } from '../data/reads.ts';
import { rowsFrom } from '../data/rows.ts';
import type { TableSide } from '../data/table-side.ts';
import { appendQuestions } from '../data/writes.ts';
import { LanceTableSide } from '../lance/lance-table-side.ts';
import { processorTime } from '../harness/processor-time.ts';
import { MeteredSide } from '../lance/metered-side.ts';
import type { Build, Measurement, OpenArea } from './area.ts';

const TABLE = 'rows';

/** The questions of `lance`: wall time, then processor time of gateway and library process. */
export async function openLanceTables(build: Build, quick: boolean): Promise<OpenArea> {
  const rows = rowsFrom(0, quick ? 40_000 : 200_000);
  const service = await build.start();
  const side = await LanceTableSide.connect(service.url, ADMIN_KEY);
  const metered = new MeteredSide(side, () => processorTime(service.pid), false);
  await side.create(TABLE, rows);
  const questions = [
    ...appendQuestions(rows),
    ...changeQuestions(rows),
    ...readQuestions(TABLE, rows),
  ];
  return {
    measurements: questions.flatMap((question) => measurementsOf(question, side, metered)),
    close: async () => {
      side.close();
      await service.stop();
    },
  };
}

function measurementsOf(
  question: DataQuestion,
  side: TableSide,
  metered: MeteredSide,
): readonly Measurement[] {
  const { work, warmups = 2 } = question;
  const wall: Measurement = { work, unit: 'ms', warmups, measure: () => question.measure(side) };
  const processor: Measurement = {
    work: `${work}, processor time`,
    unit: 'ms',
    measure: async () => {
      await question.measure(metered);
      return metered.perCall();
    },
  };
  return [wall, processor];
}
