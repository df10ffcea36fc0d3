// Installs the programs that the tests run beside the project: real ones, from the system's
// packages. As root or in CI it installs them itself; otherwise it says the command.
import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';

const packages = [
  { program: 'redis-server', name: 'redis-server' },
  { program: 'nginx', name: 'nginx' },
];
/** Without it, the tests of the console's pages are skipped: not every system has this package. */
const browser = { program: 'chromium', name: 'chromium' };

/** Without it, the tests of the chart are skipped. Built by Go, in the folder that `test/support/helm.ts` looks at. */
const helm = {
  program: 'helm',
  name: 'helm.sh/helm/v3/cmd/helm@v3.19.0',
  folder: join(homedir(), '.cache/arrowgate-tools'),
  /** Without it, Helm takes itself for one of Kubernetes 1.20. */
  flags: ['chartutil', 'lint/rules'].flatMap((part) => [
    `-X helm.sh/helm/v3/pkg/${part}.k8sVersionMajor=1`,
    `-X helm.sh/helm/v3/pkg/${part}.k8sVersionMinor=31`,
  ]),
  /** Longest time that it may take, in ms. */
  timeout: 300_000,
};

const missing = packages.filter(({ program }) => !isThere(program)).map(({ name }) => name);
if (missing.length > 0) install(missing);
if (!isThere(browser.program) && process.getuid?.() === 0) installBrowser();
if (!isThere(helm.program)) buildHelm();

function install(names) {
  const root = process.getuid?.() === 0;
  const command = [...(root ? [] : ['sudo']), 'apt-get', 'install', '-y', ...names];
  if (!root && process.env.CI === undefined) {
    process.stderr.write(`arrowgate: the tests need: ${command.join(' ')}\n`);
    process.exit(2);
  }
  process.stderr.write(`arrowgate: installing ${names.join(', ')} …\n`);
  run([...command.slice(0, root ? 1 : 2), 'update']);
  run(command);
}

function installBrowser() {
  process.stderr.write(`arrowgate: installing ${browser.name} …\n`);
  const done =
    attempt(['apt-get', 'update']) && attempt(['apt-get', 'install', '-y', browser.name]);
  if (!done) process.stderr.write('arrowgate: no chromium: tests of the console are skipped\n');
}

function buildHelm() {
  process.stderr.write(`arrowgate: building ${helm.name} …\n`);
  const env = { ...process.env, GOBIN: helm.folder };
  const { name, timeout } = helm;
  const args = ['install', '-ldflags', ['-s', '-w', ...helm.flags].join(' '), name];
  const { status } = spawnSync('go', args, { stdio: 'ignore', env, timeout });
  if (status !== 0) process.stderr.write('arrowgate: no helm: tests of the chart are skipped\n');
}

function run([program, ...args]) {
  if (attempt([program, ...args])) return;
  process.stderr.write(`arrowgate: ${program} ${args.join(' ')} failed\n`);
  process.exit(2);
}

function attempt([program, ...args]) {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status } = spawnSync(program, args, { stdio: ['ignore', 2, 2], env: environment });
  return status === 0;
}

function isThere(program) {
  // Servers are in folders of the administrator, which not every user has in the path.
  const path = [process.env.PATH, '/usr/sbin', '/usr/local/sbin', helm.folder].join(':');
  const env = { ...process.env, PATH: path };
  return spawnSync('which', [program], { stdio: 'ignore', env }).status === 0;
}
