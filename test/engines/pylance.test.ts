import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canRun, sessionOf, Stage } from './stage.ts';

/** Programs that write Lance tables with pylance, beside clients of LanceDB. */

const RULES = `rules:
  - { name: grows-only, tables: [/runs/kept], require: { append_only: true } }
`;

const PRELUDE = `
import os, lance, lance.namespace, pyarrow as pa
from lance_namespace import CreateNamespaceRequest

catalog = lance.namespace.RestNamespace(**{'uri': os.environ['ARROWGATE_URL'], 'header.x-api-key': os.environ['ARROWGATE_KEY']})

def rows(*ids):
    return pa.table({'id': pa.array(ids, pa.int64()), 'writer': pa.array([None] * len(ids), pa.string())})

def opened(*path):
    return lance.dataset(namespace_client=catalog, table_id=list(path))

def write(mode, path, *ids):
    lance.write_dataset(rows(*ids), namespace_client=catalog, table_id=list(path), mode=mode)
`;

const PROCESSES = 3;
const COMMITS = 8;

describe.runIf(canRun('pylance'))('pylance', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.start({ commits: RULES });
    await stage.python.value(PRELUDE);
    await stage.python.value(`catalog.create_namespace(CreateNamespaceRequest(id=['runs']))`);
  });

  afterAll(() => stage?.stop());

  it('does what its guide says', async () => {
    await stage.follow('pylance');
  });

  it('appends from several processes while LanceDB inserts', async () => {
    await stage.python.value(`write('create', ['runs', 'shared'], 0)`);
    const table = await stage.lancedb.openTable('shared', ['runs']);
    await together(
      async (session, number) => {
        const first = 1000 * (number + 1);
        await session.value(
          `for id in range(${first}, ${first + COMMITS}): write('append', ['runs', 'shared'], id)`,
        );
      },
      async () => {
        for (let id = 1; id <= COMMITS; id++) await table.add([{ id, writer: 'LanceDB' }]);
      },
    );
    const expected = [0, 1000, 2000, 3000].flatMap((first) =>
      Array.from({ length: first === 0 ? COMMITS + 1 : COMMITS }, (_, at) => first + at),
    );
    expect(await stage.values('id', 'runs', 'shared')).toEqual(expected);
    expect(await stage.python.value(`opened('runs', 'shared').version`)).toBe(
      1 + COMMITS * (PROCESSES + 1),
    );
  });

  it('updates and deletes from several processes', async () => {
    await together(async (session, number) => {
      const first = 1000 * (number + 1);
      await session.value(`
for id in range(${first}, ${first + COMMITS}):
    while True:
        try:
            table = opened('runs', 'shared')
            table.delete(f'id = {id}') if id % 2 else table.update({'writer': "'${number}'"}, where=f'id = {id}')
            break
        except OSError as error:
            if 'onflict' not in str(error): raise
`);
    });
    const rows = await stage.rows('runs', 'shared');
    const written = rows.filter(({ id }) => Number(id) >= 1000);
    expect(written).toHaveLength((COMMITS / 2) * PROCESSES);
    expect(
      written.map(({ id, writer }) => Math.floor(Number(id) / 1000) - 1 === Number(writer)),
    ).not.toContain(false);
  });

  it('changes nothing by what a commit rule refuses', async () => {
    await stage.python.value(`write('create', ['runs', 'kept'], 1, 2)`);
    const error = await stage.python.error(`opened('runs', 'kept').delete('id = 1')`);
    expect(error).toContain('Commit result for version 2 is unknown');
    await stage.python.value(`write('append', ['runs', 'kept'], 3)`);
    expect(await stage.values('id', 'runs', 'kept')).toEqual([1, 2, 3]);
  });

  it('leaves nothing that is not as the catalog says', async () => {
    expect(await stage.service.command('catalog', 'verify')).toMatchObject({ code: 0 });
  });

  /** Runs work in several processes at once, beside other work. */
  async function together(
    work: (session: Awaited<ReturnType<typeof sessionOf>>, number: number) => Promise<void>,
    beside: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    const sessions = await Promise.all(
      Array.from({ length: PROCESSES }, () => sessionOf(stage.service)),
    );
    try {
      await Promise.all(sessions.map((session) => session.value(PRELUDE)));
      await Promise.all([...sessions.map(work), beside()]);
    } finally {
      await Promise.all(sessions.map((session) => session.end()));
    }
  }
});
