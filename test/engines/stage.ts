import { join } from 'node:path';
import type { Connection } from '@lancedb/lancedb';
import { expect } from 'vitest';
import { connectTo, rowsOf } from '../clients/lancedb.ts';
import {
  JAVA_PACKAGES,
  engineFault,
  packagesOf,
  pythonWithEngines,
  type Engine,
} from '../support/client-packages.ts';
import { snippetsOf } from '../support/documents.ts';
import { ADMIN_KEY, Service, type ServiceOptions } from '../support/service.ts';
import { PythonSession } from './python-session.ts';

/** Settings of Spark that its users have elsewhere, or need for more rows. */
const sparkFlags = [
  // Two programs that fill one folder disturb each other; a worker runs one at a time.
  `spark.jars.ivy=${join(JAVA_PACKAGES, process.env['VITEST_POOL_ID'] ?? '1')}`,
  'spark.master=local[2]',
  'spark.sql.shuffle.partitions=2',
  'spark.ui.enabled=false',
  'spark.ui.showConsoleProgress=false',
];

type Row = Readonly<Record<string, unknown>>;

/** What the Python client of LanceDB does in a session. */
const CLIENT = `
import json, os, lancedb

def served(*path):
    db = lancedb.connect('db://tests', api_key=os.environ['ARROWGATE_KEY'], host_override=os.environ['ARROWGATE_URL'])
    table = db.open_table(path[-1], namespace_path=list(path[:-1]))
    return sorted(table.search().to_list(), key=lambda row: row['id'])
`;

/** Whether an engine can be run here. Says loudly when it cannot. */
export function canRun(engine: Engine): boolean {
  const fault = engineFault(engine);
  if (fault === undefined) return true;
  process.stderr.write(`arrowgate: ${engine.toUpperCase()} IS NOT TESTED: ${fault}\n`);
  return false;
}

/** A running service, an engine in a Python program, and the LanceDB clients of Node and Python. */
export class Stage {
  readonly service: Service;
  readonly python: PythonSession;
  readonly lancedb: Connection;

  private constructor(service: Service, python: PythonSession, lancedb: Connection) {
    this.service = service;
    this.python = python;
    this.lancedb = lancedb;
  }

  static async start(options: ServiceOptions): Promise<Stage> {
    const service = await Service.start(options);
    const stage = new Stage(service, await sessionOf(service), await connectTo(service));
    await stage.python.value(CLIENT);
    return stage;
  }

  async stop(): Promise<void> {
    await this.python.end();
    await this.service.stop();
  }

  /** The rows of a table in the order of their column `id`, which both LanceDB clients answer alike. */
  async rows(...path: readonly string[]): Promise<readonly Row[]> {
    const table = await this.lancedb.openTable(path.at(-1)!, path.slice(0, -1));
    const rows = await rowsOf(table.query());
    const found = rows.toSorted((a, b) => Number(a['id']) - Number(b['id'])).map(jsonOf);
    const others = await this.python.value(`served(*${JSON.stringify(path)})`);
    if (JSON.stringify(others) !== JSON.stringify(found))
      throw new Error(`Node answers ${JSON.stringify(found)}, Python ${JSON.stringify(others)}`);
    return found;
  }

  /** The values of a column of `rows`. */
  async values(column: string, ...path: readonly string[]): Promise<readonly unknown[]> {
    return (await this.rows(...path)).map((row) => row[column]);
  }

  /**
   * Runs the Python snippets of the guide of an engine in their order. A line that prints has what
   * it prints as a comment behind it. The guide installs the packages that are tested.
   * @throws Error for a snippet that fails or prints something else
   */
  async follow(engine: Engine): Promise<void> {
    const all = snippetsOf(`docs/guide/${engine}.md`);
    const installs = all.find(({ text }) => text.startsWith('pip install '))?.text;
    for (const name of packagesOf(engine)) expect(installs).toContain(name);
    const snippets = all.filter(({ language }) => language === 'python');
    expect(snippets).not.toEqual([]);
    for (const { place, text } of snippets) {
      const printed = await this.python.printed(
        text.replaceAll('http://127.0.0.1:2333', this.service.url),
      );
      const promised = [...text.matchAll(/^ *print\(.*\) {2}# (.*)$/gm)].map(([, line]) => line);
      expect(printed, place).toEqual(promised);
    }
  }
}

/** A further program beside the one of a stage. */
export async function sessionOf({ url, folder }: Service): Promise<PythonSession> {
  return new PythonSession(await pythonWithEngines(), folder, {
    ARROWGATE_URL: url,
    ARROWGATE_KEY: ADMIN_KEY,
    // What the engines leave behind goes with the folder of the service.
    SPARK_LOCAL_DIRS: folder,
    RAY_TMPDIR: folder,
    RAY_USAGE_STATS_ENABLED: '0',
    DO_NOT_TRACK: '1',
    PYSPARK_SUBMIT_ARGS: `${sparkFlags.map((flag) => `--conf ${flag}`).join(' ')} pyspark-shell`,
  });
}

/** A row as JSON has it: 64-bit numbers as numbers, vectors as lists. */
function jsonOf(row: Row): Row {
  const text = JSON.stringify(row, (_, value: unknown) =>
    typeof value === 'bigint' ? Number(value) : value,
  );
  return JSON.parse(text) as Row;
}
