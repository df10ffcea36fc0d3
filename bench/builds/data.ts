import { ADMIN_KEY } from '../../test/support/service.ts';
import { changeQuestions } from '../data/changes.ts';
import { OneThreadSide } from '../data/one-thread-side.ts';
import { RawSide } from '../data/raw-side.ts';
import { readQuestions } from '../data/reads.ts';
import { rowsFrom } from '../data/rows.ts';
import { writeQuestions } from '../data/writes.ts';
import type { Build, OpenArea } from './area.ts';

const TABLE = 'rows';

/** The questions of `data`, of a smaller table. */
export async function openData(build: Build, quick: boolean): Promise<OpenArea> {
  const rows = rowsFrom(0, quick ? 20_000 : 100_000);
  const service = await build.start();
  const side = new RawSide(service.url, ADMIN_KEY);
  const oneThread = new OneThreadSide(service.url, ADMIN_KEY);
  await side.create(TABLE, rows);
  const questions = [
    ...writeQuestions(rows),
    ...changeQuestions(rows),
    ...readQuestions(TABLE, rows),
  ];
  return {
    measurements: questions.map((question) => ({
      work: question.work,
      unit: 'ms',
      warmups: question.warmups ?? 2,
      measure: () => question.measure(question.oneThread === true ? oneThread : side),
    })),
    close: async () => {
      side.close();
      oneThread.close();
      await service.stop();
    },
  };
}
