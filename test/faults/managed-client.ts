import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { send, type Reply } from '../service/http.ts';
import { manifestFile, manifestName, messageOf } from '../support/lance-table.ts';
import { diskFiles, type ClientFiles } from '../support/client-files.ts';

/**
 * What a Lance client does beside its requests: it stages manifests, each made of a
 * group, and writes down branches. And what the tests read back.
 */

/** Where a manifest names the transaction that made it: here, the group. */
const TRANSACTION_FIELD = 12;

/** The manifest of a version that a client makes of a group. */
function manifestOf(version: number, group: number): Buffer {
  const column = messageOf([2, 'n'], [4, 2n ** 64n - 1n], [5, 'int64'], [6, 1]);
  // It has no rows: there is no file of data.
  const message = messageOf([1, column], [3, version], [TRANSACTION_FIELD, `group-${group}.txn`]);
  return manifestFile(message);
}

/** Sends what must be answered with 200. */
export async function post(url: string, path: string, body: object): Promise<Reply> {
  const reply = await send(url, `POST /v1/table/${path}`, { body });
  if (reply.status !== 200) throw new Error(`${path} was answered ${reply.status} ${reply.text}`);
  return reply;
}

/** Declares a table. */
export async function declare(url: string, table: string): Promise<void> {
  await post(url, `${table}/declare`, {});
}

/** A version that is to be made. */
export interface Next {
  readonly version: number;
  readonly group: number;
  readonly branch?: string;
}

/** Stages a manifest, and gives what a request says of it; undefined while nobody can say where. */
export async function staged(
  url: string,
  table: string,
  { version, group, branch }: Next,
  files: ClientFiles = diskFiles,
): Promise<object | undefined> {
  const described = await send(url, `POST /v1/table/${table}/describe`, { body: {} });
  if (described.status === 503) return undefined;
  const folder = branch === undefined ? '' : join('tree', branch);
  const name = `${manifestName(BigInt(version))}-${randomUUID()}`;
  const key = join(files.keyOf(String(described.json['location'])), folder, '_versions', name);
  if (!(await files.write(key, manifestOf(version, group)))) return undefined;
  const where = branch === undefined ? {} : { branch };
  return { id: [table], version, manifest_path: key, naming_scheme: 'V2', ...where };
}

/** Writes down a branch as a Lance client does after its first commit. */
export async function writeRef(url: string, table: string, branch: string): Promise<void> {
  const { json } = await post(url, `${table}/describe`, {});
  const folder = join(String(json['location']), '_refs', 'branches');
  await mkdir(folder, { recursive: true });
  const ref = { parentBranch: null, parentVersion: 1, createAt: 1, manifestSize: 1 };
  await writeFile(join(folder, `${branch}.json`), JSON.stringify(ref));
}

interface Listed {
  readonly versions: readonly { readonly version: number; readonly manifest_path: string }[];
  readonly page_token?: string;
}

/** The newest version; 0 while there is none. Undefined while nobody can say. */
export async function newestOf(
  url: string,
  table: string,
  branch?: string,
): Promise<number | undefined> {
  const named = branch === undefined ? '' : `&branch=${branch}`;
  const path = `${table}/version/list?limit=1&descending=true${named}`;
  const { status, text } = await send(url, `POST /v1/table/${path}`, { body: {} });
  if (status !== 200) return undefined;
  const [newest] = (JSON.parse(text) as Listed).versions;
  return newest?.version ?? 0;
}

/** The group that each version was made of: its manifest is whole, and under its final name. */
export async function groupsOf(
  url: string,
  table: string,
  branch?: string,
  files: ClientFiles = diskFiles,
): Promise<readonly number[]> {
  const groups: number[] = [];
  const named = branch === undefined ? '' : `&branch=${branch}`;
  for (let token = ''; ;) {
    const path = `${table}/version/list?limit=500&page_token=${token}${named}`;
    const page = JSON.parse((await post(url, path, {})).text) as Listed;
    for (const version of page.versions) groups.push(await groupOf(version, files));
    if (page.page_token === undefined) return groups;
    token = page.page_token;
  }
}

async function groupOf(
  { version, manifest_path: path }: Listed['versions'][number],
  files: ClientFiles,
): Promise<number> {
  const bytes = await files.read(path);
  const group = Number(/group-(\d+)\.txn/.exec(bytes.toString('latin1'))?.[1]);
  if (
    !path.endsWith(`/${manifestName(BigInt(version))}`) ||
    !bytes.equals(manifestOf(version, group))
  ) {
    throw new Error(`version ${version} is not as it was staged: ${path}`);
  }
  return group;
}

/** How often each group is among some, from 0 for once. */
export function marksOf(groups: readonly number[]): ReadonlyMap<number, number> {
  const marks = new Map<number, number>();
  for (const group of groups) marks.set(group, (marks.get(group) ?? -1) + 1);
  return marks;
}
