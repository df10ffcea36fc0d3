import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../test/support/free-port.ts';
import { MEASURED_CORE, pinned } from '../harness/core.ts';

const VERSION = 'v1.22.3';
const FOLDER = fileURLToPath(
  new URL(`../../node_modules/.cache/arrowgate-peers/opa-${VERSION}`, import.meta.url),
);
const TRIES = 600;

/** Roles of users, and what each role and user may do where: objects are patterns of paths. */
export interface Grants {
  readonly roles: Readonly<Record<string, readonly string[]>>;
  readonly grants: Readonly<
    Record<string, readonly { readonly object: string; readonly action: string }[]>
  >;
}

/** The lines of a caller are found by the caller's name; none of another caller is looked at. */
const POLICY = `package gateway

default allow := false

holders contains input.subject
holders contains role if some role in data.roles[input.subject]

allow if {
	some holder in holders
	some grant in data.grants[holder]
	grant.action in {input.action, "*"}
	glob.match(grant.object, ["/"], input.object)
}
`;

/** Open Policy Agent on one core, without its log of decisions. It is built by Go the first time. */
export class Opa {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(url: string, child: ChildProcess, folder: string) {
    this.url = url;
    this.#child = child;
    this.#folder = folder;
  }

  /** @throws Error without Go, or when it does not start */
  static async start(grants: Grants): Promise<Opa> {
    const program = await built();
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-opa-'));
    await writeFile(join(folder, 'policy.rego'), POLICY);
    await writeFile(join(folder, 'data.json'), JSON.stringify(grants));
    const address = `127.0.0.1:${await freePort()}`;
    const flags = ['run', '--server', '--log-level', 'error', '--addr', address];
    const files = [join(folder, 'policy.rego'), join(folder, 'data.json')];
    const [command, args] = pinned(MEASURED_CORE, program, [...flags, ...files]);
    const child = spawn(command, args, {
      stdio: 'ignore',
      env: { ...process.env, GOMAXPROCS: '1' },
    });
    const opa = new Opa(`http://${address}`, child, folder);
    await opa.#ready();
    return opa;
  }

  /** The address of the verdict. */
  get verdict(): string {
    return `${this.url}/v1/data/gateway/allow`;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null) {
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await exited;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #ready(): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      if (this.#child.exitCode !== null) break;
      const isUp = await fetch(`${this.url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isUp) return;
      await sleep(50);
    }
    throw new Error('OPA does not answer');
  }
}

async function built(): Promise<string> {
  const program = join(FOLDER, 'opa');
  if (existsSync(program)) return program;
  const env = { ...process.env, GOBIN: FOLDER, CGO_ENABLED: '0' };
  const args = ['install', `github.com/open-policy-agent/opa@${VERSION}`];
  await promisify(execFile)('go', args, { env });
  return program;
}
