import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ADMIN_KEY, Service, type ServiceOptions } from '../../test/support/service.ts';
import { RawSide } from '../data/raw-side.ts';
import { fetchMemory, timed } from '../harness/rounds.ts';

/** Loaded before the program: tells what it spends on collections. */
const PRELOADED = new URL('collections.mjs', import.meta.url).href;
const NANOS_PER_MILLI = 1e6;
const POLL_MILLIS = 5;

/** What a process says of itself: milliseconds of collections since its start, and bytes. */
interface Told {
  readonly major: number;
  readonly minor: number;
  readonly other: number;
  readonly rss: number;
}

/** What work took: milliseconds, of the main thread for collections, and bytes that are resident after it. */
export interface Cost {
  readonly wall: number;
  readonly processor: number;
  readonly collections: number;
  readonly resident: number;
}

/** A process of the built program that is measured from outside. */
export class Subject {
  readonly service: Service;
  side: RawSide;
  /** How often it was asked since its folder was made. */
  #asked = 0;

  private constructor(service: Service, name: string) {
    this.service = service;
    this.side = new RawSide(service.url, ADMIN_KEY, name);
  }

  static async start(name: string, options: ServiceOptions = {}): Promise<Subject> {
    const service = await Service.start({
      ...options,
      // The mixed work has wrong keys among its requests, and other work on the machine must not end it.
      config: 'limits: { failed_identifications: null }\ncoordination: { wait: 60s }\n',
      nodeFlags: ['--import', PRELOADED],
      variables: { ARROWGATE_WARM_UP: 'true' },
    });
    return new Subject(service, name);
  }

  get name(): string {
    return this.side.name;
  }

  async restart(): Promise<void> {
    this.side.close();
    await this.service.end();
    await this.service.restart();
    this.side = new RawSide(this.service.url, ADMIN_KEY, this.name);
  }

  async costOf(work: () => Promise<unknown>): Promise<Cost> {
    fetchMemory();
    const [before, processorBefore] = [await this.#told(), await this.processorMillis()];
    const wall = await timed(work);
    const processor = (await this.processorMillis()) - processorBefore;
    const after = await this.#told();
    const collections = collectionsOf(after) - collectionsOf(before);
    return { wall, processor, collections, resident: after.rss };
  }

  /** Processor time of all threads that run. */
  async processorMillis(): Promise<number> {
    const tasks = `/proc/${this.service.pid}/task`;
    const times = (await readdir(tasks)).map((task) =>
      readFile(join(tasks, task, 'schedstat'), 'utf8').then(
        (text) => Number(text.split(' ')[0]) / NANOS_PER_MILLI,
        () => 0,
      ),
    );
    return (await Promise.all(times)).reduce((sum, millis) => sum + millis, 0);
  }

  async stop(): Promise<void> {
    this.side.close();
    await this.service.stop();
  }

  /** Asks by a signal; the answer is the next line of a file. */
  async #told(): Promise<Told> {
    process.kill(this.service.pid, 'SIGUSR2');
    const at = this.#asked++;
    for (;;) {
      const text = await readFile(join(this.service.folder, 'collections.jsonl'), 'utf8').catch(
        () => '',
      );
      const lines = text.split('\n');
      if (lines.length > at + 1) return JSON.parse(lines[at] ?? '') as Told;
      await sleep(POLL_MILLIS);
    }
  }
}

function collectionsOf({ major, minor, other }: Told): number {
  return major + minor + other;
}
