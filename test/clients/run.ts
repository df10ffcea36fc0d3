// Runs the clients of users against the built program: npm run test:clients [-- FLAGS OF VITEST]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  lanceDbVersion,
  newestLanceDbFolder,
  pythonVersions,
  pythonWithClients,
  type ClientVersion,
} from '../support/client-packages.ts';

/** One run of test files under some clients. */
interface Round {
  readonly clients: readonly ClientVersion[];
  readonly files: string;
  readonly variables: Readonly<Record<string, string>>;
}

const newest = await newestLanceDbFolder();
await pythonWithClients();

const rounds: readonly Round[] = [
  {
    clients: [lanceDbVersion(), ...pythonVersions()],
    files: 'test/clients/',
    variables: { ARROWGATE_TEST_CLIENTS: 'all' },
  },
  {
    clients: [lanceDbVersion(newest)],
    files: 'test/clients/lancedb-',
    variables: { ARROWGATE_TEST_LANCEDB: newest },
  },
];

for (const round of rounds) {
  process.stdout.write(`\n${titleOf(round)}\n`);
  process.exitCode = (await runRound(round)) || process.exitCode;
}
process.stdout.write(`\nran: ${rounds.map(titleOf).join('; ')}\n`);

function titleOf({ clients }: Round): string {
  return clients.map(({ name, version }) => `${name} ${version}`).join(', ');
}

async function runRound({ files, variables }: Round): Promise<number> {
  const child = spawn('npx', ['vitest', 'run', files, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, ...variables },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
