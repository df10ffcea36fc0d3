import { closeSync, openSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Issuer } from '../../src/policy/settings/issuer.ts';
import { Certificate } from '../../src/gateway/http/certificate.ts';
import { KeyRing } from '../../src/gateway/identity/key-ring.ts';
import { Tokens } from '../../src/gateway/identity/tokens.ts';

// A process that has no file to spare just when other keys are put in place. Prints what it has then and afterwards.

/** In the folder `next-NAME` is to take the place of each NAME; `key` is one that is only in the next keys. */
const [folder = '', key = ''] = process.argv.slice(2);
const names = ['tls.pem', 'tls.key', 'jwks.json', 'keys.json'];
const path = (name: string): string => join(folder, name);

const told: string[] = [];
const log = pino({ level: 'error' }, { write: (line) => told.push(JSON.parse(line).fault) });
const issuer: Issuer = {
  name: 'corp',
  issuer: 'https://corp.example',
  audiences: ['catalog'],
  keys: { kind: 'file', path: path('jwks.json') },
  algorithms: ['RS256'],
  subjectClaim: 'sub',
  groupsClaim: 'groups',
  subjectPrefix: '',
  groupPrefix: '',
  clockTolerance: 0,
};
const tokens = new Tokens([issuer], { log });
const ring = new KeyRing(path('keys.json'), undefined, (fault) => told.push(fault));
const files = { cert: path('tls.pem'), key: path('tls.key'), clientCa: null };
const certificate = new Certificate(files, 1);
let changes = 0;
certificate.follow(
  () => (changes += 1),
  (why) => told.push(why),
);

async function seen(): Promise<object> {
  await sleep(20);
  tokens.tick();
  const { kind } = await ring.identify(key);
  return { kind, changes, faults: [ring.fault, certificate.fault, tokens.fault()] };
}

const taken: number[] = [];
function takeAll(): boolean {
  const before = taken.length;
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    return taken.length === before;
  }
}

// What loaded this program may still give some back.
for (let calm = 0; calm < 20; calm = takeAll() ? calm + 1 : 0) await sleep(5);
for (const name of names) renameSync(path(`next-${name}`), path(name));
await seen();
const without = await seen();
for (const descriptor of taken) closeSync(descriptor);
process.stdout.write(`${JSON.stringify({ without, told, after: await seen() })}\n`);
tokens.close();
certificate.close();
