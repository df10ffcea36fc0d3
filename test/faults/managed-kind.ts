import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { send } from '../service/http.ts';
import { manifestFile, manifestName, messageOf } from '../support/lance-table.ts';
import { answeredBy } from './engine-kind.ts';
import type { TableKind } from './table-kind.ts';

/** Where a manifest names the transaction that made it: here, the group. */
const TRANSACTION_FIELD = 12;

/** The manifest of a version that a client makes of a group. */
function manifestOf(version: number, group: number): Buffer {
  const column = messageOf([2, 'n'], [4, 2n ** 64n - 1n], [5, 'int64'], [6, 1]);
  const fragment = messageOf([2, messageOf([6, 100])], [4, 1]);
  const message = messageOf(
    [1, column],
    [2, fragment],
    [3, version],
    [TRANSACTION_FIELD, `group-${group}.txn`],
  );
  return manifestFile(message);
}

async function post(url: string, path: string, body: object) {
  const reply = await send(url, `POST /v1/table/${path}`, { body });
  if (reply.status !== 200) throw new Error(`${path} was answered ${reply.status} ${reply.text}`);
  return reply;
}

/** The newest version; 0 while there is none. Undefined while nobody can say. */
async function newestOf(url: string, table: string): Promise<number | undefined> {
  const path = `${table}/version/list?limit=1&descending=true`;
  const { status, text } = await send(url, `POST /v1/table/${path}`, { body: {} });
  if (status === 503) return undefined;
  const [newest] = (JSON.parse(text) as Listed).versions;
  return newest?.version ?? 0;
}

interface Listed {
  readonly versions: readonly { readonly version: number; readonly manifest_path: string }[];
  readonly page_token?: string;
}

/** A table that Lance clients write, and whose versions they commit through the catalog. */
export const managedKind: TableKind = {
  name: 'managed table',
  changes: ['append'],

  async create(url, table) {
    const location = String((await post(url, `${table}/declare`, {})).json['location']);
    const versions = join(location, '_versions');
    await mkdir(versions, { recursive: true });
  },

  async change(url, table, { group }) {
    const newest = await newestOf(url, table);
    if (newest === undefined) return { kind: 'refused' };
    const described = await send(url, `POST /v1/table/${table}/describe`, { body: {} });
    if (described.status === 503) return { kind: 'refused' };
    const version = newest + 1;
    const name = `${manifestName(BigInt(version))}-${randomUUID()}`;
    const path = join(String(described.json['location']), '_versions', name);
    await writeFile(path, manifestOf(version, group));
    const body = { version, manifest_path: path.slice(1), naming_scheme: 'V2' };
    const reply = await send(url, `POST /v1/table/${table}/version/create`, { body });
    return answeredBy(reply, ({ version: made }) => (made as { version: number }).version);
  },

  async read(url, table) {
    const marks = new Map<number, number>();
    for (let token = ''; ;) {
      const path = `${table}/version/list?limit=500&page_token=${token}`;
      const page = JSON.parse((await post(url, path, {})).text) as Listed;
      for (const version of page.versions) {
        const group = await groupOf(version);
        marks.set(group, (marks.get(group) ?? -1) + 1);
      }
      if (page.page_token === undefined) return marks;
      token = page.page_token;
    }
  },
};

/** Which group a version was made of: its manifest is whole, and under its final name. */
async function groupOf({ version, manifest_path: path }: Listed['versions'][number]) {
  const bytes = await readFile(`/${path}`);
  const group = Number(/group-(\d+)\.txn/.exec(bytes.toString('latin1'))?.[1]);
  if (
    !path.endsWith(`/${manifestName(BigInt(version))}`) ||
    !bytes.equals(manifestOf(version, group))
  ) {
    throw new Error(`version ${version} is not as it was staged: ${path}`);
  }
  return group;
}
