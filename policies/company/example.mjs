// Loads two small tables with the administrator's key, and reads them with the key in ARROWGATE_KEY.
import { readFileSync } from 'node:fs';

const url = process.env.ARROWGATE_URL ?? 'http://127.0.0.1:2333';
const here = (name) => new URL(name, import.meta.url);
const admin = readFileSync(here('data/private/initial-admin-key'), 'utf8').trim();

async function send(key, path, body, type = 'application/json') {
  const headers = { 'x-api-key': key, 'content-type': type };
  const answer = await fetch(`${url}/v1/${path}`, { method: 'POST', headers, body });
  return { status: answer.status, text: await answer.text() };
}

const tables = { orders: 'sales', salaries: 'people' };

for (const [table, namespace] of Object.entries(tables)) {
  await send(admin, `namespace/${namespace}/create`, '{"mode":"exist_ok"}');
  const rows = readFileSync(here(`${table}.arrows`));
  const path = `table/${namespace}$${table}/create?mode=overwrite`;
  const { status, text } = await send(admin, path, rows, 'application/vnd.apache.arrow.stream');
  console.log(`/${namespace}/${table}: ${status === 200 ? 'loaded' : text}`);
}

const key = process.env.ARROWGATE_KEY;
for (const [table, namespace] of Object.entries(key === undefined ? {} : tables)) {
  const { status, text } = await send(key, `table/${namespace}$${table}/count_rows`, '{}');
  const what = status === 200 ? `${text} rows` : `${status} ${JSON.parse(text).error}`;
  console.log(`your key, /${namespace}/${table}: ${what}`);
}
