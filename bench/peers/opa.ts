import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../test/support/free-port.ts';
import { startServing, type ChildServer } from '../harness/child-server.ts';
import { MEASURED_CORE, pinned } from '../harness/core.ts';

const VERSION = 'v1.22.3';
const FOLDER = fileURLToPath(
  new URL(`../../node_modules/.cache/arrowgate-peers/opa-${VERSION}`, import.meta.url),
);

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

/**
 * Starts Open Policy Agent on one core, without its log of decisions. It is built by Go the first time.
 * @throws Error without Go, or when it does not start
 */
export async function startOpa(grants: Grants): Promise<ChildServer> {
  const program = await built();
  const folder = await mkdtemp(join(tmpdir(), 'arrowgate-opa-'));
  const files = [join(folder, 'policy.rego'), join(folder, 'data.json')] as const;
  await writeFile(files[0], POLICY);
  await writeFile(files[1], JSON.stringify(grants));
  const address = `127.0.0.1:${await freePort()}`;
  const flags = ['run', '--server', '--log-level', 'error', '--addr', address];
  return startServing({
    url: `http://${address}`,
    health: `http://${address}/health`,
    command: pinned(MEASURED_CORE, program, [...flags, ...files]),
    variables: { GOMAXPROCS: '1' },
    folder,
  });
}

/** The address of its verdict. */
export function verdictOf({ url }: ChildServer): string {
  return `${url}/v1/data/gateway/allow`;
}

async function built(): Promise<string> {
  const program = join(FOLDER, 'opa');
  if (existsSync(program)) return program;
  const env = { ...process.env, GOBIN: FOLDER, CGO_ENABLED: '0' };
  const args = ['install', `github.com/open-policy-agent/opa@${VERSION}`];
  await promisify(execFile)('go', args, { env });
  return program;
}
