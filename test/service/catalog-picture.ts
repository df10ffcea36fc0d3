import { send } from './http.ts';

/** Everything that can be asked of a catalog, by the question. */
export type Picture = Readonly<Record<string, unknown>>;

/** Asks a service everything about its catalog. */
export async function pictureOf(url: string): Promise<Picture> {
  const picture: Record<string, unknown> = {};
  const ask = async (line: string, body?: object): Promise<Record<string, unknown>> => {
    const { status, text, json } = await send(url, line, { body });
    const key = body === undefined ? line : `${line} ${JSON.stringify(body)}`;
    picture[key] = [status, status === 200 ? text : json['error']];
    return status === 200 && text.startsWith('{') ? json : {};
  };
  await askNamespace([], ask);
  return picture;
}

type Ask = (line: string, body?: object) => Promise<Record<string, unknown>>;

async function askNamespace(path: readonly string[], ask: Ask): Promise<void> {
  const id = path.length === 0 ? '$' : encodeURIComponent(path.join('$'));
  if (path.length > 0) await ask(`POST /v1/namespace/${id}/describe`);
  const { tables = [] } = await ask(`GET /v1/namespace/${id}/table/list?include_declared=true`);
  for (const name of tables as string[]) await askTable([...path, name], ask);
  const { namespaces = [] } = await ask(`GET /v1/namespace/${id}/list`);
  for (const name of namespaces as string[]) await askNamespace([...path, name], ask);
}

async function askTable(path: readonly string[], ask: Ask): Promise<void> {
  const table = `POST /v1/table/${encodeURIComponent(path.join('$'))}`;
  await ask(`${table}/describe`);
  await ask(`${table}/stats`);
  const { tags = {} } = await ask(`${table}/tags/list`);
  for (const tag of Object.keys(tags as object)) await ask(`${table}/tags/version`, { tag });
  const { branches = {} } = await ask(`${table}/branches/list`);
  for (const branch of ['main', ...Object.keys(branches as object)]) {
    const of = branch === 'main' ? {} : { branch };
    await ask(`${table}/count_rows`, of);
    const { versions = [] } = await ask(`${table}/version/list`, of);
    for (const { version } of versions as { version: number }[]) {
      await ask(`${table}/version/describe`, { version, ...of });
      await ask(`${table}/count_rows`, { version, ...of });
    }
  }
}
