import { workerData } from 'node:worker_threads';
import type { DeskPlaces } from '../../console/policy/desk-task.ts';
import { serveDesk } from '../../console/policy/desk-program.ts';
import { readOutline } from '../../engine/upkeep/verification/catalog-outline.ts';
import { disk } from './data-folder.ts';

/** Program of the threads that work on policies for the console. */

const { data } = workerData as DeskPlaces;

serveDesk(() => readOutline(disk, data).catch(() => undefined));
