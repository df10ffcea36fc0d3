import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { JsonValue } from '../../src/protocol/json.ts';
import { storeKey } from '../../src/engine/versions/managed/place.ts';
import { keyOfUri } from '../../src/storage/object-key.ts';
import { versionFile, type NamingScheme } from '../../src/engine/format/lance/version-file.ts';
import { refusalOf } from './engine-table.ts';
import { freshEngine, type TestEngine } from './engine.ts';
import { manifestFile, messageOf, type MessageField } from './lance-table.ts';
import { ask, type Sent } from './request.ts';

/** What a test stages. */
export interface Staged {
  /** The version that its manifest holds; that of its name when absent. */
  readonly holds?: bigint;
  readonly scheme?: NamingScheme;
  readonly branch?: string;
  /** How many rows the version has. */
  readonly rows?: number;
  /** When its client made it: seconds since 1970. */
  readonly made?: number;
  /** What follows the final name. */
  readonly suffix?: string;
}

/**
 * The manifest of a version with one column and one fragment; other bytes each time unless a file is named.
 * @param base The folder of the table whose file it is; that of the manifest's own branch when absent.
 * @param made When its client made it: seconds since 1970.
 */
export function manifestOf(
  version: bigint,
  rows = 1,
  file: string = randomUUID(),
  base?: string,
  made = 1_700_000_000,
): Buffer {
  const column = messageOf([2, 'n'], [4, 2n ** 64n - 1n], [5, 'int64'], [6, 1]);
  const place: readonly MessageField[] = base === undefined ? [] : [[7, 3]];
  const bases: readonly MessageField[] =
    base === undefined ? [] : [[18, messageOf([1, 3], [3, 1], [4, base])]];
  const data = messageOf([1, `${file}.lance`], [6, 100], ...place);
  const fragments: readonly MessageField[] =
    rows === 0 ? [] : [[2, messageOf([2, data], [4, rows])]];
  const seconds: MessageField = [7, messageOf([1, made])];
  return manifestFile(
    messageOf([1, column], ...fragments, [3, BigInt.asUintN(64, version)], seconds, ...bases),
  );
}

/** The engine with one declared table, `/t` unless it is named, written as a Lance client does. */
export class ManagedTable {
  readonly engine: TestEngine;
  readonly name: string;
  /** As clients read it. */
  readonly location: string;
  /** The same as a key of the storage. */
  readonly folder: string;

  private constructor(engine: TestEngine, name: string, location: string) {
    this.engine = engine;
    this.name = name;
    this.location = location;
    this.folder = keyOfUri(location) ?? location;
  }

  static async open(engine?: TestEngine): Promise<ManagedTable> {
    return ManagedTable.#declared(engine ?? (await freshEngine()), 't');
  }

  static async #declared(engine: TestEngine, name: string): Promise<ManagedTable> {
    const { json } = await ask(engine.backend, `POST /v1/table/${name}/declare`);
    return new ManagedTable(engine, name, (json as { location: string }).location);
  }

  /** One more table of the same engine. */
  async further(name: string): Promise<ManagedTable> {
    return ManagedTable.#declared(this.engine, name);
  }

  /** A table of the same engine that was declared before. */
  again(name: string, declared: JsonValue): ManagedTable {
    return new ManagedTable(this.engine, name, (declared as { location: string }).location);
  }

  async close(): Promise<void> {
    await this.engine.close();
  }

  async send(action: string, sent: Sent = {}, id = this.name) {
    return ask(this.engine.backend, `POST /v1/table/${id}/${action}`, sent);
  }

  async post(action: string, body: object = {}): Promise<JsonValue> {
    return (await this.send(action, { body })).json;
  }

  /** Stages a manifest. Gives its key in the object store. */
  async stage(version: bigint, staged: Staged = {}): Promise<string> {
    const {
      scheme = 'V2',
      branch,
      holds = version,
      rows,
      made,
      suffix = `-${randomUUID()}`,
    } = staged;
    const folder = branch === undefined ? '_versions' : join('tree', branch, '_versions');
    const name = join(folder, `${versionFile(version, scheme)}${suffix}`);
    await this.put(name, manifestOf(holds, rows, undefined, undefined, made));
    return this.keyOf(name);
  }

  /** The key of a file of the table in the object store of its client. */
  keyOf(name: string): string {
    return storeKey(this.folder, name);
  }

  /** Writes a file of the table, as a client does. */
  async put(name: string, bytes: Uint8Array | string): Promise<void> {
    const { storage } = this.engine;
    const key = join(this.folder, name);
    await storage.folders?.make(dirname(key));
    await storage.replace(key, Buffer.from(bytes));
  }

  /** Removes a file of the table, or a folder. */
  async remove(name: string): Promise<void> {
    const { storage } = this.engine;
    const key = join(this.folder, name);
    if ((await storage.stat(key))?.isFolder === false) await storage.remove(key);
    else await storage.removeTree(key, { retained: [] });
  }

  /** Gives a file of the table another name. */
  async move(from: string, to: string): Promise<void> {
    await this.engine.storage.rename(join(this.folder, from), join(this.folder, to));
  }

  /** Asks for a version; numbers beyond those of JSON are sent as they are. */
  async create(version: bigint, manifestPath: string, body: object = {}) {
    const json = JSON.stringify({ version: 0, manifest_path: manifestPath, ...body });
    return this.send('version/create', {
      body: json.replace('"version":0', `"version":${version}`),
    });
  }

  /** Stages a version and makes it. */
  async commit(version: bigint, staged: Staged = {}): Promise<JsonValue> {
    const { branch } = staged;
    const body = branch === undefined ? {} : { branch };
    return (await this.create(version, await this.stage(version, staged), body)).json;
  }

  /** The numbers of the versions that are listed. */
  async versions(body: object = {}): Promise<readonly (number | bigint)[]> {
    const { versions } = (await this.post('version/list', body)) as unknown as {
      versions: readonly { version: number | bigint }[];
    };
    return versions.map(({ version }) => version);
  }

  /** Everything in the table's folder. */
  async files(): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const { path, isFolder } of this.engine.storage.tree(this.folder)) {
      if (!isFolder) names.push(path.slice(this.folder.length + 1));
    }
    return names.toSorted();
  }

  /** Everything that a refused request must leave as it was. */
  async state(): Promise<object> {
    return {
      described: await this.post('describe'),
      versions: await this.post('version/list'),
      files: await this.files(),
    };
  }

  /** Asks for what must be refused, in these words, and changes nothing. */
  async refuses(work: () => Promise<unknown>, told: string): Promise<void> {
    const before = await this.state();
    expect(await refusalOf(work())).toBe(told);
    expect(await this.state()).toEqual(before);
  }
}
