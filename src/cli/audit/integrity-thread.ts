import { parentPort, workerData } from 'node:worker_threads';
import type { Config } from '../config/config-table.ts';
import type { Run } from '../output/output.ts';
import { writeEvidence } from './audit-evidence.ts';
import { verificationJson, verifiedLog } from './audit-verify.ts';

/* Verifies the log, or writes evidence, for the console: as the commands do. */

/** Work of the thread. */
type IntegrityTask =
  | { readonly kind: 'verify'; readonly config: Config }
  | {
      readonly kind: 'evidence';
      readonly config: Config;
      /** Folder to make. */
      readonly folder: string;
      readonly since?: string | undefined;
      readonly until?: string | undefined;
    };

/** What the thread says. */
type IntegrityMessage =
  | { readonly kind: 'progress'; readonly text: string }
  | { readonly kind: 'done'; readonly result: string };

const say = (message: IntegrityMessage): void => parentPort?.postMessage(message, []);

/** The output of a command whose progress is watched. */
function watchedRun(): Run {
  const note = (text: string): void => say({ kind: 'progress', text });
  const bytes = async (): Promise<boolean> => true;
  return { code: 0, output: { line: () => undefined, bytes, note, watched: true } };
}

async function resultOf(task: IntegrityTask): Promise<string> {
  if (task.kind === 'verify') {
    return verificationJson(await verifiedLog(task.config, {}, watchedRun()));
  }
  const { config, folder, since, until } = task;
  const period = {
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
  await writeEvidence(config, folder, period, watchedRun());
  return '';
}

say({ kind: 'done', result: await resultOf(workerData as IntegrityTask) });
