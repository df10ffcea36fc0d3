// A Lance client: node foreign-client.mjs URL KEY. It changes the tables that its parent names, one change
// after the other for each, and tells what became of them.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const lancedb = require('@lancedb/lancedb');
const { tableFromIPC } = require('apache-arrow');

const [, , uri, key] = process.argv;
const connected = lancedb.connectNamespace('rest', { uri, headers: { 'x-api-key': key } });

const changes = {
  append: (table, { rows }) => table.add(tableFromIPC(rows)),
  mark: (table, { group }) =>
    table.update({ valuesSql: { mark: 'mark + 1' }, where: `\`group\` = ${group}` }),
  remove: (table, { group }) => table.delete(`\`group\` = ${group}`),
};

async function changed(change) {
  const table = await (await connected).openTable(change.table);
  const { version } = await changes[change.kind](table, change);
  return { version };
}

process.on('message', (change) => {
  changed(change).then(
    (made) => process.send({ id: change.id, ...made }),
    (error) => process.send({ id: change.id, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
