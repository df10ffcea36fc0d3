import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../service/random.ts';
import type { Mishap } from '../../support/faulty-proxy.ts';
import type { BucketGateway } from './bucket-gateway.ts';

/** A gateway that has not come to a step by then meets its trouble where it is, in ms. */
const PATIENCE_MILLIS = 1500;
/** Least and most duration of a partition, in ms. */
const SHORTEST_CUT = 300;
const LONGEST_CUT = 7000;
/** Requests that meet a fault, in percent. */
const FAULTY_PERCENT = 20;
/** Faults of one round. */
const FAULTS = 12;

type Step = (request: IncomingMessage) => boolean;

const on =
  (method: string, part: RegExp): Step =>
  (request) =>
    request.method === method && part.test(request.url ?? '');

/** Steps of a commit, by the requests to the bucket. */
const steps: Readonly<Record<string, Step>> = {
  'read the staged manifest': on('GET', /\/_versions\/[^/]*manifest-/),
  'put the manifest': (request) =>
    on('PUT', /\/_versions\//)(request) && request.headers['if-none-match'] !== undefined,
  'put rows': on('PUT', /\/data\//),
  'put the journal': on('PUT', /\/catalog\/journal-/),
  'remove the staged manifest': on('DELETE', /\/_versions\//),
  'any request': () => true,
};

/** What happens to single requests. */
const mishaps: readonly Mishap[] = [
  'late',
  'error',
  'busy',
  'reset',
  'cut',
  'lost',
  'lost',
  'unanswered',
];

/** What happens to all requests of a gateway that is cut off. */
const cuts: readonly Mishap[] = ['hung', 'reset', 'unanswered', 'error'];

/** What happened in a round. */
export interface Trouble {
  /** Such as `killed after "put the journal"`. */
  readonly text: string;
  readonly isKilled: boolean;
  /** Requests that met a fault. */
  readonly faults: number;
}

/** Makes one gateway meet a trouble while writers are at work. */
export type TroubleMaker = (gateway: BucketGateway, random: Random) => Promise<Trouble>;

/** Some requests to the bucket fail, each in its own way. */
const faulty: TroubleMaker = async ({ bucket }, random) => {
  let faults = 0;
  bucket.fate = () => {
    if (faults >= FAULTS || random(100) >= FAULTY_PERCENT) return undefined;
    faults += 1;
    return mishaps[random(mishaps.length)];
  };
  await within(4 * PATIENCE_MILLIS, () => faults === FAULTS);
  return { text: `${faults} faults of the bucket`, isKilled: false, faults };
};

const killed: TroubleMaker = async (gateway, random) => {
  // A request that is `unanswered` takes effect before the gateway can know of it.
  const mishap = random(2) === 0 ? 'unanswered' : 'hung';
  const when = mishap === 'hung' ? 'before' : 'after';
  const at = await reached(gateway, random, () => mishap);
  if (when === 'after') await sleep(random(50));
  await gateway.service.end('SIGKILL');
  return { text: `killed ${when} "${at}"`, isKilled: true, faults: 0 };
};

const cutFromBucket: TroubleMaker = async (gateway, random) => {
  const mishap = cuts[random(cuts.length)] ?? 'hung';
  const at = await reached(gateway, random, () => {
    gateway.cutFromBucket(mishap);
    return mishap;
  });
  gateway.cutFromBucket(mishap);
  await sleep(SHORTEST_CUT + random(LONGEST_CUT));
  return { text: `cut from the bucket (${mishap}) at "${at}"`, isKilled: false, faults: 1 };
};

const cutFromRedis: TroubleMaker = async (gateway, random) => {
  const at = await reached(gateway, random, () => {
    gateway.cutFromRedis();
    return undefined;
  });
  gateway.cutFromRedis();
  await sleep(SHORTEST_CUT + random(LONGEST_CUT));
  return { text: `cut from Redis at "${at}"`, isKilled: false, faults: 1 };
};

/** The troubles of the rounds, in turn. */
export const troubles: readonly TroubleMaker[] = [
  killed,
  faulty,
  killed,
  cutFromBucket,
  killed,
  faulty,
  killed,
  cutFromRedis,
];

/** Waits until a gateway comes to a step, whose name it gives. */
async function reached(
  gateway: BucketGateway,
  random: Random,
  then: () => Mishap | undefined,
): Promise<string> {
  const names = Object.keys(steps);
  const name = names[random(names.length)] ?? '';
  let isThere = false;
  gateway.atStep(steps[name] ?? (() => true), () => {
    isThere = true;
    return then();
  });
  await within(PATIENCE_MILLIS, () => isThere);
  return isThere ? name : 'any moment';
}

/** Waits until a condition holds, or a time is over. */
async function within(millis: number, holds: () => boolean): Promise<void> {
  for (const until = Date.now() + millis; !holds() && Date.now() < until; await sleep(5));
}
